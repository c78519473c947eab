"""The Airflow plugin: what the UI gets from this package."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import AirflowPlugin

from airflow_sm_prefer.links import JobLink, JobLogLink


class SmPreferPlugin(AirflowPlugin):
    """Makes the links to a job and its log known to Airflow."""

    name = "sm_prefer"
    operator_extra_links: list[Any] = [JobLink(), JobLogLink()]  # noqa: RUF012  Airflow's form
