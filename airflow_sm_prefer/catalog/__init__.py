"""What AWS offers, as data: which types there are, what is in them and what they cost.

Everything here is a fact with a source and a date. Nothing is looked up while a job runs.
"""

from __future__ import annotations

from airflow_sm_prefer.catalog.families import has_local_storage, is_accelerated
from airflow_sm_prefer.catalog.hardware import InstanceSpec, local_storage_gb, same_accelerator, spec
from airflow_sm_prefer.catalog.offered import PROCESSING_TYPES, RESERVABLE_TYPES, TRAINING_TYPES
from airflow_sm_prefer.catalog.prices import Price, price

__all__ = [
    "PROCESSING_TYPES",
    "RESERVABLE_TYPES",
    "TRAINING_TYPES",
    "InstanceSpec",
    "Price",
    "has_local_storage",
    "is_accelerated",
    "local_storage_gb",
    "price",
    "same_accelerator",
    "spec",
]
