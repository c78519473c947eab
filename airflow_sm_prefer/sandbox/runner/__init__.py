"""Makes jobs really run: as local processes, in SageMaker's container layout."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.runner.images import ImageTable
from airflow_sm_prefer.sandbox.runner.isolation import Isolation
from airflow_sm_prefer.sandbox.runner.local import LocalRunner

__all__ = ["ImageTable", "Isolation", "LocalRunner"]
