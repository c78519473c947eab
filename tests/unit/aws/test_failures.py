import pytest
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from airflow_sm_prefer.aws.failures import CallFailed, FailureKind, classify, may_have_arrived
from airflow_sm_prefer.errors import SmPreferError

URL = "https://api.sagemaker.us-west-2.amazonaws.com/"


def refused(code: str, message: str = "no", operation: str = "CreateTrainingJob", status: int = 400):
    return boto.ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}, operation
    )


def kind_of(code: str, message: str = "no", operation: str = "CreateTrainingJob", status: int = 400):
    return classify(refused(code, message, operation, status), operation).kind


#: Every text seen in the wild that an API call came back with.
SEEN_IN_THE_WILD = [
    (
        "ResourceLimitExceeded",
        "The account-level service limit 'ml.p3.2xlarge for training job usage' is 0 Instances, with current"
        " utilization of 0 Instances and a request delta of 1 Instances. Please contact AWS support to request an"
        " increase for this limit.",
        "CreateTrainingJob",
        FailureKind.LIMIT_EXCEEDED,
    ),
    (
        "ResourceLimitExceeded",
        "The account-level service limit 'ml.p3.8xlarge for training job usage' is 2 Instances, with current"
        " utilization of 3 Instances",
        "CreateTrainingJob",
        FailureKind.LIMIT_EXCEEDED,
    ),
    (
        "ResourceLimitExceeded",
        "The account-level service limit 'Number of instances across all processing jobs' is 4 Instances",
        "CreateTrainingJob",
        FailureKind.LIMIT_EXCEEDED,
    ),
    (
        "ResourceLimitExceeded",
        "The account-level service limit for training-job/ml.p2.xlarge is 0 Instances, with current utilization",
        "CreateTrainingJob",
        FailureKind.LIMIT_EXCEEDED,
    ),
    (
        "ResourceLimitExceeded",
        "The requested resource training-job/ml.p2.xlarge is not available in this region",
        "CreateTrainingJob",
        FailureKind.LIMIT_EXCEEDED,
    ),
    ("ThrottlingException", "Rate exceeded", "CreateTrainingJob", FailureKind.THROTTLED),
    ("ThrottlingException", "Rate exceeded", "DescribeProcessingJob", FailureKind.THROTTLED),
    ("ThrottlingException", "Rate exceeded", "CreateTransformJob", FailureKind.THROTTLED),
    (
        "ValidationException",
        "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true",
        "CreateTrainingJob",
        FailureKind.INVALID,
    ),
    (
        "ValidationException",
        "1 validation error detected: Value 'a_b' at 'trainingJobName' failed to satisfy constraint: Member must"
        " satisfy regular expression pattern: ^[a-zA-Z0-9](-*[a-zA-Z0-9])*",
        "CreateTrainingJob",
        FailureKind.INVALID,
    ),
    ("ValidationException", "Requested resource not found.", "DescribeTrainingJob", FailureKind.NOT_FOUND),
    ("ValidationException", "Requested resource not found.", "StopProcessingJob", FailureKind.NOT_FOUND),
    (
        "ValidationException",
        "The request was rejected because the training job is in status Completed",
        "StopTrainingJob",
        FailureKind.BENIGN_STOP,
    ),
    (
        "ValidationException",
        "The request was rejected because the processing job is in status Failed",
        "StopProcessingJob",
        FailureKind.BENIGN_STOP,
    ),
    ("ValidationException", "Could not find job to update with name n", "StopTrainingJob", FailureKind.BENIGN_STOP),
    ("ClientException", "JobQueue x-job-queue not found.", "ListServiceJobs", FailureKind.NOT_FOUND),
    ("ClientException", "Service job 7b5f does not exist", "DescribeServiceJob", FailureKind.NOT_FOUND),
    # A job that can't be submitted is another thing than one that isn't there.
    ("ClientException", "JobQueue x-job-queue not found.", "SubmitServiceJob", FailureKind.INVALID),
    ("ClientException", "Filter names must be given", "ListServiceJobs", FailureKind.INVALID),
    ("ValidationException", "1 validation error: the value does not exist", "DescribeTrainingJob", FailureKind.INVALID),
]


@pytest.mark.parametrize(("code", "message", "operation", "kind"), SEEN_IN_THE_WILD)
def test_every_answer_seen_in_the_wild_is_told_apart(code, message, operation, kind):
    assert kind_of(code, message, operation) is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ResourceInUse", FailureKind.IN_USE),
        ("ResourceNotFound", FailureKind.NOT_FOUND),
        ("AccessDeniedException", FailureKind.DENIED),
        ("ExpiredToken", FailureKind.CREDENTIALS),
        ("ExpiredTokenException", FailureKind.CREDENTIALS),
        ("UnrecognizedClientException", FailureKind.CREDENTIALS),
        ("InvalidClientTokenId", FailureKind.CREDENTIALS),
        ("InvalidSignatureException", FailureKind.CREDENTIALS),
        ("TooManyRequestsException", FailureKind.THROTTLED),
        ("InternalFailure", FailureKind.SERVER),
        ("ServiceUnavailable", FailureKind.SERVER),
        ("ClientException", FailureKind.INVALID),
        ("NeverSeenBefore", FailureKind.OTHER),
    ],
)
def test_the_code_decides(code, kind):
    assert kind_of(code) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [(500, FailureKind.SERVER), (503, FailureKind.SERVER), (403, FailureKind.DENIED), (429, FailureKind.THROTTLED)],
)
def test_a_code_that_nobody_knows_goes_by_the_http_status(status, kind):
    assert kind_of("NeverSeenBefore", status=status) is kind


def test_a_text_counts_only_where_it_begins():
    message = "1 validation error: 'Requested resource not found.' is no name"
    assert kind_of("ValidationException", message, "DescribeTrainingJob") is FailureKind.INVALID


def test_a_refused_stop_is_benign_only_for_a_stop():
    message = "The request was rejected because the training job is in status Completed"
    assert kind_of("ValidationException", message, "UpdateTrainingJob") is FailureKind.INVALID


def test_a_role_that_can_not_be_taken_on_is_about_credentials():
    error = refused("AccessDenied", "not authorized to perform sts:AssumeRole", "AssumeRole", 403)
    failure = classify(error, "DescribeTrainingJob")
    assert failure.kind is FailureKind.CREDENTIALS
    assert not failure.no_answer


def test_throttling_of_the_role_service_stays_throttling():
    assert classify(refused("Throttling", operation="AssumeRole"), "StopTrainingJob").kind is FailureKind.THROTTLED


@pytest.mark.parametrize(
    ("error", "kind", "no_answer"),
    [
        (boto.NoCredentialsError(), FailureKind.CREDENTIALS, False),
        (boto.PartialCredentialsError(provider="p", cred_var="v"), FailureKind.CREDENTIALS, False),
        (boto.CredentialRetrievalError(provider="p", error_msg="e"), FailureKind.CREDENTIALS, False),
        (boto.UnauthorizedSSOTokenError(), FailureKind.CREDENTIALS, False),
        (RuntimeError("Credentials were refreshed, but they are still expired."), FailureKind.CREDENTIALS, False),
        (RuntimeError("something else"), FailureKind.OTHER, False),
        (boto.EndpointConnectionError(endpoint_url=URL), FailureKind.NETWORK, False),
        (boto.ConnectTimeoutError(endpoint_url=URL), FailureKind.NETWORK, False),
        (boto.ProxyConnectionError(proxy_url=URL), FailureKind.NETWORK, False),
        (boto.ReadTimeoutError(endpoint_url=URL), FailureKind.NETWORK, True),
        (boto.ConnectionClosedError(endpoint_url=URL), FailureKind.NETWORK, True),
        (boto.SSLError(endpoint_url=URL, error="eof"), FailureKind.NETWORK, True),
        (boto.HTTPClientError(error="reset"), FailureKind.NETWORK, True),
        (boto.IncompleteReadError(actual_bytes=1, expected_bytes=2), FailureKind.NETWORK, True),
        (ResponseParserError("<html>"), FailureKind.SERVER, True),
        (boto.ParamValidationError(report="bad"), FailureKind.INVALID, False),
        (boto.NoRegionError(), FailureKind.INVALID, False),
        (boto.DataNotFoundError(data_path="p"), FailureKind.OTHER, False),
    ],
)
def test_the_class_decides_where_aws_said_nothing(error, kind, no_answer):
    failure = classify(error, "CreateTrainingJob")
    assert (failure.kind, failure.no_answer) == (kind, no_answer)
    assert failure.code == type(error).__name__


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_error_on_the_side_of_aws_leaves_open_what_became_of_the_request(status):
    assert may_have_arrived(refused("Whatever", status=status))


def test_a_refusal_says_that_nothing_was_done():
    assert not classify(refused("ValidationException"), "CreateTrainingJob").no_answer
    assert not may_have_arrived(refused("ThrottlingException", status=503))


def test_an_earlier_attempt_that_was_not_heard_of_makes_any_failure_doubtful():
    assert classify(refused("ResourceLimitExceeded"), "CreateTrainingJob", doubtful=True).no_answer


def test_the_words_are_those_of_aws_without_the_preamble():
    failure = classify(refused("ResourceInUse", "name taken"), "CreateTrainingJob")
    assert (failure.code, failure.message) == ("ResourceInUse", "name taken")
    assert str(CallFailed(failure)) == "CreateTrainingJob: ResourceInUse: name taken"
    assert isinstance(CallFailed(failure), SmPreferError)


def test_an_answer_without_words_still_has_some():
    failure = classify(boto.ClientError({}, "CreateTrainingJob"), "CreateTrainingJob")
    assert (failure.kind, failure.code) == (FailureKind.OTHER, "Unknown")
    assert failure.message
