"""S3's objects as files."""

import errno

import pytest

from airflow_sm_prefer.errors import InvalidSetting, StateUnreadable
from airflow_sm_prefer.sandbox.state import objects
from airflow_sm_prefer.sandbox.state.folder import StateFolder
from airflow_sm_prefer.sandbox.state.objects import ObjectStore

A, B = ("bucket", "a/ä.txt"), ("bucket", "b")


@pytest.fixture
def folder(tmp_path):
    folder = StateFolder(tmp_path / "state")
    folder.begin({})
    yield folder
    folder.close()


def reopened(folder) -> ObjectStore:
    folder.close()
    folder.__init__(folder.path)
    return ObjectStore(folder)


def blobs(folder):
    return sorted(path.name for path in (folder.path / "blobs").iterdir())


def test_objects_come_back_with_what_is_known_of_them(folder):
    store = ObjectStore(folder)
    store.put(A, b"one", {"etag": "1"})
    store.put(B, b"\x00\xff", {})
    again = reopened(folder)
    assert sorted(again.objects()) == [(A, b"one", {"etag": "1"}), (B, b"\x00\xff", {})]
    assert again.meta(A) == {"etag": "1"}
    assert again.meta(("bucket", "none")) is None
    assert again.places() == [A, B]


def test_the_last_content_of_a_place_wins_and_the_one_before_is_removed(folder):
    store = ObjectStore(folder)
    store.put(A, b"one", {})
    store.put(A, b"two", {"n": 2})
    assert len(blobs(folder)) == 1
    assert list(reopened(folder).objects()) == [(A, b"two", {"n": 2})]


def test_a_content_is_kept_as_long_as_one_place_has_it(folder):
    store = ObjectStore(folder)
    store.put(A, b"same", {})
    store.put(B, b"same", {})
    store.put(A, b"same", {"again": True})
    store.drop(A)
    store.drop(("bucket", "none"))
    again = reopened(folder)
    assert list(again.objects()) == [(B, b"same", {})]
    again.drop(B)
    assert blobs(folder) == []


def test_a_content_without_an_object_goes_at_the_next_start(folder):
    ObjectStore(folder).put(A, b"one", {})
    (folder.path / "blobs" / "unfinished.new").write_bytes(b"on")
    reopened(folder)
    assert len(blobs(folder)) == 1


def test_a_missing_content_is_named_with_its_object(folder):
    ObjectStore(folder).put(A, b"one", {})
    (folder.path / "blobs" / blobs(folder)[0]).unlink()
    with pytest.raises(StateUnreadable, match=r"is missing: it is the content of s3://bucket/a/ä\.txt"):
        reopened(folder)


def test_a_changed_content_is_named_with_its_object(folder):
    ObjectStore(folder).put(A, b"one", {})
    (folder.path / "blobs" / blobs(folder)[0]).write_bytes(b"One")
    with pytest.raises(StateUnreadable, match=r"has changed: it is the content of s3://bucket/a/ä\.txt"):
        list(reopened(folder).objects())


def test_the_index_does_not_grow_without_end(folder, monkeypatch):
    monkeypatch.setattr(objects, "SLACK", 5)
    store = ObjectStore(folder)
    store.put(B, b"b", {})
    for number in range(50):
        store.put(A, b"%d" % number, {"n": number})
    assert (folder.path / "objects").read_bytes().count(b"\n") < 12
    assert sorted(reopened(folder).objects()) == [(A, b"49", {"n": 49}), (B, b"b", {})]


def test_a_content_that_cannot_be_read_is_told(folder):
    store = ObjectStore(folder)
    store.put(A, b"one", {})
    (blob,) = (folder.path / "blobs").iterdir()
    blob.unlink()
    blob.mkdir()
    with pytest.raises(StateUnreadable, match=r"blobs/[0-9a-f]+ can't be read \(Is a directory\): it is"):
        list(reopened(folder).objects())


def test_what_lies_among_the_contents_and_cannot_be_removed_is_told(folder):
    ObjectStore(folder)
    (folder.path / "blobs" / "mine").mkdir()
    with pytest.raises(InvalidSetting, match="blobs/mine can't hold the sandbox's state: Is a directory"):
        reopened(folder)


def test_a_full_disk_leaves_no_half_a_content(folder, monkeypatch):
    store = ObjectStore(folder)
    with monkeypatch.context() as full:
        full.setattr("pathlib.Path.replace", no_room)
        with pytest.raises(OSError, match="No space left"):
            store.put(A, b"one", {})
    assert blobs(folder) == []


def no_room(*_):
    raise OSError(errno.ENOSPC, "No space left on device")
