"""What the control plane and whatever runs a job say to each other.

The control plane decides when a job has capacity and hands a :class:`RunSpec` to a :class:`Runner`; the runner
reports each :class:`Phase` as it is reached and, once, how it all ended. The real runner starts local processes;
tests use one that does what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Phase(StrEnum):
    """How far a run has come; the values are SageMaker's secondary statuses."""

    DOWNLOADING = "Downloading"
    TRAINING = "Training"
    UPLOADING = "Uploading"


class Ending(StrEnum):
    """How a run ended, before the control plane puts it into SageMaker's statuses."""

    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One job that has capacity, ready to run.

    Attributes:
        kind: ``training`` or ``processing``.
        name: The job's name.
        arn: The job's ARN.
        account: The account's twelve digits.
        region: The Region's name.
        request: The Create request in botocore's shape, as it was accepted.
        instance_type: The type that was selected.
        instance_count: How many of them; each is one host (``algo-1`` to ``algo-N``).
        endpoint_url: Where S3, CloudWatch Logs and everything else is, on loopback.
        environment_id: Unique in the life of this sandbox; safe as a folder's name.
        block_ends: When the plan's block that it runs in ends, in epoch seconds; None on other capacity.
    """

    kind: str
    name: str
    arn: str
    account: str
    region: str
    request: Mapping[str, Any]
    instance_type: str
    instance_count: int
    endpoint_url: str
    environment_id: str
    block_ends: float | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes:
        ending: Completed, Failed, or Stopped when :meth:`Run.stop` ended it.
        failure_reason: As SageMaker words it (``AlgorithmError: …``, ``ClientError: …``), at most 1024 characters.
        exit_message: What a processing container wrote to ``/opt/ml/output/message``.
        model_artifacts: The ``s3://`` address of ``model.tar.gz``, for a training job that wrote one.
    """

    ending: Ending
    failure_reason: str | None = None
    exit_message: str | None = None
    model_artifacts: str | None = None


class Run(Protocol):
    """One started run."""

    def stop(self) -> None:
        """Send SIGTERM to the containers; returns at once, the end is still reported."""

    def kill(self) -> None:
        """Send SIGKILL to the containers, whose grace is over; returns at once, the end is still reported."""


class Runner(Protocol):
    """Whatever makes jobs really run."""

    def start(
        self,
        spec: RunSpec,
        on_phase: Callable[[Phase], None],
        on_end: Callable[[RunResult], None],
    ) -> Run:
        """Start a run and return at once.

        Both callbacks may come from another thread; ``on_end`` comes exactly once, and nothing after it.
        """

    def close(self) -> None:
        """End everything that still runs, at once, and wait for it."""
