"""The ``S3Operations`` part of a config: buckets to make and files to upload before the job.

The Amazon provider's invention, with its meaning; but a task that is tried again finds its own bucket and its own
upload there and goes on.
"""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from airflow_sm_prefer.errors import InvalidRequest

_DIGEST = "sm-prefer-sha256"


def run_s3_operations(s3: Any, region: str | None, operations: Mapping[str, Any]) -> None:
    """Make the buckets, then upload the files.

    Args:
        s3: A boto3 ``s3`` client.
        region: Where buckets are made.
        operations: ``{"S3CreateBucket": [{"Bucket": …}], "S3Upload": [{"Path", "Bucket", "Key", "Tar"}]}``.

    Raises:
        InvalidRequest: a file isn't there, or another file has the key already.
        ClientError: AWS refused.
    """
    for operation in operations.get("S3CreateBucket") or ():
        _create_bucket(s3, region, operation["Bucket"])
    for operation in operations.get("S3Upload") or ():
        _upload(s3, operation)


def _create_bucket(s3: Any, region: str | None, bucket: str) -> None:
    # us-east-1 is the one Region that must not be named.
    place = {} if region in {None, "us-east-1"} else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    try:
        s3.create_bucket(Bucket=bucket, **place)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "BucketAlreadyOwnedByYou":
            raise


def _upload(s3: Any, operation: Mapping[str, Any]) -> None:
    path = Path(operation["Path"])
    if not path.exists():
        msg = f"S3Operations: there is no {path} to upload to s3://{operation['Bucket']}/{operation['Key']}"
        raise InvalidRequest(msg)
    if operation.get("Tar"):
        _upload_tar(s3, path, operation["Bucket"], operation["Key"])
    else:
        _upload_file(s3, path, operation["Bucket"], operation["Key"])


def _upload_tar(s3: Any, path: Path, bucket: str, key: str) -> None:
    """Upload a file, or what is in a directory, as a gzipped tar; what has the key already is replaced."""
    with tempfile.TemporaryFile() as packed:
        with tarfile.open(mode="w:gz", fileobj=packed) as tar:
            for member in sorted(path.iterdir()) if path.is_dir() else [path]:
                tar.add(member, arcname=member.name)
        packed.seek(0)
        s3.upload_fileobj(packed, bucket, key)


def _upload_file(s3: Any, path: Path, bucket: str, key: str) -> None:
    """Upload a file; another one of that key is not replaced."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    there = _metadata(s3, bucket, key)
    if there is None:
        s3.upload_file(str(path), bucket, key, ExtraArgs={"Metadata": {_DIGEST: digest}})
    elif there.get(_DIGEST) != digest:
        msg = (
            f"S3Operations: s3://{bucket}/{key} is there already and isn't {path}.\n"
            "Delete it, or upload to another Key."
        )
        raise InvalidRequest(msg)


def _metadata(s3: Any, bucket: str, key: str) -> Mapping[str, str] | None:
    try:
        found: Mapping[str, str] = s3.head_object(Bucket=bucket, Key=key).get("Metadata") or {}
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") != 404:
            raise
        return None
    return found
