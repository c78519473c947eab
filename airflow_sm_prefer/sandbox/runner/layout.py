"""SageMaker's container layout: what lies below ``/opt/ml`` before a script begins.

Sources: https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-running-container.html and
https://docs.aws.amazon.com/sagemaker/latest/dg/build-your-own-processing-container.html
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow_sm_prefer.sandbox.runner.environment import input_data_config, parsed, resource_config
from airflow_sm_prefer.sandbox.runner.failures import RunFailed, download_failed
from airflow_sm_prefer.sandbox.runner.isolation import ML
from airflow_sm_prefer.sandbox.runner.storage import Storage
from airflow_sm_prefer.sandbox.runs import RunSpec

_S3_TYPES = ("S3Prefix", "ManifestFile")


def host_names(count: int) -> list[str]:
    """Return the hosts' names: ``algo-1`` to ``algo-N``."""
    return [f"algo-{number}" for number in range(1, count + 1)]


def inside(root: Path, path: str) -> Path:
    """Return where a container's path below ``/opt/ml`` lies outside of it.

    Raises:
        RunFailed: it doesn't lie below ``/opt/ml``, where the sandbox has nothing of the job's own.
    """
    clean = Path(path)
    if not clean.is_relative_to(ML) or ".." in clean.parts:
        msg = f"ClientError: the sandbox keeps a job's files below {ML}, and {path} isn't there."
        raise RunFailed(msg)
    return root / clean.relative_to(ML)


class TrainingLayout:
    """Lays out one host of a training job."""

    def __init__(self, spec: RunSpec, storage: Storage) -> None:
        self._spec, self._storage, self._request = spec, storage, spec.request

    @property
    def program(self) -> str | None:
        """The script that the training toolkit is asked to run; None for a container that is told its entrypoint."""
        hyperparameters = self._request.get("HyperParameters") or {}
        program = hyperparameters.get("sagemaker_program")
        return None if program is None else str(parsed(program))

    def prepare(self, root: Path, host: str, hosts: Sequence[str]) -> None:
        """Make the folders, write the configuration and download the data.

        Raises:
            RunFailed: the data can't be had, or the job wants what the sandbox doesn't do.
        """
        for folder in ("input/config", "input/data", "model", "output/data", "code", "checkpoints"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        self._write_config(root / "input/config", host, hosts)
        for channel in self._request.get("InputDataConfig") or ():
            self._download_channel(channel, root, hosts.index(host), len(hosts))
        checkpoints = self._request.get("CheckpointConfig")
        if checkpoints:
            self._storage.download_if_any(checkpoints["S3Uri"], self.checkpoints(root))
        self._unpack_code(root / "code")

    def checkpoints(self, root: Path) -> Path:
        """Return where checkpoints are kept while the job runs."""
        config = self._request.get("CheckpointConfig") or {}
        folder = inside(root, config.get("LocalPath") or f"{ML}/checkpoints")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _write_config(self, folder: Path, host: str, hosts: Sequence[str]) -> None:
        _write(folder / "hyperparameters.json", self._request.get("HyperParameters") or {})
        _write(folder / "inputdataconfig.json", input_data_config(self._request))
        _write(folder / "resourceconfig.json", resource_config(self._spec, host, hosts))

    def _download_channel(self, channel: Mapping[str, Any], root: Path, index: int, count: int) -> None:
        name = channel["ChannelName"]
        mode = channel.get("InputMode") or self._request["AlgorithmSpecification"].get("TrainingInputMode", "File")
        source = channel["DataSource"].get("S3DataSource")
        if source is None or source["S3DataType"] not in _S3_TYPES:
            msg = f"ClientError: channel {name}: the sandbox has S3DataSource only, as {' or '.join(_S3_TYPES)}."
            raise RunFailed(msg)
        if mode == "Pipe":
            msg = f"ClientError: channel {name}: the sandbox has File and FastFile, and no Pipe mode."
            raise RunFailed(msg)
        target = root / "input/data" / name
        target.mkdir(parents=True, exist_ok=True)
        _download(self._storage, source, target, index, count)

    def _unpack_code(self, folder: Path) -> None:
        hyperparameters = self._request.get("HyperParameters") or {}
        address = hyperparameters.get("sagemaker_submit_directory")
        if not address or not str(parsed(address)).startswith("s3://"):
            return
        packed = io.BytesIO(self._storage.read(str(parsed(address))))
        try:
            with tarfile.open(fileobj=packed, mode="r:*") as tar:
                tar.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise download_failed(f"{parsed(address)} is no archive: {error}") from None


class ProcessingLayout:
    """Lays out one host of a processing job."""

    def __init__(self, spec: RunSpec, storage: Storage) -> None:
        self._spec, self._storage, self._request = spec, storage, spec.request

    def prepare(self, root: Path, host: str, hosts: Sequence[str]) -> None:
        """Make the folders, write the configuration and download the inputs.

        Raises:
            RunFailed: an input can't be had, or the job wants what the sandbox doesn't do.
        """
        for name in ("config", "output", "processing"):
            (root / name).mkdir(parents=True, exist_ok=True)
        job = {key: value for key, value in self._request.items() if key != "Tags"}
        _write(root / "config/processingjobconfig.json", {"ProcessingJobArn": self._spec.arn, **job})
        _write(root / "config/resourceconfig.json", {"current_host": host, "hosts": list(hosts)})
        for source in self._request.get("ProcessingInputs") or ():
            self._download(source, root, hosts.index(host), len(hosts))
        for _, folder, _ in self.outputs(root):
            folder.mkdir(parents=True, exist_ok=True)

    def outputs(self, root: Path) -> list[tuple[str, Path, bool]]:
        """Return the outputs: their S3 address, their folder, and whether they are uploaded while the job runs."""
        found = []
        for output in (self._request.get("ProcessingOutputConfig") or {}).get("Outputs", ()):
            s3 = output.get("S3Output")
            if s3 is not None and s3.get("LocalPath") and not output.get("AppManaged"):
                continuous = s3.get("S3UploadMode") == "Continuous"
                found.append((s3["S3Uri"], inside(root, s3["LocalPath"]), continuous))
        return found

    def _download(self, source: Mapping[str, Any], root: Path, index: int, count: int) -> None:
        if source.get("AppManaged"):
            return
        s3 = source.get("S3Input")
        if s3 is None:
            msg = f"ClientError: input {source['InputName']}: the sandbox has S3Input only, and no DatasetDefinition."
            raise RunFailed(msg)
        if s3.get("S3InputMode") == "Pipe":
            msg = f"ClientError: input {source['InputName']}: the sandbox has File mode, and no Pipe mode."
            raise RunFailed(msg)
        target = inside(root, s3["LocalPath"])
        target.mkdir(parents=True, exist_ok=True)
        _download(self._storage, s3, target, index, count)


def _download(storage: Storage, source: Mapping[str, Any], target: Path, index: int, count: int) -> None:
    sharded = source.get("S3DataDistributionType") == "ShardedByS3Key"
    shard = (index, count) if sharded else (0, 1)
    if source.get("S3DataType") == "ManifestFile":
        storage.download_manifest(source["S3Uri"], target, shard=shard)
    else:
        storage.download_prefix(source["S3Uri"], target, shard=shard)


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, default=str), encoding="utf-8")
