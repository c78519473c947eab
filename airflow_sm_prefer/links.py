"""Links from a task to its job and the job's log, in AWS's console.

What a link needs is pushed to XCom when a job is submitted, and read from there: a task that resumed, failed or was
looked up by another process has no attributes to build it from.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import quote

from airflow.providers.common.compat.sdk import BaseOperatorLink, XCom

from airflow_sm_prefer.aws.log_groups import log_group, stream_prefix
from airflow_sm_prefer.model.job import JobKind

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

log = logging.getLogger(__name__)

#: Where a task's present job stands in XCom.
JOB_XCOM_KEY: Final = "sm_prefer_job"

#: Sources: https://docs.aws.amazon.com/general/latest/gr/aws-console.html and the consoles' own addresses.
_CONSOLES: Final[Mapping[str, str]] = {
    "aws": "https://console.aws.amazon.com",
    "aws-cn": "https://console.amazonaws.cn",
    "aws-us-gov": "https://console.amazonaws-us-gov.com",
}
_PAGES: Final[Mapping[str, str]] = {JobKind.TRAINING: "jobs", JobKind.PROCESSING: "processing-jobs"}


class QueuedJob(NamedTuple):
    """What links need to know of a service job.

    Attributes:
        service_job: Its ARN.
        queue: The name of its queue, or its ARN.
        training_jobs: What the names of all training jobs behind it begin with; each attempt has one of its own.
    """

    service_job: str
    queue: str
    training_jobs: str


class LinkedHook(Protocol):
    """What a link needs to know of a hook."""

    @property
    def conn_region_name(self) -> str:
        """The Region that the jobs are in."""

    @property
    def console_partition(self) -> str | None:
        """``aws``, ``aws-cn`` and the like; None where there is no console, as with the sandbox."""


class LinkedOperator(Protocol):
    """An operator whose jobs can be linked to."""

    @property
    def hook(self) -> LinkedHook:
        """What it reaches AWS through."""


def job_url(job: Mapping[str, Any]) -> str:
    """Return the console's page of a job; empty where there is no console, as with the sandbox."""
    console = _console(job)
    if not console:
        return ""
    if job.get("service_job"):
        return f"{console}/batch/home?region={job['region']}#jobs/detail/{job['service_job'].rpartition('/')[2]}"
    return f"{console}/sagemaker/home?region={job['region']}#/{_PAGES[job['kind']]}/{quote(job['name'], safe='')}"


def logs_url(job: Mapping[str, Any]) -> str:
    """Return the console's page of a job's log streams; empty where there is no console."""
    console = _console(job)
    if not console:
        return ""
    group = _escape(log_group(JobKind(job["kind"])))
    streams = _escape(stream_prefix(job["name"]) if not job.get("training_jobs") else job["training_jobs"])
    return (
        f"{console}/cloudwatch/home?region={job['region']}#logsV2:log-groups/log-group/{group}"
        f"$3FlogStreamNameFilter$3D{streams}"
    )


def queue_url(job: Mapping[str, Any]) -> str:
    """Return the console's page of the job queue that a job is in; empty for one in none, and with the sandbox."""
    console = _console(job)
    if not console or not job.get("queue"):
        return ""
    queue = job["queue"]
    if not queue.startswith("arn:"):
        queue = f"{job['service_job'].partition(':service-job/')[0]}:job-queue/{queue}"
    return f"{console}/batch/home?region={job['region']}#queues/detail/{queue}"


class _JobLinkBase(BaseOperatorLink):
    """A link that is built from what :meth:`JobLink.persist_job` pushed."""

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002  Airflow's signature
        """Return the address, or nothing before the task has a job; Airflow then shows no link."""
        job = XCom.get_value(key=JOB_XCOM_KEY, ti_key=ti_key)
        return self._url(job) if job else ""

    @abstractmethod
    def _url(self, job: Mapping[str, Any]) -> str:
        """Return the address for what was pushed."""


class JobLink(_JobLinkBase):
    """Leads to the job's page in the SageMaker console."""

    name = "SageMaker job"

    def _url(self, job: Mapping[str, Any]) -> str:
        return job_url(job)

    @staticmethod
    def persist_job(
        context: Mapping[str, Any],
        operator: LinkedOperator,
        kind: JobKind,
        name: str,
        queued: QueuedJob | None = None,
    ) -> None:
        """Say which job both links of a task lead to from now on.

        Pushed whatever the task's ``do_xcom_push`` says, which is about its result. What goes wrong here is logged
        and no more: the job has been created, and a link isn't worth losing sight of it.

        Args:
            context: The task's context.
            operator: The task's operator; its hook knows the Region and whether there is a console.
            kind: The kind of job.
            name: The job's name.
            queued: Where it waits, if it is in a queue of AWS Batch.
        """
        try:
            hook = operator.hook
            job = {
                "kind": kind.value,
                "name": name,
                "region": hook.conn_region_name,
                "partition": hook.console_partition,
            }
            if queued is not None:
                job |= queued._asdict()
            context["ti"].xcom_push(key=JOB_XCOM_KEY, value=job)
        except Exception:
            log.warning("The links to %s can't be made", name, exc_info=True)


class JobQueueLink(_JobLinkBase):
    """Leads to the page of the job's queue in the AWS Batch console; Airflow shows none for a job in no queue."""

    name = "Batch job queue"

    def _url(self, job: Mapping[str, Any]) -> str:
        return queue_url(job)


class JobLogLink(_JobLinkBase):
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
