"""What an operator's arguments mean, and whether they can work: as written, and again when rendered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_sm_prefer.aws.instance_types import is_known
from airflow_sm_prefer.aws.versions import check_botocore
from airflow_sm_prefer.errors import InvalidPreference, InvalidSetting
from airflow_sm_prefer.model.early import check_what_is_plain
from airflow_sm_prefer.model.rendered import has_template, normalise_config
from airflow_sm_prefer.model.scalars import coerce_scalars
from airflow_sm_prefer.operators.plan import Plan, make_plan
from airflow_sm_prefer.placement.deadlines import first_after

if TYPE_CHECKING:
    from airflow_sm_prefer.operators.base import SageMakerPreferOperator

#: How long a list may wait for capacity if the author doesn't say; AWS's own default for training plans is the same
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-utilization-for-training-jobs.html).
DEFAULT_MAX_PENDING = timedelta(hours=48)


def check_where_written(operator: SageMakerPreferOperator) -> None:
    """Check as much of an operator's arguments as is known when its DAG is parsed.

    Raises:
        InvalidInput: something plain can't work.
    """
    if operator.action_if_job_exists not in {"timestamp", "fail"}:
        msg = f"action_if_job_exists={operator.action_if_job_exists!r}: it is 'timestamp' or 'fail'."
        raise InvalidSetting(msg)
    _check_times(operator)
    _check_recovery(operator)
    check_botocore()
    check_what_is_plain(
        operator.prefer,
        operator.config,
        operator.kind,
        known_types=partial(is_known, operator.kind),
        allow_unknown_types=operator.allow_unknown_types,
        queues=operator.queues(),
    )
    operator.terms(rendered=False)
    if not (has_template(operator.prefer) or has_template(operator.config)):
        plan_of(operator, rendered=False).check_payloads()
    if not (has_template(operator.max_pending) or has_template(operator.config)):
        pending_budget(operator.max_pending, normalise_config(operator.config))
    if operator.start_by is not None and not has_template(operator.start_by):
        first_after(operator.start_by, 0.0, UTC)


def _check_times(operator: SageMakerPreferOperator) -> None:
    for name in ("check_interval", "max_attempts", "max_ingestion_time"):
        value = getattr(operator, name)
        if value is None and name != "check_interval":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            msg = f"{name}={value!r}: it is a number, 0 or more{'' if name == 'max_attempts' else ', of seconds'}."
            raise InvalidSetting(msg)
    if not isinstance(operator.patience, timedelta) or operator.patience <= timedelta():
        msg = f"patience={operator.patience!r}: it is a timedelta above 0, such as timedelta(minutes=30)."
        raise InvalidSetting(msg)


def _check_recovery(operator: SageMakerPreferOperator) -> None:
    if isinstance(operator.recover, bool) or not isinstance(operator.recover, int) or operator.recover < 0:
        msg = f"recover={operator.recover!r}: it is a whole number, 0 or more, of times that a job is started again."
        raise InvalidSetting(msg)
    if operator.recover_on not in {"infrastructure", "any"}:
        msg = f"recover_on={operator.recover_on!r}: it is 'infrastructure' or 'any'."
        raise InvalidSetting(msg)
    if operator.recover and not operator.wait_for_completion:
        msg = f"recover={operator.recover} needs wait_for_completion=True: else nobody is there to start it again."
        raise InvalidSetting(msg)


def plan_of(operator: SageMakerPreferOperator, *, rendered: bool = True) -> Plan:
    """Check an operator's list and request, both plain by now, and compile them.

    Args:
        operator: The operator.
        rendered: Whether everything else is plain, too.

    Raises:
        InvalidInput: they can't work.
    """
    config = {key: value for key, value in normalise_config(operator.config).items() if key != "S3Operations"}
    plan = make_plan(
        operator.kind,
        coerce_scalars(config, operator.kind),
        operator.prefer,
        known=partial(is_known, operator.kind),
        allow_unknown_types=operator.allow_unknown_types,
        native=operator.native,
        queues=operator.queues(),
        terms=operator.terms(rendered=rendered),
    )
    _check_queued(operator, plan)
    if len(plan.waves) > 1 and not operator.wait_for_completion:
        msg = (
            f"wait_for_completion=False sends one request, and the list needs {len(plan.waves)}: "
            "the next is sent when the one before has found no capacity.\n"
            "Wait for completion, or shorten the list: one request takes up to five On-Demand or training-plan "
            "entries, each type once, with the same overrides; spot and wait_for_plan go alone."
        )
        raise InvalidSetting(msg)
    return plan


def _check_queued(operator: SageMakerPreferOperator, plan: Plan) -> None:
    """Refuse an operator for queues of which no job goes through one: its author meant something else."""
    queues = operator.queues()
    if queues is None or plan.queues:
        return
    remedy = 'Give job_queue, or write entries as queued("ml.…", job_queue=…).'
    if queues.default is not None:
        remedy = 'Entries that name a kind of capacity go to SageMaker itself; for job_queue write queued("ml.…").'
    instead = "For a list without queues there is SageMakerPreferTrainingOperator."
    msg = f"Nothing on the list is for a job queue. {remedy}\n{instead}"
    raise InvalidPreference(msg)


def pending_budget(max_pending: timedelta | float | str | None, config: Mapping[str, Any]) -> float:
    """Return how long a list may wait for capacity, in seconds.

    Args:
        max_pending: What the operator was given.
        config: The request, whose own MaxPendingTimeInSeconds holds if the operator was given nothing.

    Raises:
        InvalidSetting: it can't be read, isn't above zero, or there are two.
    """
    written = config.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds")
    if max_pending is None:
        return float(written) if written is not None else DEFAULT_MAX_PENDING.total_seconds()
    if written is not None:
        msg = (
            "max_pending and StoppingCondition.MaxPendingTimeInSeconds are both set. "
            "Leave the latter out: it is sent as what is left of max_pending."
        )
        raise InvalidSetting(msg)
    seconds = _seconds(max_pending)
    if not seconds > 0:
        msg = f"max_pending={max_pending!r}: it has to be more than nothing."
        raise InvalidSetting(msg)
    return seconds


def _seconds(written: timedelta | float | str) -> float:
    if isinstance(written, timedelta):
        return written.total_seconds()
    try:
        if not isinstance(written, bool):
            return float(written)
    except (TypeError, ValueError):
        pass
    msg = f"max_pending={written!r} is no timedelta and no number of seconds."
    raise InvalidSetting(msg)
