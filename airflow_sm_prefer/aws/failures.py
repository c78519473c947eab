"""A call that AWS refused, or that never got through, as one value.

Classified by exception class and by ``Error.Code``. SageMaker reports an unknown job and a job that is over
as a ``ValidationException``, so there the text decides, matched at its start; and Batch has one ``ClientException``
for all that a caller does wrong, a job or a queue that is gone among it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from airflow_sm_prefer.errors import SmPreferError

#: What a boto3 call raises; RuntimeError is for credentials that were refreshed and are expired all the same.
CALL_ERRORS: Final = (boto.BotoCoreError, boto.ClientError, ResponseParserError, RuntimeError)


class FailureKind(StrEnum):
    """What kept a call from its answer."""

    THROTTLED = "throttled"
    NOT_FOUND = "not_found"
    IN_USE = "in_use"
    LIMIT_EXCEEDED = "limit_exceeded"
    INVALID = "invalid"
    CREDENTIALS = "credentials"
    NETWORK = "network"
    SERVER = "server"
    BENIGN_STOP = "benign_stop"
    DENIED = "denied"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CallFailure:
    """One failed call.

    Attributes:
        kind: What it comes to.
        code: AWS's error code, or the name of the exception's class where AWS said nothing.
        message: AWS's own words, without the SDK's preamble.
        operation: The operation, as AWS writes it: ``CreateTrainingJob``.
        no_answer: Whether AWS may have done what was asked without our hearing of it, in this attempt or in
            one that the SDK made before it. After a create, look before doing anything else.
    """

    kind: FailureKind
    code: str
    message: str
    operation: str
    no_answer: bool = False

    def __str__(self) -> str:
        return f"{self.operation}: {self.code}: {self.message}"


class CallFailed(SmPreferError):
    """A call to AWS failed; :attr:`failure` says how."""

    def __init__(self, failure: CallFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def classify(error: Exception, operation: str, *, doubtful: bool = False) -> CallFailure:
    """Turn what a boto3 call raised into a value.

    Args:
        error: The exception.
        operation: The operation that was called, as AWS writes it.
        doubtful: Whether an earlier attempt of the same call may have reached AWS unheard.
    """
    unheard = doubtful or may_have_arrived(error)
    if isinstance(error, boto.ClientError):
        code, message = _said(error)
        return CallFailure(_kind_of_answer(error, operation), code, message, operation, unheard)
    return CallFailure(_kind_of_class(error), type(error).__name__, str(error), operation, unheard)


def may_have_arrived(error: Exception) -> bool:
    """Whether AWS may have acted on the request although this came back instead of its answer."""
    if isinstance(error, boto.ClientError):
        return _is_servers(error)
    return isinstance(error, _UNHEARD) and not isinstance(error, _NEVER_SENT)


def is_throttle(code: str) -> bool:
    """Whether an error code of AWS's says that there were too many calls."""
    return code in _THROTTLED


# -- answers -------------------------------------------------------------------------------------------------

_CREDENTIALS: Final = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
        "UnrecognizedClientException",
    }
)
_THROTTLED: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_SERVER: Final = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "InternalServerException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServerException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
    }
)
_INVALID: Final = frozenset(
    {
        "ClientException",
        "InvalidAction",
        "InvalidParameterCombination",
        "InvalidParameterException",
        "InvalidParameterValue",
        "InvalidRequestException",
        "MissingParameter",
        "SerializationException",
        "UnknownOperationException",
        "ValidationError",
        "ValidationException",
    }
)
_CODES: Final = (
    (_THROTTLED, FailureKind.THROTTLED),
    (_CREDENTIALS, FailureKind.CREDENTIALS),
    (frozenset({"ResourceNotFound", "ResourceNotFoundException"}), FailureKind.NOT_FOUND),
    (frozenset({"ResourceInUse", "ResourceInUseException"}), FailureKind.IN_USE),
    (
        frozenset({"ResourceLimitExceeded", "LimitExceededException", "ServiceQuotaExceededException"}),
        FailureKind.LIMIT_EXCEEDED,
    ),
    (frozenset({"AccessDenied", "AccessDeniedException", "OptInRequired"}), FailureKind.DENIED),
    (_INVALID, FailureKind.INVALID),
    (_SERVER, FailureKind.SERVER),
)

#: Seen in the wild on Describe and Stop of a job that isn't there (not ResourceNotFound).
_UNKNOWN_JOB: Final = re.compile(
    r"Requested resource not found|Could not find (requested )?(\w+ )?job\b", re.IGNORECASE
)
#: Seen in the wild on Stop of a job that is over.
_OVER_ALREADY: Final = re.compile(
    r"The request was rejected because the (\w+ )?job is in status|Could not find job to update",
    re.IGNORECASE,
)
#: Batch's words for what it doesn't know, as seen in the wild; its reference has none.
_UNKNOWN_TO_BATCH: Final = re.compile(r"\b(not found|(does not|doesn't) exist)\b", re.IGNORECASE)


def _kind_of_answer(error: boto.ClientError, operation: str) -> FailureKind:
    code, message = _said(error)
    if code in _INVALID:
        return _kind_of_refusal(code, message, operation)
    found = next((kind for codes, kind in _CODES if code in codes), None)
    if error.operation_name.startswith("AssumeRole") and found in {None, FailureKind.DENIED}:
        return FailureKind.CREDENTIALS  # the role could not be taken on; the call itself was never made
    return found or _kind_of_http(_http_status(error))


def _kind_of_refusal(code: str, message: str, operation: str) -> FailureKind:
    """Tell the three things apart that a ValidationException can be, and the two that Batch's ClientException can."""
    if operation.startswith("Stop") and _OVER_ALREADY.match(message):
        return FailureKind.BENIGN_STOP
    if code == "ClientException" and not operation.startswith("Submit") and _UNKNOWN_TO_BATCH.search(message):
        return FailureKind.NOT_FOUND
    return FailureKind.NOT_FOUND if _UNKNOWN_JOB.match(message) else FailureKind.INVALID


def _kind_of_http(status: int) -> FailureKind:
    if status >= 500:
        return FailureKind.SERVER
    return {403: FailureKind.DENIED, 429: FailureKind.THROTTLED}.get(status, FailureKind.OTHER)


def _is_servers(error: boto.ClientError) -> bool:
    """Whether AWS's own side failed, so that the answer doesn't tell what became of the request."""
    code, _ = _said(error)
    return code in _SERVER or (code not in _THROTTLED and _http_status(error) >= 500)


def _http_status(error: boto.ClientError) -> int:
    metadata: dict[str, Any] = error.response.get("ResponseMetadata") or {}
    return int(metadata.get("HTTPStatusCode") or 0)


def _said(error: boto.ClientError) -> tuple[str, str]:
    answer: dict[str, Any] = error.response.get("Error") or {}
    return str(answer.get("Code") or "Unknown"), str(answer.get("Message") or error)


# -- no answer -----------------------------------------------------------------------------------------------

_NEVER_SENT: Final = (
    boto.EndpointConnectionError,
    boto.ConnectTimeoutError,
    boto.ProxyConnectionError,
)
_UNHEARD: Final = (
    boto.HTTPClientError,
    boto.ConnectionError,
    boto.IncompleteReadError,
    boto.ChecksumError,
    ResponseParserError,
)
_CLASSES: Final[tuple[tuple[tuple[type[Exception], ...], FailureKind], ...]] = (
    (
        (
            boto.NoCredentialsError,
            boto.PartialCredentialsError,
            boto.CredentialRetrievalError,
            boto.NoAuthTokenError,
            boto.TokenRetrievalError,
            boto.SSOError,
            boto.LoginError,
            boto.MetadataRetrievalError,
            boto.RefreshWithMFAUnsupportedError,
        ),
        FailureKind.CREDENTIALS,
    ),
    ((ResponseParserError, boto.ChecksumError), FailureKind.SERVER),
    ((boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError), FailureKind.NETWORK),
    (
        (
            boto.ParamValidationError,
            boto.ValidationError,
            boto.BaseEndpointResolverError,
            boto.ProfileNotFound,
        ),
        FailureKind.INVALID,
    ),
)


def _kind_of_class(error: Exception) -> FailureKind:
    if isinstance(error, RuntimeError) and str(error).startswith("Credentials were refreshed"):
        return FailureKind.CREDENTIALS
    return next((kind for classes, kind in _CLASSES if isinstance(error, classes)), FailureKind.OTHER)
