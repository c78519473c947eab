"""A client of AWS Batch whose answers tests write down."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber


@pytest.fixture
def stub() -> Iterator[Stubber]:
    """Answers what it was told to, in order, and all of it is asked for."""
    client = boto3.client(
        "batch",
        region_name="us-west-2",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()
