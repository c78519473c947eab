"""S3, as jobs use it: folders down, folders and archives up."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from airflow_sm_prefer.sandbox.runner.failures import RunFailed, download_failed


class Storage:
    """Reads and writes S3 by addresses.

    Args:
        s3: A boto3 S3 client.
    """

    def __init__(self, s3: Any) -> None:
        self._s3 = s3

    def download_prefix(self, address: str, target: Path, *, shard: tuple[int, int] = (0, 1)) -> int:
        """Download what lies under a prefix; returns how many objects there were.

        Args:
            address: ``s3://bucket/prefix``, or of one object.
            target: The folder; names are relative to the prefix.
            shard: Which host of how many this is, where each gets a part of the objects.

        Raises:
            RunFailed: the bucket or the objects can't be had, in SageMaker's words.
        """
        bucket, prefix = _split(address)
        keys = sorted(key for key in self._keys(bucket, prefix, address) if not key.endswith("/"))
        if not keys:
            raise download_failed(f'No S3 objects found under S3 URL "{address}" given in input data source.')
        for key in keys[shard[0] :: shard[1]]:
            self._fetch(bucket, key, _below(target, _relative(key, prefix)))
        return len(keys)

    def download_manifest(self, address: str, target: Path, *, shard: tuple[int, int] = (0, 1)) -> None:
        """Download what a manifest names: ``[{"prefix": "s3://…/"}, "name", …]``.

        Raises:
            RunFailed: the manifest or an object can't be had, or it isn't one.
        """
        bucket, key = _split(address)
        try:
            first, *names = json.loads(self._read(bucket, key, address))
            prefix = first["prefix"]
        except (ValueError, KeyError, TypeError) as error:
            raise download_failed(f"{address} is no manifest: {error}") from None
        for name in sorted(names)[shard[0] :: shard[1]]:
            there, whole = _split(f"{prefix}{name}")
            self._fetch(there, whole, _below(target, name))

    def download_if_any(self, address: str, target: Path) -> None:
        """Download a prefix that may be empty, as checkpoints are at first."""
        bucket, prefix = _split(address)
        for key in self._keys(bucket, prefix, address):
            if not key.endswith("/"):
                self._fetch(bucket, key, _below(target, _relative(key, prefix)))

    def read(self, address: str) -> bytes:
        """Return an object.

        Raises:
            RunFailed: it can't be had.
        """
        bucket, key = _split(address)
        return self._read(bucket, key, address)

    def upload_folder(
        self, folder: Path, address: str, known: dict[Path, tuple[int, int]] | None = None, *, follow: bool = True
    ) -> int:
        """Upload the files below a folder; returns how many there are.

        Args:
            folder: The folder; there may be none.
            address: ``s3://bucket/prefix``.
            known: What has been uploaded; only what has changed since then is, and is noted here.
            follow: Whether symbolic links are followed; for processing outputs they aren't
                (https://docs.aws.amazon.com/sagemaker/latest/dg/byoc-input-and-output.html).
        """
        bucket, prefix = _split(address)
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and (follow or not path.is_symlink())]
        for path in files:
            key = "/".join(part for part in (prefix.rstrip("/"), path.relative_to(folder).as_posix()) if part)
            # A job that runs may delete a file between the moment it was listed and this one.
            with contextlib.suppress(FileNotFoundError):
                self._upload(path, bucket, key, known)
        return len(files)

    def _upload(self, path: Path, bucket: str, key: str, known: dict[Path, tuple[int, int]] | None) -> None:
        status = path.stat()
        mark = (status.st_mtime_ns, status.st_size)
        if known is not None and known.get(path) == mark:
            return
        self._put(bucket, key, path.read_bytes())
        if known is not None:
            known[path] = mark

    def upload_archive(self, folder: Path, address: str) -> bool:
        """Upload what is in a folder as a gzipped tar; returns False if there is nothing."""
        members = sorted(folder.iterdir()) if folder.is_dir() else []
        if not members:
            return False
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for member in members:
                tar.add(member, arcname=member.name)
        bucket, key = _split(address)
        self._put(bucket, key, packed.getvalue())
        return True

    def _put(self, bucket: str, key: str, body: bytes) -> None:
        try:
            self._s3.put_object(Bucket=bucket, Key=key, Body=body)
        except (ClientError, BotoCoreError) as error:
            msg = f"ClientError: Artifact upload failed:{_why(error, f's3://{bucket}/{key}', 'upload')}"
            raise RunFailed(msg) from None

    def _keys(self, bucket: str, prefix: str, address: str) -> Iterator[str]:
        try:
            for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
                yield from (entry["Key"] for entry in page.get("Contents", ()))
        except (ClientError, BotoCoreError) as error:
            raise download_failed(_why(error, address)) from None

    def _fetch(self, bucket: str, key: str, target: Path) -> None:
        if "//" in key:
            # https://github.com/aws-samples/generative-ai-on-amazon-sagemaker/pull/242
            where = f"S3 key: s3://{bucket}/{key}"
            raise download_failed(f"Failed to download data. {where} has an illegal char sub-sequence '//' in it")
        body = self._read(bucket, key, f"s3://{bucket}/{key}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)

    def _read(self, bucket: str, key: str, address: str) -> bytes:
        try:
            body: bytes = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except (ClientError, BotoCoreError) as error:
            raise download_failed(_why(error, address)) from None
        return body


def _below(folder: Path, name: str) -> Path:
    """Return where a file of that name lies in a folder; names come out of S3, and may try to lead out of it."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise download_failed(f"{name} would lie outside of its folder.")
    return path


def _split(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.netloc, parts.path.lstrip("/")


def _relative(key: str, prefix: str) -> str:
    """Name an object below its prefix, which may end inside a name: then the name as a whole counts."""
    if key == prefix:
        return key.rsplit("/", 1)[-1]
    folder = prefix if not prefix or prefix.endswith("/") or key[len(prefix) :].startswith("/") else _parent(prefix)
    return key[len(folder) :].lstrip("/")


def _parent(prefix: str) -> str:
    return prefix[: prefix.rfind("/") + 1]


def _why(error: Exception, address: str, what: str = "download") -> str:
    if not isinstance(error, ClientError):
        return f"Unable to {what} object {address} ({error})"
    said = error.response.get("Error", {})
    code, message = said.get("Code", "Unknown"), said.get("Message", "")
    return f"Unable to {what} object {address} ({code}: {message})"
