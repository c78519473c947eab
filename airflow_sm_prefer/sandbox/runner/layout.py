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
from typing import Any, Protocol

from airflow_sm_prefer.sandbox.runner.environment import input_data_config, resource_config
from airflow_sm_prefer.sandbox.runner.failures import RunFailed, download_failed
from airflow_sm_prefer.sandbox.runner.isolation import ML
from airflow_sm_prefer.sandbox.runner.mirror import Mirror
from airflow_sm_prefer.sandbox.runner.storage import Storage
from airflow_sm_prefer.sandbox.runner.toolkit import parsed
from airflow_sm_prefer.sandbox.runs import RunSpec

_S3_TYPES = ("S3Prefix", "ManifestFile")


class Layout(Protocol):
    """What a kind of job finds below ``/opt/ml``."""

    def prepare(self, root: Path, host: str, hosts: Sequence[str]) -> None:
        """Make the folders of one host, write the configuration and download the data.

        Args:
            root: The folder that the host sees as ``/opt/ml``.
            host: The host's name.
            hosts: All hosts' names.

        Raises:
            RunFailed: the data can't be had, or the job wants what the sandbox doesn't do.
            RunStopped: the job was stopped meanwhile.
        """

    def mirrors(self, roots: Sequence[Path]) -> list[Mirror]:
        """Return what is copied to S3 as it is, while the job runs or at its end."""


def layout_of(spec: RunSpec, storage: Storage) -> Layout:
    """Return the layout of a job's kind."""
    return TrainingLayout(spec, storage) if spec.kind == "training" else ProcessingLayout(spec, storage)


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

    def prepare(self, root: Path, host: str, hosts: Sequence[str]) -> None:
        """Lay out one host."""
        for folder in ("input/config", "input/data", "model", "output/data", "code", "checkpoints"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        self._write_config(root / "input/config", host, hosts)
        for channel in self._request.get("InputDataConfig") or ():
            self._download_channel(channel, root, hosts.index(host), len(hosts))
        checkpoints = self._request.get("CheckpointConfig")
        if checkpoints:
            kept = self._checkpoints(root)
            kept.mkdir(parents=True, exist_ok=True)
            self._storage.download_folder(checkpoints["S3Uri"], kept)
        self._unpack_code(root / "code")

    def mirrors(self, roots: Sequence[Path]) -> list[Mirror]:
        """Return the checkpoints."""
        config = self._request.get("CheckpointConfig")
        if not config:
            return []
        return [Mirror(self._storage, config["S3Uri"], [self._checkpoints(root) for root in roots], deletes=True)]

    def _checkpoints(self, root: Path) -> Path:
        return inside(root, self._request["CheckpointConfig"].get("LocalPath") or f"{ML}/checkpoints")

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
        address = str(parsed(hyperparameters.get("sagemaker_submit_directory", "")))
        if not address.startswith("s3://"):
            return
        packed = io.BytesIO(self._storage.read(address))
        try:
            with tarfile.open(fileobj=packed, mode="r:*") as tar:
                tar.extractall(folder, filter="data")
        except tarfile.TarError as error:
            raise download_failed(f"{address} is no archive: {error}") from None


class ProcessingLayout:
    """Lays out one host of a processing job."""

    def __init__(self, spec: RunSpec, storage: Storage) -> None:
        self._spec, self._storage, self._request = spec, storage, spec.request

    def prepare(self, root: Path, host: str, hosts: Sequence[str]) -> None:
        """Lay out one host."""
        for name in ("config", "output", "processing"):
            (root / name).mkdir(parents=True, exist_ok=True)
        job = {key: value for key, value in self._request.items() if key != "Tags"}
        _write(root / "config/processingjobconfig.json", {"ProcessingJobArn": self._spec.arn, **job})
        _write(root / "config/resourceconfig.json", {"current_host": host, "hosts": list(hosts)})
        for source in self._request.get("ProcessingInputs") or ():
            self._download(source, root, hosts.index(host), len(hosts))
        for output in self._outputs():
            inside(root, output["LocalPath"]).mkdir(parents=True, exist_ok=True)

    def mirrors(self, roots: Sequence[Path]) -> list[Mirror]:
        """Return the outputs."""
        return [
            Mirror(
                self._storage,
                output["S3Uri"],
                [inside(root, output["LocalPath"]) for root in roots],
                follow=False,
                continuous=output.get("S3UploadMode") == "Continuous",
            )
            for output in self._outputs()
        ]

    def _outputs(self) -> list[Mapping[str, Any]]:
        outputs = (self._request.get("ProcessingOutputConfig") or {}).get("Outputs", ())
        ours = [output.get("S3Output") or {} for output in outputs if not output.get("AppManaged")]
        return [output for output in ours if output.get("LocalPath")]

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
