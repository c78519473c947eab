"""What keeps a call from its answer is called what it is, and credentials only if it's about them."""

from __future__ import annotations

import pytest
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse
from botocore import exceptions as boto

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.failing import what_failed


def answer(code: str) -> boto.ClientError:
    return boto.ClientError({"Error": {"Code": code, "Message": "words"}}, "ListTrainingJobs")


@pytest.mark.parametrize(
    "error",
    [
        boto.NoCredentialsError(),
        boto.PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"),
        boto.CredentialRetrievalError(provider="process", error_msg="it ended with 1"),
        answer("ExpiredToken"),
        answer("ExpiredTokenException"),
        RuntimeError("Credentials were refreshed, but the refreshed credentials are still expired."),
        AirflowNotFoundException("The conn_id `aws_default` isn't defined"),
        AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR)),
        PermissionError("the secrets backend says no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_about_credentials_or_the_connection_is_called_so(error: Exception) -> None:
    failure = what_failed(error)
    assert failure.kind is FailureKind.CREDENTIALS
    assert str(failure).startswith("the AWS connection: ")


def test_a_connection_that_is_not_there_is_about_credentials() -> None:
    with pytest.raises(InvalidSetting) as raised:
        _ = Connection("no_such_connection").hook().conn_config
    failure = what_failed(raised.value)
    assert failure.kind is FailureKind.CREDENTIALS
    assert "no_such_connection" in failure.message


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("x"), "an unexpected error: KeyError: 'x'"),
        (TypeError("no such argument"), "an unexpected error: TypeError: no such argument"),
        (RuntimeError("no more threads"), "an unexpected error: RuntimeError: no more threads"),
        (InvalidSetting("list_rate is 'x'"), "the settings: InvalidSetting: list_rate is 'x'"),
        (boto.DataNotFoundError(data_path="sagemaker"), "an unexpected error: DataNotFoundError: "),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_nobody_has_foreseen_is_told_with_its_type_and_words(error: Exception, told: str) -> None:
    failure = what_failed(error)
    assert failure.kind is FailureKind.OTHER
    assert str(failure).startswith(told)


def test_a_call_that_was_judged_already_stays_what_it_is() -> None:
    failure = CallFailure(FailureKind.THROTTLED, "ThrottlingException", "Rate exceeded", "ListTrainingJobs")
    assert what_failed(CallFailed(failure)) is failure


def test_a_network_that_is_down_is_not_about_credentials() -> None:
    assert what_failed(boto.EndpointConnectionError(endpoint_url="http://127.0.0.1:1")).kind is FailureKind.NETWORK
