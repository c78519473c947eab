"""How a trigger reaches AWS: the hook's arguments, as a value."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from typing import Any

from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.job import JobKind


@dataclass(frozen=True)
class Connection:
    """The arguments that a hook is made of.

    Attributes:
        aws_conn_id: The Airflow connection.
        region_name: The Region; None takes the connection's.
        verify: TLS verification, as boto3 takes it.
        botocore_config: Settings of the boto3 client.
    """

    aws_conn_id: str | None = "aws_default"
    region_name: str | None = None
    verify: bool | str | None = None
    botocore_config: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the arguments under their names."""
        return asdict(self)

    @property
    def key(self) -> str:
        """Equal for connections that may share a client."""
        return json.dumps(self.to_json(), sort_keys=True, default=str)

    def hook(self, clock: Clock | None = None) -> SageMakerPreferHook:
        """Make the hook. Its connection is read from Airflow on first use, which blocks."""
        return SageMakerPreferHook(
            aws_conn_id=self.aws_conn_id,
            region_name=self.region_name,
            verify=self.verify,
            config=self.botocore_config,
            clock=clock,
            watches=True,
        )


_known: dict[str, Connection] = {}


def the_same(connection: Connection) -> Connection:
    """Return this process's own of all equal connections, so that thousands of triggers hold one."""
    return _known.setdefault(connection.key, connection)


_jobs: dict[tuple[str, JobKind], JobsApi | RoutedJobs] = {}
_making = threading.Lock()


def shared_jobs(connection: Connection, kind: JobKind) -> JobsApi | RoutedJobs:
    """Return this process's calls for a connection and a kind of job.

    The first call blocks: it reads the connection from Airflow and builds a client, which holds up every other thread.
    """
    with _making:
        key = connection.key, kind
        if key not in _jobs:
            _jobs[key] = connection.hook().jobs(kind)
        return _jobs[key]


def forget_jobs(connection: Connection, kind: JobKind) -> None:
    """Have the next caller read the connection from Airflow again."""
    with _making:
        _jobs.pop((connection.key, kind), None)
