"""SageMaker jobs from Airflow that name the instance types they may run on, in order.

Every public name is imported when it is first asked for, since Airflow imports this package early, while it looks for
providers, and should not pay for more.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_sm_prefer.clock import Clock, FakeClock, SystemClock
    from airflow_sm_prefer.errors import (
        CapacityTimeout,
        CredentialsUnavailable,
        InfrastructureFailure,
        InvalidInput,
        InvalidPreference,
        InvalidQueues,
        InvalidRequest,
        InvalidScenario,
        InvalidSetting,
        JobExists,
        JobFailed,
        JobLost,
        JobStopped,
        LimitReached,
        QueueUnfit,
        QuotaExceeded,
        QuotaTooSmall,
        RequestRejected,
        SmPreferError,
        StateUnreadable,
        TaskStatesUnavailable,
        UnfitInstanceType,
        UnknownFailure,
        UserCodeError,
    )
    from airflow_sm_prefer.model.helpers import on_demand, queued, spot, training_plan
    from airflow_sm_prefer.operators.batch import BatchPreferTrainingOperator
    from airflow_sm_prefer.operators.batch_priority import BatchUpdatePriorityOperator
    from airflow_sm_prefer.operators.queue_metrics import QueueMetricsOperator
    from airflow_sm_prefer.operators.reconcile import SageMakerReconcileOperator
    from airflow_sm_prefer.operators.sagemaker import (
        SageMakerPreferProcessingOperator,
        SageMakerPreferTrainingOperator,
    )

    __version__: str

_MODULES = {
    "airflow_sm_prefer.clock": ("Clock", "FakeClock", "SystemClock"),
    "airflow_sm_prefer.errors": (
        "CapacityTimeout",
        "CredentialsUnavailable",
        "InfrastructureFailure",
        "InvalidInput",
        "InvalidPreference",
        "InvalidQueues",
        "InvalidRequest",
        "InvalidScenario",
        "InvalidSetting",
        "JobExists",
        "JobFailed",
        "JobLost",
        "JobStopped",
        "LimitReached",
        "QueueUnfit",
        "QuotaExceeded",
        "QuotaTooSmall",
        "RequestRejected",
        "SmPreferError",
        "StateUnreadable",
        "TaskStatesUnavailable",
        "UnfitInstanceType",
        "UnknownFailure",
        "UserCodeError",
    ),
    "airflow_sm_prefer.model.helpers": ("on_demand", "queued", "spot", "training_plan"),
    "airflow_sm_prefer.operators.batch": ("BatchPreferTrainingOperator",),
    "airflow_sm_prefer.operators.batch_priority": ("BatchUpdatePriorityOperator",),
    "airflow_sm_prefer.operators.queue_metrics": ("QueueMetricsOperator",),
    "airflow_sm_prefer.operators.reconcile": ("SageMakerReconcileOperator",),
    "airflow_sm_prefer.operators.sagemaker": (
        "SageMakerPreferProcessingOperator",
        "SageMakerPreferTrainingOperator",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BatchPreferTrainingOperator",
    "BatchUpdatePriorityOperator",
    "CapacityTimeout",
    "Clock",
    "CredentialsUnavailable",
    "FakeClock",
    "InfrastructureFailure",
    "InvalidInput",
    "InvalidPreference",
    "InvalidQueues",
    "InvalidRequest",
    "InvalidScenario",
    "InvalidSetting",
    "JobExists",
    "JobFailed",
    "JobLost",
    "JobStopped",
    "LimitReached",
    "QueueMetricsOperator",
    "QueueUnfit",
    "QuotaExceeded",
    "QuotaTooSmall",
    "RequestRejected",
    "SageMakerPreferProcessingOperator",
    "SageMakerPreferTrainingOperator",
    "SageMakerReconcileOperator",
    "SmPreferError",
    "StateUnreadable",
    "SystemClock",
    "TaskStatesUnavailable",
    "UnfitInstanceType",
    "UnknownFailure",
    "UserCodeError",
    "__version__",
    "on_demand",
    "queued",
    "spot",
    "training_plan",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("airflow-sm-prefer")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
