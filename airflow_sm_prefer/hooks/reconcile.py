"""A run of reconcile over what one connection reaches."""

from __future__ import annotations

from airflow_sm_prefer.aws.reconcile import ENDED_WITHIN, Reconciler
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.hooks import settings
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.reconcile import TaskStates


def reconciler(
    hook: SageMakerPreferHook,
    states: TaskStates,
    *,
    clock: Clock,
    stop: bool = False,
    ended_within: float = ENDED_WITHIN,
) -> Reconciler:
    """Return a run over this Airflow's jobs.

    Args:
        hook: What reaches AWS.
        states: Where the states of task instances come from.
        clock: The time.
        stop: Whether anything may be stopped.
        ended_within: How far back ended jobs are looked at for tasks that still sleep, in seconds.

    Raises:
        InvalidSetting: it may stop, and nobody has named this Airflow.
    """
    if stop:
        require_deployment()
    return Reconciler(
        jobs=[hook.jobs(kind) for kind in JobKind],
        states=states,
        deployment=settings.deployment(),
        region=hook.conn_region_name,
        clock=clock,
        stop=stop,
        ended_within=ended_within,
    )


def require_deployment() -> None:
    """Refuse to stop jobs by a name that was guessed: elsewhere in the account it may be somebody else's, too.

    Raises:
        InvalidSetting: ``[sm_prefer] deployment`` isn't set.
    """
    if settings.deployment_setting() is None:
        derived = settings.deployment()
        msg = (
            f"Nothing is stopped while [{settings.SECTION}] deployment isn't set: this Airflow's name is only derived\n"
            f"from [api] base_url ({derived!r}), and another Airflow in the AWS account may come to the same.\n"
            f"If no other has it, keep it, and the jobs that run now stay known: in airflow.cfg, everywhere,\n"
            f"    [{settings.SECTION}]\n    deployment = {derived}"
        )
        raise InvalidSetting(msg)
