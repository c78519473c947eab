"""S3 as jobs use it, with SageMaker's words for what can't be had."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from airflow_sm_prefer.sandbox.runner.failures import RunFailed, RunStopped
from airflow_sm_prefer.sandbox.runner.storage import Storage, files_below, split
from tests.unit.sandbox.runner.builders import FakeS3, refusal


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def storage(s3: FakeS3) -> Storage:
    return Storage(s3)


def downloaded(folder: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in files_below(folder).items()}


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("raw/", ["a", "b/c"]),
        ("raw", ["a", "b/c"]),
        ("raw/b", ["c"]),
        ("raw/b/", ["c"]),
        ("ra", ["raw/a", "raw/b/c"]),
        ("raw/a", ["a"]),
        ("", ["raw/a", "raw/b/c"]),
    ],
)
def test_names_are_those_below_the_prefix(
    s3: FakeS3, storage: Storage, tmp_path: Path, prefix: str, names: list[str]
) -> None:
    s3.data.update({"raw/": b"", "raw/a": b"1", "raw/b/c": b"2"})
    storage.download_prefix(f"s3://data/{prefix}", tmp_path)
    assert sorted(downloaded(tmp_path)) == names


def test_each_host_gets_its_part_of_sharded_objects(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    s3.data.update({f"raw/{number}": b"" for number in range(5)})
    for index in range(2):
        storage.download_prefix("s3://data/raw/", tmp_path / str(index), shard=(index, 2))
    assert sorted(downloaded(tmp_path)) == ["0/0", "0/2", "0/4", "1/1", "1/3"]


def test_any_character_may_be_part_of_a_key(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    s3.data["raw/a#b?c=d e%20.csv"] = b"1"
    storage.download_prefix("s3://data/raw/a#b?c=d e%20.csv", tmp_path)
    assert downloaded(tmp_path) == {"a#b?c=d e%20.csv": b"1"}
    assert split("s3://data/a#b?c") == ("data", "a#b?c")
    assert split("s3://data") == ("data", "")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("s3://data/none", 'No S3 objects found under S3 URL "s3://data/none" given in input data source.'),
        (
            "s3://absent/x",
            "Unable to download object s3://absent/x (NoSuchBucket: The specified bucket does not exist)",
        ),
    ],
)
def test_data_that_is_not_there(storage: Storage, tmp_path: Path, address: str, why: str) -> None:
    with pytest.raises(RunFailed) as failed:
        storage.download_prefix(address, tmp_path)
    assert str(failed.value) == f"ClientError: Data download failed:{why}"


def test_a_key_with_an_empty_part_can_not_be_downloaded(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    s3.data["raw//a"] = b""
    with pytest.raises(RunFailed, match="S3 key: s3://data/raw//a has an illegal char sub-sequence '//' in it"):
        storage.download_prefix("s3://data/raw", tmp_path)


@pytest.mark.parametrize("keys", [("raw/a", "raw/a/b"), ("raw/a/b", "raw/a/b/c")])
def test_an_object_that_is_a_folder_too_can_not_be_downloaded(
    s3: FakeS3, storage: Storage, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    s3.data.update(dict.fromkeys(keys, b""))
    with pytest.raises(RunFailed, match="both an object and a folder"):
        storage.download_prefix("s3://data/raw/", tmp_path)


def test_access_that_is_denied_is_said_in_s3s_words(
    s3: FakeS3, storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(**_: Any) -> Any:
        raise refusal("AccessDenied", "Access Denied")

    s3.data["raw/a"] = b""
    monkeypatch.setattr(s3, "get_object", denied)
    with pytest.raises(RunFailed) as failed:
        storage.download_prefix("s3://data/raw/", tmp_path)
    why = "Unable to download object s3://data/raw/a (AccessDenied: Access Denied)"
    assert str(failed.value) == f"ClientError: Data download failed:{why}"


def test_an_s3_that_can_not_be_reached_fails_the_job(
    s3: FakeS3, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: Any) -> Any:
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    monkeypatch.setattr(s3, "get_object", away)
    with pytest.raises(RunFailed, match="Could not connect to the endpoint URL"):
        storage.read("s3://data/x")


def test_a_stop_ends_downloading_before_the_next_object(s3: FakeS3, tmp_path: Path) -> None:
    s3.data.update({"raw/a": b"", "raw/b": b""})
    stops = iter([False, True])
    with pytest.raises(RunStopped):
        Storage(s3, lambda: next(stops)).download_prefix("s3://data/raw/", tmp_path)
    assert sorted(downloaded(tmp_path)) == ["a"]


def manifest(*names: Any, prefix: Any = "s3://data/raw/") -> bytes:
    return json.dumps([{"prefix": prefix}, *names]).encode()


def test_a_manifest_names_what_is_downloaded(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    s3.data.update({"raw/a": b"1", "raw/b/c": b"2", "raw/d": b"3", "list": manifest("b/c", "a")})
    storage.download_manifest("s3://data/list", tmp_path / "all")
    assert downloaded(tmp_path / "all") == {"a": b"1", "b/c": b"2"}
    storage.download_manifest("s3://data/list", tmp_path / "second", shard=(1, 2))
    assert downloaded(tmp_path / "second") == {"b/c": b"2"}


def test_a_manifests_missing_object_is_named(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    s3.data.update({"raw/a": b"1", "list": manifest("a", "gone")})
    with pytest.raises(RunFailed) as failed:
        storage.download_manifest("s3://data/list", tmp_path)
    why = "Unable to download object s3://data/raw/gone (NoSuchKey: The specified key does not exist.)"
    assert str(failed.value) == f"ClientError: Data download failed:{why}"


def test_a_manifest_that_is_missing_is_named(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"Unable to download object s3://data/list \(NoSuchKey"):
        storage.download_manifest("s3://data/list", tmp_path)


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b"{}", b'["a"]', b"[{}]", manifest(3), manifest({"a": 1}), manifest("a", prefix=3)]
)
def test_what_is_no_manifest_is_said(s3: FakeS3, storage: Storage, tmp_path: Path, body: bytes) -> None:
    s3.data["list"] = body
    with pytest.raises(RunFailed, match="s3://data/list is no manifest"):
        storage.download_manifest("s3://data/list", tmp_path)


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/passwd"])
def test_a_name_can_not_lead_out_of_its_folder(s3: FakeS3, storage: Storage, tmp_path: Path, name: str) -> None:
    s3.data.update({f"raw/{name}": b"", "list": manifest(name)})
    with pytest.raises(RunFailed, match="outside of its folder"):
        storage.download_manifest("s3://data/list", tmp_path / "in")
    assert not (tmp_path / "outside").exists()


def test_a_folder_of_checkpoints_may_be_empty_and_is_only_itself(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    s3.data["ckpt-other/a"] = b""
    storage.download_folder("s3://data/ckpt", tmp_path)
    assert downloaded(tmp_path) == {}
    s3.data["ckpt/b"] = b""
    storage.download_folder("s3://data/ckpt", tmp_path)
    assert sorted(downloaded(tmp_path)) == ["b"]


def test_a_folder_goes_up_with_the_files_that_its_links_lead_to(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_text("1")
    (tmp_path / "link").symlink_to("a/b")
    assert storage.upload_folder(tmp_path, "s3://data/out/") == 2
    assert s3.data == {"out/a/b": b"1", "out/link": b"1"}
    assert list(files_below(tmp_path, follow=False)) == ["a/b"]
    assert storage.upload_folder(tmp_path / "none", "s3://data/out") == 0


def test_several_folders_become_one_archive_and_the_first_one_counts(
    s3: FakeS3, storage: Storage, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "same").write_text(name)
        (tmp_path / name / "deep" / name).write_text(name)
    assert storage.upload_archive([tmp_path / "one", tmp_path / "two", tmp_path / "none"], "s3://data/x.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(s3.data["x.tar.gz"])) as tar:
        assert tar.getnames() == ["deep", "deep/one", "deep/two", "same"]
        assert tar.extractfile("same").read() == b"one"  # type: ignore[union-attr]


def test_nothing_makes_no_archive(s3: FakeS3, storage: Storage, tmp_path: Path) -> None:
    assert not storage.upload_archive([tmp_path], "s3://data/x.tar.gz")
    assert s3.data == {}


def test_an_upload_or_a_deletion_that_is_refused_fails_the_job(storage: Storage) -> None:
    why = "Unable to upload object s3://absent/x (NoSuchBucket: The specified bucket does not exist)"
    for refused in (lambda: storage.put("s3://absent/x", b""), lambda: storage.delete("s3://absent/x")):
        with pytest.raises(RunFailed) as failed:
            refused()
        assert str(failed.value) == f"ClientError: Artifact upload failed:{why}"
