"""What ends a run before its script does, in SageMaker's words."""

from __future__ import annotations

#: FailureReason is cut to this many characters
#: (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeTrainingJob.html).
REASON_LENGTH = 1024

INTERNAL_ERROR = "InternalServerError: We encountered an internal error. Please try again."
NO_IMAGE = (
    "ClientError: Cannot pull algorithm container. Either the image does not exist or its permissions are incorrect."
)


class RunFailed(Exception):
    """The job ends as Failed, for this reason."""


class RunStopped(Exception):
    """The job was stopped before its containers began."""


def algorithm_error(said: str, exit_code: int) -> str:
    """Return the reason of a container that ended with an error.

    Args:
        said: What it wrote to ``/opt/ml/output/failure``; its first 1024 characters count.
        exit_code: Its exit code; one that a signal ended has 128 and the signal's number, as a shell says.
    """
    ending = f", exit code: {exit_code}"
    room = REASON_LENGTH - len("AlgorithmError: ") - len(ending)
    return f"AlgorithmError: {said.strip()[:room]}{ending}"


def download_failed(why: str) -> RunFailed:
    """Return the end of a job whose data can't be had."""
    return RunFailed(f"ClientError: Data download failed:{why}")
