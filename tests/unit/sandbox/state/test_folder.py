"""The folder of a state: one sandbox at a time, and nothing missing."""

import errno
import os
from pathlib import Path

import pytest

from airflow_sm_prefer.errors import InvalidSetting, StateUnreadable
from airflow_sm_prefer.sandbox.state.folder import FILES, StateFolder
from airflow_sm_prefer.sandbox.state.journal import VERSION, Journal


def begun(path, name="state") -> StateFolder:
    folder = StateFolder(path / name)
    folder.begin({"speed": 2.0})
    return folder


def test_a_new_folder_has_not_begun(tmp_path):
    folder = StateFolder(tmp_path / "deep" / "state")
    assert folder.began is None
    folder.close()
    assert StateFolder(tmp_path / "deep" / "state").began is None


def test_what_is_added_is_there_again(tmp_path):
    folder = begun(tmp_path)
    folder["record"].append({"n": 2})
    folder["journal"].append({"n": 1, "record": 1})
    folder.close()
    again = StateFolder(tmp_path / "state")
    assert again.began == {"speed": 2.0}
    assert again.values == {"journal": [{"n": 1, "record": 1}], "record": [{"n": 2}], "objects": [], "requests": []}
    again.replace("journal", [{"record": 0}])
    again["journal"].append({"record": 1})
    again.close()
    assert StateFolder(tmp_path / "state").values["journal"] == [{"record": 0}, {"record": 1}]


def test_lines_of_the_record_without_their_change_are_left_out_and_written_over(tmp_path):
    folder = begun(tmp_path)
    for number in range(3):
        folder["record"].append(number)
    folder["journal"].append({"record": 1})
    folder.close()
    folder = StateFolder(folder.path)
    assert folder.values["record"] == [0]
    folder["record"].append(7)
    folder["journal"].append({"record": 2})
    folder.close()
    assert StateFolder(folder.path).values["record"] == [0, 7]


def test_a_record_that_is_too_short_is_refused(tmp_path):
    folder = begun(tmp_path)
    folder["record"].append(0)
    folder["journal"].append({"record": 2})
    folder.close()
    with pytest.raises(StateUnreadable, match="record ends after line 2, and the journal tells of 3"):
        StateFolder(folder.path)


def test_closing_twice_does_nothing(tmp_path):
    folder = begun(tmp_path)
    folder.close()
    folder.close()


def test_a_second_sandbox_is_refused_until_the_first_is_gone(tmp_path):
    folder = begun(tmp_path)
    with pytest.raises(InvalidSetting, match=r"another sandbox \(process \d+\) uses the state in .*state"):
        StateFolder(tmp_path / "state")
    folder.close()
    StateFolder(tmp_path / "state").close()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("words")
    with pytest.raises(InvalidSetting, match=r"is no sandbox's state: it has thesis\.txt in it"):
        StateFolder(tmp_path)
    assert [child.name for child in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "state").write_text("words")
    with pytest.raises(InvalidSetting, match="can't hold the sandbox's state: "):
        StateFolder(tmp_path / "state")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named_and_nothing_is_made_in_its_place(tmp_path, name):
    folder = begun(tmp_path)
    folder["record"].append({"n": 1})
    folder["objects"].append({"n": 1})
    folder.close()
    (folder.path / name).unlink()
    for _ in range(2):
        with pytest.raises(StateUnreadable, match=f"{name} is missing, and belongs to the state"):
            StateFolder(folder.path)
    assert not (folder.path / name).exists()


def test_a_state_killed_while_it_was_begun_begins_again(tmp_path):
    folder = begun(tmp_path)
    folder.close()
    for name in reversed(FILES):
        (folder.path / name).unlink()
        folder = StateFolder(folder.path)
        assert folder.began is None
        folder.close()


def test_a_damaged_file_changes_no_other(tmp_path):
    folder = begun(tmp_path)
    folder.close()
    (folder.path / "journal").write_bytes(b"nonsense\n")
    torn = (folder.path / "record").read_bytes() + b"12"
    (folder.path / "record").write_bytes(torn)
    with pytest.raises(StateUnreadable, match="journal, line 1"):
        StateFolder(folder.path)
    assert (folder.path / "record").read_bytes() == torn


def test_a_file_of_another_state_is_found(tmp_path):
    for name in ("one", "two"):
        begun(tmp_path, name).close()
    (tmp_path / "one" / "record").replace(tmp_path / "two" / "record")
    with pytest.raises(StateUnreadable, match=r"record, line 1: the file belongs to another state"):
        StateFolder(tmp_path / "two")


def test_a_header_without_a_state_is_no_state_of_ours(tmp_path):
    folder = begun(tmp_path)
    folder.close()
    Journal.create(folder.path / "record", {"file": "record", "version": VERSION}).close()
    with pytest.raises(StateUnreadable, match="record, line 1"):
        StateFolder(folder.path)


def test_its_subfolders_are_made_when_they_are_needed(tmp_path):
    folder = begun(tmp_path)
    assert folder.subfolder("blobs") == folder.subfolder("blobs") == tmp_path / "state" / "blobs"


def test_a_full_disk_is_told_and_lets_go_of_the_folder(tmp_path, monkeypatch):
    begun(tmp_path).close()
    with monkeypatch.context() as full:
        full.setattr(os, "write", refuse)
        for name in ("state", "new"):
            with pytest.raises(InvalidSetting, match=f"{name} can't hold the sandbox's state: No space left on device"):
                StateFolder(tmp_path / name)
    for name in ("state", "new"):
        StateFolder(tmp_path / name).close()


def test_what_cannot_be_opened_is_told_by_its_name(tmp_path, monkeypatch):
    begun(tmp_path).close()
    with monkeypatch.context() as read_only:
        read_only.setattr(Journal, "opened", refuse)
        with pytest.raises(InvalidSetting, match=r"record can't hold the sandbox's state: No space left"):
            StateFolder(tmp_path / "state")
    folder = StateFolder(tmp_path / "state")
    (folder.path / "blobs").touch()
    with pytest.raises(InvalidSetting, match="blobs can't hold the sandbox's state: File exists"):
        folder.subfolder("blobs")


def test_a_state_that_cannot_begin_is_told_and_can_begin_later(tmp_path, monkeypatch):
    folder = StateFolder(tmp_path / "state")
    with monkeypatch.context() as full:
        full.setattr(Journal, "create", refuse)
        with pytest.raises(InvalidSetting, match="can't hold the sandbox's state: No space left"):
            folder.begin({})
    folder.begin({"speed": 1})
    assert folder.began == {"speed": 1}


def refuse(*arguments, **_):
    path = next((str(one) for one in arguments if isinstance(one, Path)), None)
    raise OSError(errno.ENOSPC, "No space left on device", path)
