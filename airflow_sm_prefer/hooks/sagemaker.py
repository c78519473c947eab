"""SageMaker, reached with an Airflow connection.

DAG files import this: what only some tasks need is imported where they need it.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from botocore.loaders import Loader, create_loader

from airflow_sm_prefer.aws.client_config import with_defaults
from airflow_sm_prefer.aws.failures import CALL_ERRORS
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.log_groups import log_group
from airflow_sm_prefer.aws.pacing import Pacing, shared_pacing
from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.hooks import settings
from airflow_sm_prefer.model.job import JobKind

if TYPE_CHECKING:
    from airflow.providers.amazon.aws.utils.connection_wrapper import AwsConnectionWrapper
    from botocore.config import Config

    from airflow_sm_prefer.aws.plans import PlansApi
    from airflow_sm_prefer.aws.quotas import QuotasApi
    from airflow_sm_prefer.aws.routed import RoutedJobs
    from airflow_sm_prefer.aws.service_jobs import ServiceJobsApi


@cache
def _data(path: str | None) -> Loader:
    """Return what reads botocore's models and endpoints: once for all clients, and once for a worker that then forks.

    Args:
        path: Where else to look, as ``AWS_DATA_PATH`` says.
    """
    return create_loader(path)


class SageMakerPreferHook(AwsBaseHook):
    """Hands out what calls AWS, all of it with the same connection, Region, TLS verification and configuration.

    Not the Amazon provider's ``SageMakerHook``, whose S3 and log clients forget the Region and the verification.

    Its clients retry in boto's standard mode, three attempts in all, with timeouts of 10 s to connect and 30 s to
    read; what ``botocore_config`` or the connection's ``config_kwargs`` say comes before that. A create that AWS
    throttles isn't retried in there: its task sleeps instead. A connection id other than ``aws_default`` that doesn't
    resolve is an error: the default credentials may be another account's.
    """

    def __init__(
        self, *args: Any, clock: Clock | None = None, watches: bool = False, caller: str = "Unknown", **kwargs: Any
    ) -> None:
        """Take the arguments of ``AwsBaseHook``, and what our calls are paced with.

        Args:
            args: Those of ``AwsBaseHook``.
            kwargs: Those of ``AwsBaseHook``.
            clock: What they wait for their turn with.
            watches: Whether they are a triggerer's, which shares its rates with the other triggerers.
            caller: The class of the operator on whose behalf, for the clients' user agent.
        """
        kwargs["client_type"] = "sagemaker"
        super().__init__(*args, **kwargs)
        self._clock = clock or SystemClock()
        self._watches = watches
        self._caller = caller
        self._jobs: dict[JobKind, JobsApi] = {}

    @cached_property
    def conn_config(self) -> AwsConnectionWrapper:
        """The connection, resolved.

        Raises:
            InvalidSetting: there is no connection of that id.
        """
        if self.aws_conn_id and self.aws_conn_id != self.default_conn_name:
            self._require_connection(self.aws_conn_id)
        return super().conn_config

    @property
    def config(self) -> Config:
        """The configuration of every client: the user's, and ours where it says nothing."""
        return with_defaults(super().config)

    @cached_property
    def conn(self) -> Any:
        """The SageMaker client."""
        return self.client_for("sagemaker")

    def jobs(self, kind: JobKind) -> JobsApi | RoutedJobs:
        """Return the calls about jobs of one kind.

        Those about training jobs know AWS Batch's queues: an earlier try of a task may have gone through one.
        """
        return self._training_jobs if kind is JobKind.TRAINING else self.direct_jobs(kind)

    @cached_property
    def _training_jobs(self) -> RoutedJobs:
        from airflow_sm_prefer.aws.routed import RoutedJobs

        return RoutedJobs(self.direct_jobs(JobKind.TRAINING), lambda: self.service_jobs)

    @cached_property
    def service_jobs(self) -> ServiceJobsApi:
        """The calls about service jobs of AWS Batch."""
        from airflow_sm_prefer.aws.service_jobs import ServiceJobsApi

        return ServiceJobsApi(self.client_for("batch"), self.pacing, self._clock)

    def direct_jobs(self, kind: JobKind) -> JobsApi:
        """Return the calls about SageMaker's own jobs of one kind."""
        if kind not in self._jobs:
            self._jobs[kind] = JobsApi(self.conn, kind, self.pacing, self._clock)
        return self._jobs[kind]

    @cached_property
    def plans(self) -> PlansApi:
        """The reads of training plans."""
        from airflow_sm_prefer.aws.plans import PlansApi

        return PlansApi(self.conn, self.pacing, self._clock)

    @cached_property
    def quotas(self) -> QuotasApi:
        """The reads of service quotas."""
        from airflow_sm_prefer.aws.quotas import QuotasApi

        return QuotasApi(self.client_for("service-quotas"), self.pacing, self._clock)

    @cached_property
    def logs_client(self) -> Any:
        """A CloudWatch Logs client."""
        return self.client_for("logs")

    @cached_property
    def s3_client(self) -> Any:
        """An S3 client."""
        return self.client_for("s3")

    def log_lines(self, kind: JobKind, job_name: str) -> Iterator[str]:
        """Read a job's whole log from CloudWatch, a piece at a time.

        Never fails: where there is none, or it can't be read, there are no lines and Airflow's log says why.
        """
        from airflow_sm_prefer.aws.log_stream import LogReader

        reader = LogReader(self.logs_client, log_group(kind), job_name)
        yield from reader.rest()
        if reader.problem:
            self.log.info("There may be more in the log of %s than is shown: %s", job_name, reader.problem)

    @cached_property
    def pacing(self) -> Pacing:
        """The buckets that this process's calls to this account and Region go through."""
        rates = settings.watching_rates() if self._watches else settings.rates()
        return shared_pacing(self.aws_conn_id or "", self.conn_region_name, self._clock, rates)

    def client_for(self, service: str) -> Any:
        """Build a client of another service with this hook's connection, Region, verification and configuration."""
        return self._session.client(
            service_name=service,
            endpoint_url=self.conn_config.get_service_endpoint_url(service),
            config=self._get_config(),
            verify=self.verify,
        )

    def expand_role(self, role: str, region_name: str | None = None) -> str:
        """Return a role's ARN; a name is looked up in IAM, an ARN stays as it is."""
        if "/" in role:
            return role
        expanded: str = super().expand_role(role, region_name=region_name or self.region_name)
        return expanded

    def configure_s3_resources(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a config's ``S3Operations`` and return the config without them; the caller's stays whole.

        Raises:
            InvalidRequest: a file to upload isn't there, or another file has its key already.
        """
        operations = config.get("S3Operations")
        if operations:
            from airflow_sm_prefer.aws.s3_operations import run_s3_operations

            run_s3_operations(self.s3_client, self.s3_client.meta.region_name, operations)
        return {key: value for key, value in config.items() if key != "S3Operations"}

    @property
    def clock_speed(self) -> float:
        """How many times faster than real time the endpoint runs; 1 for AWS.

        Raises:
            InvalidSetting: ``[sm_prefer] clock_speed`` isn't 1, and the endpoint isn't on this machine.
        """
        return settings.clock_speed(loopback=self.is_loopback_endpoint())

    def is_loopback_endpoint(self) -> bool:
        """Whether the endpoint that SageMaker is reached at is on this machine: the sandbox, not AWS."""
        return is_loopback(self.conn_client_meta.endpoint_url)

    @property
    def console_partition(self) -> str | None:
        """The partition whose console shows the jobs; None for an endpoint on this machine, which has none."""
        return None if self.is_loopback_endpoint() else self.conn_partition

    @cached_property
    def known_account_id(self) -> str | None:
        """The account's number, or None where AWS won't say; asked for once."""
        try:
            account: str = self.client_for("sts").get_caller_identity()["Account"]
        except CALL_ERRORS as error:
            self.log.warning("The AWS account's number is not known: %s", error)
            return None
        return account

    @cached_property
    def _session(self) -> Any:
        session: Any = self.get_session(region_name=self.region_name)
        core = session._session  # boto3 lets nobody say which loader to use
        core.register_component("data_loader", _data(core.get_config_variable("data_path")))
        return session

    def _get_caller(self, target_function_name: str = "execute") -> str:
        """Return what the user agent names as the caller.

        The Amazon provider looks for it on the stack, and for that reads the sources of all that is on it, for each
        client: as much work as making the client.
        """
        del target_function_name
        return self._caller

    def _require_connection(self, conn_id: str) -> None:
        try:
            self.get_connection(conn_id)
        except AirflowNotFoundException as error:
            msg = (
                f"aws_conn_id={conn_id!r}: there is no Airflow connection of that id.\n"
                "Create it, or leave aws_conn_id out to use 'aws_default'."
            )
            raise InvalidSetting(msg) from error


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine and nowhere else, as far as can be told without asking a name server."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
