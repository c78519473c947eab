"""S3, as jobs use it: folders down, folders and archives up."""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from airflow_sm_prefer.sandbox.runner.failures import RunFailed, RunStopped, download_failed


class Storage:
    """Reads and writes S3 by addresses.

    Args:
        s3: A boto3 S3 client.
        stopped: Whether downloading is to end.
    """

    def __init__(self, s3: Any, stopped: Callable[[], bool] = lambda: False) -> None:
        self._s3, self._stopped = s3, stopped

    # -- down --------------------------------------------------------------------------------------------

    def download_prefix(self, address: str, target: Path, *, shard: tuple[int, int] = (0, 1)) -> None:
        """Download what lies under a prefix.

        Args:
            address: ``s3://bucket/prefix``, or of one object.
            target: The folder; names are relative to the prefix.
            shard: Which host of how many this is, where each gets a part of the objects.

        Raises:
            RunFailed: the bucket or the objects can't be had, in SageMaker's words.
            RunStopped: it was told to end.
        """
        bucket, prefix = split(address)
        keys = sorted(self._keys(bucket, prefix, address))
        if not keys:
            raise download_failed(f'No S3 objects found under S3 URL "{address}" given in input data source.')
        self._fetch_all(bucket, prefix, keys[shard[0] :: shard[1]], target)

    def download_manifest(self, address: str, target: Path, *, shard: tuple[int, int] = (0, 1)) -> None:
        """Download what a manifest names: ``[{"prefix": "s3://…/"}, "name", …]``.

        Source: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_S3DataSource.html

        Raises:
            RunFailed: the manifest or an object can't be had, or it isn't one.
            RunStopped: it was told to end.
        """
        prefix, names = _manifest(self.read(address), address)
        for name in sorted(names)[shard[0] :: shard[1]]:
            bucket, key = split(f"{prefix}{name}")
            self._fetch(bucket, key, _below(target, name))

    def download_folder(self, address: str, target: Path) -> None:
        """Download what lies below a prefix as in a folder; there may be nothing, as with checkpoints at first."""
        bucket, prefix = split(f"{address.rstrip('/')}/")
        self._fetch_all(bucket, prefix, self._keys(bucket, prefix, address), target)

    def read(self, address: str) -> bytes:
        """Return an object.

        Raises:
            RunFailed: it can't be had.
        """
        bucket, key = split(address)
        try:
            body: bytes = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except (ClientError, BotoCoreError) as error:
            raise download_failed(_why(error, address)) from None
        return body

    def _keys(self, bucket: str, prefix: str, address: str) -> Iterator[str]:
        """Return the objects' names, without the markers of empty folders."""
        try:
            for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
                yield from (entry["Key"] for entry in page.get("Contents", ()) if not entry["Key"].endswith("/"))
        except (ClientError, BotoCoreError) as error:
            raise download_failed(_why(error, address)) from None

    def _fetch_all(self, bucket: str, prefix: str, keys: Iterable[str], target: Path) -> None:
        for key in keys:
            self._fetch(bucket, key, _below(target, _relative(key, prefix)))

    def _fetch(self, bucket: str, key: str, target: Path) -> None:
        if self._stopped():
            raise RunStopped
        if "//" in key:
            # https://github.com/aws-samples/generative-ai-on-amazon-sagemaker/pull/242
            where = f"S3 key: s3://{bucket}/{key}"
            raise download_failed(f"Failed to download data. {where} has an illegal char sub-sequence '//' in it")
        body = self.read(f"s3://{bucket}/{key}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(body)
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            clash = f"s3://{bucket}/{key} is both an object and a folder of others, and can't be both here."
            raise download_failed(f"Failed to download data. {clash}") from None

    # -- up ----------------------------------------------------------------------------------------------

    def upload_folder(self, folder: Path, address: str) -> int:
        """Upload the files below a folder, links followed; returns how many there are. There may be no folder."""
        files = files_below(folder)
        for name, path in files.items():
            self.put(f"{address.rstrip('/')}/{name}", path.read_bytes())
        return len(files)

    def upload_archive(self, folders: Sequence[Path], address: str) -> bool:
        """Upload what is in some folders as one gzipped tar; returns False if there is nothing.

        Of a name that several folders have, the first one's is taken.
        """
        members = {member.relative_to(folder): member for folder in reversed(folders) for member in folder.rglob("*")}
        if not members:
            return False
        with tempfile.TemporaryFile() as packed:
            with tarfile.open(fileobj=packed, mode="w:gz") as tar:
                for name in sorted(members):
                    tar.add(members[name], arcname=name.as_posix(), recursive=False)
            packed.seek(0)
            self.put(address, packed)
        return True

    def put(self, address: str, body: Any) -> None:
        """Write an object, out of bytes or an open file.

        Raises:
            RunFailed: it can't be written.
        """
        bucket, key = split(address)
        try:
            self._s3.put_object(Bucket=bucket, Key=key, Body=body)
        except (ClientError, BotoCoreError) as error:
            raise _upload_failed(error, address) from None

    def delete(self, address: str) -> None:
        """Delete an object.

        Raises:
            RunFailed: it can't be deleted.
        """
        bucket, key = split(address)
        try:
            self._s3.delete_object(Bucket=bucket, Key=key)
        except (ClientError, BotoCoreError) as error:
            raise _upload_failed(error, address) from None


def files_below(folder: Path, *, follow: bool = True) -> dict[str, Path]:
    """Return the files below a folder by their names there, with slashes; with or without symbolic links."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and (follow or not path.is_symlink()))
    return {path.relative_to(folder).as_posix(): path for path in files}


def split(address: str) -> tuple[str, str]:
    """Return the bucket and the key of ``s3://bucket/key``; any character may be part of a key."""
    bucket, _, key = address.partition("://")[2].partition("/")
    return bucket, key.lstrip("/")


def _manifest(body: bytes, address: str) -> tuple[str, list[str]]:
    try:
        first, *names = json.loads(body)
        prefix = first["prefix"]
    except (ValueError, KeyError, TypeError) as error:
        raise download_failed(f"{address} is no manifest: {error}") from None
    if not isinstance(prefix, str) or not all(isinstance(name, str) for name in names):
        raise download_failed(f"{address} is no manifest: a prefix and names belong there, and they are texts")
    return prefix, names


def _below(folder: Path, name: str) -> Path:
    """Return where a file of that name lies in a folder; names come out of S3, and may try to lead out of it."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise download_failed(f"{name} would lie outside of its folder.")
    return path


def _relative(key: str, prefix: str) -> str:
    """Name an object below its prefix, which may end inside a name: then the name as a whole counts."""
    if key == prefix:
        return key.rsplit("/", 1)[-1]
    folder = prefix if not prefix or prefix.endswith("/") or key[len(prefix) :].startswith("/") else _parent(prefix)
    return key[len(folder) :].lstrip("/")


def _parent(prefix: str) -> str:
    return prefix[: prefix.rfind("/") + 1]


def _upload_failed(error: Exception, address: str) -> RunFailed:
    return RunFailed(f"ClientError: Artifact upload failed:{_why(error, address, 'upload')}")


def _why(error: Exception, address: str, what: str = "download") -> str:
    if not isinstance(error, ClientError):
        return f"Unable to {what} object {address} ({error})"
    said = error.response.get("Error", {})
    code, message = said.get("Code", "Unknown"), said.get("Message", "")
    return f"Unable to {what} object {address} ({code}: {message})"
