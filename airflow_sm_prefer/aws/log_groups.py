"""Where SageMaker's jobs log."""

from __future__ import annotations

from airflow_sm_prefer.model.job import JobKind


def log_group(kind: JobKind) -> str:
    """Return the CloudWatch log group of a kind of job; a job's streams there begin with its name and a slash.

    Source: https://docs.aws.amazon.com/sagemaker/latest/dg/logging-cloudwatch.html
    """
    return f"/aws/sagemaker/{kind.word}Jobs"


def stream_prefix(job_name: str) -> str:
    """Return what the names of a job's streams begin with; the slash keeps other jobs' out."""
    return f"{job_name}/"
