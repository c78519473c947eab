"""What keeps a trigger's calls from their answers, as one value, whatever was raised."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from airflow.providers.common.compat.sdk import AirflowNotFoundException
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind, classify
from airflow_sm_prefer.errors import InvalidSetting

#: What says that an Airflow connection, or a file that credentials are in, isn't there or may not be read.
_NO_CONNECTION: Final = (AirflowNotFoundException, AirflowRuntimeError, PermissionError)

_CONNECTION: Final = "the AWS connection"


def what_failed(error: Exception) -> CallFailure:
    """Turn what was raised on the way to an answer of AWS's into a value.

    Only what is about credentials, or about the connection that they come from, is called so. What nobody has foreseen,
    an error in this package among it, is :attr:`FailureKind.OTHER`, with its type and its words.
    """
    if isinstance(error, CallFailed):
        return error.failure
    if isinstance(error, _NO_CONNECTION) or isinstance(error.__cause__, AirflowNotFoundException):
        return CallFailure(FailureKind.CREDENTIALS, type(error).__name__, str(error), _CONNECTION)
    failure = classify(error, _CONNECTION)
    if failure.kind is not FailureKind.OTHER:
        return failure
    return replace(failure, operation="the settings" if isinstance(error, InvalidSetting) else "an unexpected error")
