"""What SageMaker, here the sandbox, says of a run's jobs, and the model that one of them left in S3."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airflow_sm_prefer.cli.demo.environment import ACCESS_KEY, REGION, SECRET_KEY


class Jobs:
    """The sandbox, asked as AWS is asked."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def training_job(self, name: str) -> dict[str, Any]:
        """Return a training job as Describe shows it."""
        return dict(self._client("sagemaker").describe_training_job(TrainingJobName=name))

    def last_training_job(self) -> str | None:
        """Return the name of the newest training job, or None; in a demo's own sandbox it is this run's."""
        answer = self._client("sagemaker").list_training_jobs(SortBy="CreationTime", SortOrder="Descending")
        return next((str(job["TrainingJobName"]) for job in answer["TrainingJobSummaries"]), None)

    def download(self, uri: str, target: Path) -> int:
        """Copy an object of S3 to a file and return its size in bytes.

        Raises:
            botocore.exceptions.ClientError: it isn't there.
        """
        parts = urlsplit(uri)
        self._client("s3").download_file(parts.netloc, parts.path.lstrip("/"), str(target))
        return target.stat().st_size

    def _client(self, service: str) -> Any:
        # Imported here: it takes a second, and Airflow can start meanwhile.
        import boto3  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        session = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY, region_name=REGION)
        config = Config(retries={"mode": "standard"}, proxies={}, s3={"addressing_style": "path"})
        return session.client(service, endpoint_url=self._endpoint, config=config)
