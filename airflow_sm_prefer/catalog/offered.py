"""Which types SageMaker offers for which use, as of the first botocore that knew preference lists.

A floor, not a fence: AWS adds types every month, so whoever validates asks the installed botocore first.
"""

from __future__ import annotations

from airflow_sm_prefer.catalog._data import read

_OFFERED: dict[str, list[str]] = read("types.json")

#: Types for training jobs (botocore 1.43.90, ``TrainingInstanceType``).
TRAINING_TYPES: frozenset[str] = frozenset(_OFFERED["training"])

#: Types for processing jobs (botocore 1.43.90, ``ProcessingInstanceType``).
PROCESSING_TYPES: frozenset[str] = frozenset(_OFFERED["processing"])

#: Types that a training plan can reserve (botocore 1.43.90, ``ReservedCapacityInstanceType``), and three more that
#: https://docs.aws.amazon.com/sagemaker/latest/dg/reserve-capacity-with-training-plans.html names.
RESERVABLE_TYPES: frozenset[str] = frozenset(_OFFERED["reservable"])
