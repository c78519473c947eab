"""What AWS answers instead of a result, with the codes and texts it uses."""

from __future__ import annotations


class ApiError(Exception):
    """A refusal as it goes over the wire.

    Attributes:
        code: AWS's error code, as ``ClientError.response["Error"]["Code"]`` shows it.
        message: AWS's words.
        status: The HTTP status.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


class DroppedConnection(Exception):
    """The connection is closed without an answer: an injected fault."""


def invalid(message: str) -> ApiError:
    """A request that breaks a rule; not modelled in botocore, so callers see a plain ``ClientError``."""
    return ApiError("ValidationException", message)


def not_found() -> ApiError:
    """An unknown job: a ValidationException in practice, whatever the model says."""
    return invalid("Requested resource not found.")


def bad_token() -> ApiError:
    """A NextToken that no page gave; AWS's text has that very placeholder.

    Source: https://github.com/getmoto/moto/pull/4256
    """
    return invalid('Invalid pagination token because "{0}".')


def in_use(message: str) -> ApiError:
    """The name is taken, ended jobs keep theirs; or what is to be deleted is still live."""
    return ApiError("ResourceInUse", message)


def limit_exceeded(message: str) -> ApiError:
    """A service quota doesn't allow it."""
    return ApiError("ResourceLimitExceeded", message)


def throttled() -> ApiError:
    """More calls a second than the account may make."""
    return ApiError("ThrottlingException", "Rate exceeded")


def client_error(message: str) -> ApiError:
    """What AWS Batch answers to whatever a caller did wrong; it has no other code for that."""
    return ApiError("ClientException", message)


def too_many_requests() -> ApiError:
    """More calls of AWS Batch a second than the account may make.

    Batch throttles with another code and status than SageMaker; both are in botocore's list of those to try again.
    Seen: https://github.com/ASFHyP3/hyp3/issues/1676
    """
    return ApiError("TooManyRequestsException", "Too Many Requests", 429)
