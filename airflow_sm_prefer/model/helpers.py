"""What a DAG author writes in a preference list. The helpers return plain dicts: AWS's keys, and a few of ours.

Being plain, they render (a template may stand in any value), go through mapping and ``partial``, and leave the
hash of a DAG stable. Values are checked when the list is read; names of arguments are checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.overrides import check_name
from airflow_sm_prefer.model.preference import CapacityKind


class OverrideArguments(TypedDict, total=False):
    """What a preference may change in the request; see ``Overrides`` for what becomes of each."""

    hyperparameters: Mapping[str, Any] | str
    environment: Mapping[str, Any] | str
    image: str
    volume_size_gb: int | str
    max_runtime: timedelta | int | str
    checkpoint: Mapping[str, Any] | str
    channels: Mapping[str, Mapping[str, Any]] | str


def on_demand(
    instance_type: str, count: int | str | None = None, **overrides: Unpack[OverrideArguments]
) -> dict[str, Any]:
    """Ask for On-Demand instances.

    >>> on_demand("ml.p4d.24xlarge", count=2)
    {'InstanceType': 'ml.p4d.24xlarge', 'InstanceCount': 2, 'Capacity': 'on_demand'}

    Args:
        instance_type: SageMaker's name of the type.
        count: How many; the InstanceCount of the config if not given, else 1.
        overrides: What changes in the request when the job runs on this.

    Raises:
        InvalidPreference: there is no override of that name.
    """
    return _preference(CapacityKind.ON_DEMAND, instance_type, count, {}, overrides)


def training_plan(
    instance_type: str,
    arn: str,
    count: int | str | None = None,
    wait_for_plan: bool | str = False,
    **overrides: Unpack[OverrideArguments],
) -> dict[str, Any]:
    """Ask for instances that a training plan has reserved. For training jobs only.

    Args:
        instance_type: The type of the plan's instances.
        arn: The ARN of the plan.
        count: How many; the InstanceCount of the config if not given, else 1.
        wait_for_plan: Wait for the plan's capacity instead of passing it over when it has none free.
        overrides: What changes in the request when the job runs on this.

    Raises:
        InvalidPreference: there is no override of that name.
    """
    plan: dict[str, Any] = {"TrainingPlanArns": [arn]}
    if wait_for_plan:
        plan["WaitForPlan"] = wait_for_plan
    return _preference(CapacityKind.TRAINING_PLAN, instance_type, count, plan, overrides)


def spot(instance_type: str, count: int | str | None = None, **overrides: Unpack[OverrideArguments]) -> dict[str, Any]:
    """Ask for spot instances, which cost less and may be taken back at any time. For training jobs only.

    Args:
        instance_type: SageMaker's name of the type.
        count: How many; the InstanceCount of the config if not given, else 1.
        overrides: What changes in the request when the job runs on this; a ``checkpoint`` is worth giving.

    Raises:
        InvalidPreference: there is no override of that name.
    """
    return _preference(CapacityKind.SPOT, instance_type, count, {}, overrides)


def queued(
    instance_type: str,
    job_queue: str | None = None,
    count: int | str | None = None,
    *,
    share_identifier: str | None = None,
    quota_share: str | None = None,
    training_plan_arn: str | None = None,
    **overrides: Unpack[OverrideArguments],
) -> dict[str, Any]:
    """Ask for instances through a job queue of AWS Batch. For BatchPreferTrainingOperator only.

    >>> queued("ml.p5.48xlarge", job_queue="p5", share_identifier="research")
    {'InstanceType': 'ml.p5.48xlarge', 'JobQueue': 'p5', 'ShareIdentifier': 'research'}

    Args:
        instance_type: A type that the queue's service environment serves.
        job_queue: The queue's name or ARN; the operator's ``job_queue`` if not given.
        count: How many; the InstanceCount of the config if not given, else 1.
        share_identifier: Whose share the job takes, where the queue's scheduling policy is fair share.
        quota_share: Whose share the job takes, where the queue manages quotas.
        training_plan_arn: The plan whose instances the queue's environment stands for, if there is one.
        overrides: What changes in the request when the job runs on this; a ``checkpoint`` is worth giving where the
            queue preempts.

    Raises:
        InvalidPreference: there is no override of that name.
    """
    shares = {"ShareIdentifier": share_identifier, "QuotaShareName": quota_share}
    more: dict[str, Any] = {"JobQueue": job_queue, **{key: value for key, value in shares.items() if value is not None}}
    if training_plan_arn is not None:
        more["TrainingPlanArns"] = [training_plan_arn]
    return _preference(None, instance_type, count, more, overrides)


def _preference(
    kind: CapacityKind | None, instance_type: str, count: Any, more: dict[str, Any], overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """Write an entry; one without a kind of capacity is for a queue."""
    for name in overrides:
        check_name(name, JobKind.TRAINING, f"{kind or 'queued'}({instance_type!r})")
    written: dict[str, Any] = {"InstanceType": instance_type}
    if count is not None:
        written["InstanceCount"] = count
    written |= {"Capacity": kind.value, **more} if kind else more
    if overrides:
        written["Overrides"] = {name: _plain(value) for name, value in overrides.items()}
    return written


def _plain(value: Any) -> Any:
    """Return a span of time as seconds, since a timedelta goes through neither JSON nor a Variable."""
    return int(value.total_seconds()) if isinstance(value, timedelta) else value
