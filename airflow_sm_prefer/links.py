"""Links from a task to its job and the job's log, in AWS's console.

What a link needs is pushed to XCom when a job is submitted, and read from there: a task that resumed, failed or was
looked up by another process has no attributes to build it from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from airflow.providers.common.compat.sdk import BaseOperatorLink, XCom

from airflow_sm_prefer.aws.log_groups import log_group, stream_prefix
from airflow_sm_prefer.model.job import JobKind

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator, Context
    from airflow.sdk.types import TaskInstanceKey

#: Where a task's present job stands in XCom.
JOB_XCOM_KEY: Final = "sm_prefer_job"

#: Sources: https://docs.aws.amazon.com/general/latest/gr/aws-console.html and the consoles' own addresses.
_CONSOLES: Final[Mapping[str, str]] = {
    "aws": "https://console.aws.amazon.com",
    "aws-cn": "https://console.amazonaws.cn",
    "aws-us-gov": "https://console.amazonaws-us-gov.com",
}
_PAGES: Final[Mapping[str, str]] = {JobKind.TRAINING: "jobs", JobKind.PROCESSING: "processing-jobs"}


def job_url(job: Mapping[str, Any]) -> str:
    """Return the console's page of a job; empty where there is no console, as with the sandbox."""
    console = _console(job)
    if not console:
        return ""
    return f"{console}/sagemaker/home?region={job['region']}#/{_PAGES[job['kind']]}/{quote(job['name'], safe='')}"


def logs_url(job: Mapping[str, Any]) -> str:
    """Return the console's page of a job's log streams; empty where there is no console."""
    console = _console(job)
    if not console:
        return ""
    group = _escape(log_group(JobKind(job["kind"])))
    streams = _escape(stream_prefix(job["name"]))
    return (
        f"{console}/cloudwatch/home?region={job['region']}#logsV2:log-groups/log-group/{group}"
        f"$3FlogStreamNameFilter$3D{streams}"
    )


def persist(context: Context, *, kind: JobKind, name: str, region: str | None, partition: str | None) -> None:
    """Say which job the task's links lead to from now on.

    Pushed whatever the task's ``do_xcom_push`` says, which is about its result.

    Args:
        context: The task's context.
        kind: The kind of job.
        name: The job's name.
        region: The Region that it is in.
        partition: ``aws``, ``aws-cn`` and the like; None where there is no console, as with the sandbox.
    """
    job = {"kind": kind.value, "name": name, "region": region, "partition": partition}
    context["ti"].xcom_push(key=JOB_XCOM_KEY, value=job)


class _JobLink(BaseOperatorLink):
    """A link that is built from what :func:`persist` pushed."""

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002  Airflow's signature
        """Return the address, or nothing before the task has a job; Airflow then shows no link."""
        job = XCom.get_value(key=JOB_XCOM_KEY, ti_key=ti_key)
        return self._url(job) if job else ""

    def _url(self, job: Mapping[str, Any]) -> str:
        raise NotImplementedError


class SageMakerJobLink(_JobLink):
    """Leads to the job's page in the SageMaker console."""

    name = "SageMaker job"

    def _url(self, job: Mapping[str, Any]) -> str:
        return job_url(job)


class SageMakerJobLogsLink(_JobLink):
    """Leads to the job's log streams in the CloudWatch console."""

    name = "CloudWatch logs"

    def _url(self, job: Mapping[str, Any]) -> str:
        return logs_url(job)


def _console(job: Mapping[str, Any]) -> str | None:
    if not job.get("region") or not job.get("name"):
        return None
    return _CONSOLES.get(job.get("partition") or "")


def _escape(text: str) -> str:
    """Escape a fragment as the CloudWatch console does: twice, with ``$`` for the outer per cent sign."""
    return quote(quote(text, safe=""), safe="").replace("%", "$")
