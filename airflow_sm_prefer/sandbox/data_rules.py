"""The rules for what a job reads and writes: its channels, inputs, outputs and checkpoints.

Sources: the API reference of Channel, DataSource, S3DataSource, ProcessingInput, ProcessingS3Input, DatasetDefinition
and ProcessingOutput;
https://docs.aws.amazon.com/sagemaker/latest/dg/byoc-input-and-output.html; for the text on names that come twice
https://github.com/aws/sagemaker-python-sdk/issues/3484.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Breaches = Iterator[str]

PROCESSING_ROOT = "/opt/ml/processing"
_DATASETS = ("AthenaDatasetDefinition", "RedshiftDatasetDefinition")
_TRAINING_SOURCES = ("S3DataSource", "FileSystemDataSource", "DatasetSource")


def channels(request: Mapping[str, Any]) -> Breaches:
    """Check a training job's InputDataConfig."""
    listed = request.get("InputDataConfig", [])
    twice = repeated(channel["ChannelName"] for channel in listed)
    if twice:
        yield f"InputDataConfig must not contain duplicate channel names: {twice}."
    default = request["AlgorithmSpecification"]["TrainingInputMode"]
    for channel in listed:
        yield from _source(channel, request)
        yield from _mode(channel, channel.get("InputMode", default))
        yield from _manifest(channel, channel.get("InputMode", default))


def _source(channel: Mapping[str, Any], request: Mapping[str, Any]) -> Breaches:
    name, source = channel["ChannelName"], channel["DataSource"]
    if sum(kind in source for kind in _TRAINING_SOURCES) != 1:
        yield f"Channel {name} must have exactly one of {', '.join(_TRAINING_SOURCES)}."
    if "FileSystemDataSource" in source and "VpcConfig" not in request:
        yield f"Channel {name} has a FileSystemDataSource, which requires VpcConfig."
    if source.get("S3DataSource", {}).get("InstanceGroupNames"):
        yield f"Channel {name} has InstanceGroupNames, but ResourceConfig has no InstanceGroups."


def _mode(channel: Mapping[str, Any], mode: str) -> Breaches:
    """Some settings are for Pipe mode only; in File mode they are unset or None."""
    if mode == "Pipe":
        return
    for member in ("CompressionType", "RecordWrapperType"):
        if channel.get(member, "None") != "None":
            yield f"Channel {channel['ChannelName']}: {member} is supported in Pipe input mode only, not in {mode}."


def _manifest(channel: Mapping[str, Any], mode: str) -> Breaches:
    """An augmented manifest is read in Pipe mode only, and it alone has attributes (S3DataSource)."""
    source = channel["DataSource"].get("S3DataSource", {})
    if source.get("S3DataType") == "AugmentedManifestFile":
        if mode != "Pipe":
            yield f"Channel {channel['ChannelName']}: AugmentedManifestFile requires Pipe input mode, not {mode}."
    elif source.get("AttributeNames"):
        yield f"Channel {channel['ChannelName']} has AttributeNames, which AugmentedManifestFile alone has."


def inputs_and_outputs(request: Mapping[str, Any]) -> Breaches:
    """Check a processing job's ProcessingInputs and ProcessingOutputConfig."""
    inputs = request.get("ProcessingInputs", [])
    outputs = request.get("ProcessingOutputConfig", {}).get("Outputs", [])
    twice = repeated([*(i["InputName"] for i in inputs), *(o["OutputName"] for o in outputs)])
    if twice:
        yield f"Input and Output names must be globally unique: [{', '.join(twice)}]"
    for given in inputs:
        yield from _input(given)
    for given in outputs:
        yield from _output(given)
    shared = repeated(path.rstrip("/") for path in _local_paths([*inputs, *outputs]))
    if shared:
        yield f"Input and Output local paths must be unique: [{', '.join(shared)}]"


def _input(given: Mapping[str, Any]) -> Breaches:
    if ("S3Input" in given) == ("DatasetDefinition" in given):
        yield f"Input {given['InputName']} must have exactly one of S3Input and DatasetDefinition."
        return
    source = given.get("S3Input") or given["DatasetDefinition"]
    if "DatasetDefinition" in given and sum(kind in source for kind in _DATASETS) != 1:
        yield f"DatasetDefinition of input {given['InputName']} must have exactly one of {' and '.join(_DATASETS)}."
    yield from _local_path(f"Input {given['InputName']}", given, source)
    if source.get("S3CompressionType", "None") != "None" and source.get("S3InputMode") != "Pipe":
        yield f"Input {given['InputName']}: S3CompressionType Gzip is supported in Pipe input mode only."


def _output(given: Mapping[str, Any]) -> Breaches:
    name = given["OutputName"]
    if "FeatureStoreOutput" in given:
        if not given.get("AppManaged"):
            yield f"Output {name}: FeatureStoreOutput is supported only when AppManaged is True."
    elif "S3Output" not in given:
        yield f"Output {name} must have one of S3Output and FeatureStoreOutput."
    else:
        yield from _local_path(f"Output {name}", given, given["S3Output"])


def _local_path(who: str, given: Mapping[str, Any], source: Mapping[str, Any]) -> Breaches:
    if given.get("AppManaged"):
        return
    path = source.get("LocalPath")
    if path is None:
        yield f"{who}: LocalPath is required when AppManaged is False."
    elif not f"{path.rstrip('/')}/".startswith(f"{PROCESSING_ROOT}/"):
        yield f"{who}: LocalPath {path} must begin with {PROCESSING_ROOT}/."


def _local_paths(given: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in given:
        for kind in ("S3Input", "DatasetDefinition", "S3Output"):
            if kind in one and "LocalPath" in one[kind] and not one.get("AppManaged"):
                yield one[kind]["LocalPath"]


def repeated(names: Iterable[str]) -> list[str]:
    """Return what comes more than once, in order."""
    return [name for name, count in Counter(names).items() if count > 1]
