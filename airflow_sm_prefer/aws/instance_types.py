"""Which instance types there are, as far as this installation knows."""

from __future__ import annotations

from functools import cache
from typing import Final

from botocore.loaders import create_loader

from airflow_sm_prefer.catalog import PROCESSING_TYPES, TRAINING_TYPES
from airflow_sm_prefer.model.job import JobKind

_SHAPES: Final = {JobKind.TRAINING: "TrainingInstanceType", JobKind.PROCESSING: "ProcessingInstanceType"}
_CATALOG: Final = {JobKind.TRAINING: TRAINING_TYPES, JobKind.PROCESSING: PROCESSING_TYPES}


def is_known(kind: JobKind, instance_type: str) -> bool:
    """Whether a kind of job can run on a type, by our catalog or by the installed botocore, which may be newer."""
    return instance_type in _CATALOG[kind] or instance_type in known_types(kind)


@cache
def known_types(kind: JobKind) -> frozenset[str]:
    """Return every type that a kind of job can run on.

    Reads botocore's whole model of SageMaker, which takes a good part of a second, once in a process.
    """
    return frozenset(_CATALOG[kind]) | frozenset(_model_enums()[kind])


@cache
def _model_enums() -> dict[JobKind, tuple[str, ...]]:
    shapes = create_loader().load_service_model("sagemaker", "service-2")["shapes"]
    return {kind: tuple(shapes[shape]["enum"]) for kind, shape in _SHAPES.items()}
