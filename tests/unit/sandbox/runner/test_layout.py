"""What lies below /opt/ml before a script begins."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner.failures import RunFailed
from airflow_sm_prefer.sandbox.runner.layout import inside, layout_of
from airflow_sm_prefer.sandbox.runner.storage import Storage, files_below
from airflow_sm_prefer.sandbox.runs import RunSpec
from tests.unit.sandbox.runner.builders import FakeS3, channel, processing, s3_input, s3_output, training


@pytest.fixture
def s3() -> FakeS3:
    made = FakeS3()
    made.data.update({"code/main.py": b"", "raw/a": b"1", "raw/b": b"2"})
    return made


def laid_out(s3: FakeS3, job: RunSpec, root: Path, host: str = "algo-1", hosts: tuple[str, ...] = ("algo-1",)) -> Any:
    layout = layout_of(job, Storage(s3))
    layout.prepare(root, host, hosts)
    return layout


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_a_training_job_finds_its_configuration_and_its_channels(s3: FakeS3, tmp_path: Path) -> None:
    job = training(InputDataConfig=[channel("raw", "s3://data/raw")], HyperParameters={"epochs": "3"})
    laid_out(s3, job, tmp_path)
    assert read(tmp_path / "input/config/hyperparameters.json") == {"epochs": "3"}
    assert list(read(tmp_path / "input/config/inputdataconfig.json")) == ["raw"]
    assert read(tmp_path / "input/config/resourceconfig.json")["current_host"] == "algo-1"
    assert sorted(files_below(tmp_path / "input/data")) == ["raw/a", "raw/b"]
    for folder in ("model", "output/data", "code", "checkpoints"):
        assert (tmp_path / folder).is_dir()


def test_a_job_with_nothing_but_an_output_finds_empty_settings(s3: FakeS3, tmp_path: Path) -> None:
    assert laid_out(s3, training(InputDataConfig=None), tmp_path).mirrors([tmp_path]) == []
    assert read(tmp_path / "input/config/hyperparameters.json") == {}
    assert read(tmp_path / "input/config/inputdataconfig.json") == {}


@pytest.mark.parametrize("kind", ["training", "processing"])
def test_each_host_finds_its_part_of_sharded_data(s3: FakeS3, tmp_path: Path, kind: str) -> None:
    sharded = {"S3DataDistributionType": "ShardedByS3Key"}
    hosts = ("algo-1", "algo-2")
    if kind == "training":
        job, below = training(InputDataConfig=[channel("raw", "s3://data/raw", **sharded)]), "input/data/raw"
    else:
        job, below = processing(ProcessingInputs=[s3_input("raw", "s3://data/raw", **sharded)]), "processing/input/raw"
    for host in hosts:
        laid_out(s3, job, tmp_path / host, host, hosts)
    assert [list(files_below(tmp_path / host / below)) for host in hosts] == [["a"], ["b"]]


@pytest.mark.parametrize("kind", ["training", "processing"])
def test_a_manifest_is_followed(s3: FakeS3, tmp_path: Path, kind: str) -> None:
    s3.data["list"] = json.dumps([{"prefix": "s3://data/raw/"}, "b"]).encode()
    if kind == "training":
        job = training(InputDataConfig=[channel("raw", "s3://data/list", S3DataType="ManifestFile")])
    else:
        job = processing(ProcessingInputs=[s3_input("raw", "s3://data/list", S3DataType="ManifestFile")])
    laid_out(s3, job, tmp_path)
    assert [path.name for path in tmp_path.rglob("raw/*")] == ["b"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({**channel("x", "s3://data/raw"), "InputMode": "Pipe"}, "no Pipe mode"),
        (channel("x", "s3://data/raw", S3DataType="AugmentedManifestFile"), "as S3Prefix or ManifestFile"),
        ({"ChannelName": "x", "DataSource": {"FileSystemDataSource": {}}}, "S3DataSource only"),
    ],
)
def test_a_channel_that_the_sandbox_does_not_have_is_refused(
    s3: FakeS3, tmp_path: Path, wanted: dict[str, Any], words: str
) -> None:
    with pytest.raises(RunFailed, match=words):
        laid_out(s3, training(InputDataConfig=[wanted]), tmp_path)


def test_a_channel_takes_the_jobs_mode(s3: FakeS3, tmp_path: Path) -> None:
    job = training(AlgorithmSpecification={"TrainingImage": "i", "TrainingInputMode": "Pipe"})
    with pytest.raises(RunFailed, match="no Pipe mode"):
        laid_out(s3, job, tmp_path)


@pytest.mark.parametrize("path", [None, "/opt/ml/state/of/it"])
def test_checkpoints_are_there_before_the_script(s3: FakeS3, tmp_path: Path, path: str | None) -> None:
    s3.data["ckpt/step"] = b"7"
    config = {"S3Uri": "s3://data/ckpt", **({"LocalPath": path} if path else {})}
    (copied,) = laid_out(s3, training(CheckpointConfig=config), tmp_path).mirrors([tmp_path])
    folder = tmp_path / ("state/of/it" if path else "checkpoints")
    assert (folder / "step").read_bytes() == b"7"
    (folder / "more").write_text("8")
    copied.push()
    assert copied.continuous
    assert s3.data["ckpt/more"] == b"8"


@pytest.mark.parametrize("path", ["/tmp/ckpt", "/opt/mlx", "/opt/ml/../x", "relative"])
def test_a_path_that_is_not_the_jobs_own_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(RunFailed, match="isn't there"):
        inside(tmp_path, path)


def test_paths_of_the_jobs_own_lie_below_its_folder(tmp_path: Path) -> None:
    assert inside(tmp_path, "/opt/ml/a/b/") == tmp_path / "a/b"
    assert inside(tmp_path, "/opt/ml") == tmp_path


def test_the_toolkits_source_is_unpacked(s3: FakeS3, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        info = tarfile.TarInfo("train.py")
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
    s3.data["source.tar.gz"] = packed.getvalue()
    laid_out(s3, training(HyperParameters={"sagemaker_submit_directory": '"s3://data/source.tar.gz"'}), tmp_path)
    assert (tmp_path / "code/train.py").read_bytes() == b"x"


def test_a_source_that_is_no_archive_is_said(s3: FakeS3, tmp_path: Path) -> None:
    s3.data["source.tar.gz"] = b"no archive"
    job = training(HyperParameters={"sagemaker_submit_directory": "s3://data/source.tar.gz"})
    with pytest.raises(RunFailed, match=r"s3://data/source.tar.gz is no archive"):
        laid_out(s3, job, tmp_path)


def test_a_source_within_the_image_is_left_alone(s3: FakeS3, tmp_path: Path) -> None:
    laid_out(s3, training(HyperParameters={"sagemaker_submit_directory": "/opt/ml/code"}), tmp_path)
    assert list((tmp_path / "code").iterdir()) == []


def test_a_processing_job_finds_its_request_and_its_place(s3: FakeS3, tmp_path: Path) -> None:
    job = processing(ProcessingOutputConfig={"Outputs": [s3_output("out")]})
    laid_out(s3, job, tmp_path)
    told = read(tmp_path / "config/processingjobconfig.json")
    assert told["ProcessingJobArn"] == job.arn
    assert told["ProcessingJobName"] == "job"
    assert told["AppSpecification"] == job.request["AppSpecification"]
    assert "Tags" not in told
    assert read(tmp_path / "config/resourceconfig.json") == {"current_host": "algo-1", "hosts": ["algo-1"]}
    assert list(files_below(tmp_path / "processing")) == ["input/code/main.py"]
    assert (tmp_path / "processing/out").is_dir()


def test_outputs_go_where_and_when_they_are_to(s3: FakeS3, tmp_path: Path) -> None:
    managed = {**s3_output("theirs"), "AppManaged": True}
    features = {"OutputName": "features", "FeatureStoreOutput": {"FeatureGroupName": "g"}}
    outputs = [s3_output("now", "Continuous"), s3_output("later"), managed, features]
    layout = laid_out(s3, processing(ProcessingOutputConfig={"Outputs": outputs}), tmp_path)
    for name in ("now", "later"):
        (tmp_path / "processing" / name / "x").write_text(name)
    copied = layout.mirrors([tmp_path])
    assert [mirror.continuous for mirror in copied] == [True, False]
    for mirror in copied:
        mirror.push()
    assert {key: body for key, body in s3.data.items() if key.endswith("/x")} == {"now/x": b"now", "later/x": b"later"}


def test_what_the_application_manages_is_left_to_it(s3: FakeS3, tmp_path: Path) -> None:
    given = {**s3_input("theirs", "s3://absent/x"), "AppManaged": True}
    laid_out(s3, processing(ProcessingInputs=[given]), tmp_path)
    laid_out(s3, processing(ProcessingInputs=None), tmp_path)
    assert list((tmp_path / "processing").iterdir()) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"InputName": "x", "DatasetDefinition": {}}, "no DatasetDefinition"),
        (s3_input("x", "s3://data/raw", S3InputMode="Pipe"), "no Pipe mode"),
    ],
)
def test_an_input_that_the_sandbox_does_not_have_is_refused(
    s3: FakeS3, tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(RunFailed, match=words):
        laid_out(s3, processing(ProcessingInputs=[given]), tmp_path)
