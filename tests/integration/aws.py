"""How a test asks a sandbox: with boto3, as anybody asks AWS."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config


def client(url: str, service: str = "sagemaker", *, key: str = "test", **config: Any) -> Any:
    """Return a client of one service.

    Args:
        url: Where the sandbox serves.
        service: As boto3 calls it.
        key: The access key.
        config: Settings of the client, as botocore's Config takes them.
    """
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key="test",
        config=Config(**config),
    )
