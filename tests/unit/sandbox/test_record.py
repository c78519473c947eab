import pytest

from airflow_sm_prefer.sandbox.record import Record

CALL = {"operation": "DescribeTrainingJob", "name": "a", "error": ""}


def test_calls_that_repeat_each_other_are_lines_of_their_own():
    record = Record()
    for at in (1.5, 2.5):
        record.add(at, "call", dict(CALL))
    record.add(3.5, "call", {**CALL, "error": "Dropped"})
    assert record.entries() == [
        {"line": 0, "at": 1.5, "what": "call", **CALL},
        {"line": 1, "at": 2.5, "what": "call", **CALL},
        {"line": 2, "at": 3.5, "what": "call", **CALL, "error": "Dropped"},
    ]
    assert len(record) == 3


def test_lines_keep_their_order_and_are_chosen_by_sort_and_position():
    record = Record()
    record.add(1, "call", CALL)
    record.add(2, "state", {"name": "a", "tags": {}})
    record.add(3, "call", CALL)
    record.add(4, "control", {"sections": ["quotas"]})
    assert [line["at"] for line in record.entries("call")] == [1, 3]
    assert [line["what"] for line in record.entries(since=1)] == ["state", "call", "control"]
    assert record.entries("call", since=3) == []


def test_what_is_read_from_the_record_can_be_changed_without_changing_it():
    record = Record()
    record.add(1, "call", CALL)
    record.entries()[0]["name"] = "another"
    assert record.entries()[0]["name"] == "a"


def test_the_kept_form_says_each_call_once_and_comes_back_as_it_was():
    record, again = Record(), Record()
    record.add(1, "call", dict(CALL))
    record.add(2, "state", {"name": "a", "tags": {}})
    record.add(3, "call", dict(CALL))
    first = record.kept_form(0)
    record.add(4, "call", dict(CALL))
    record.add(5, "call", {**CALL, "error": "Dropped"})
    kept = [*first, *record.kept_form(3)]
    assert [len(line) for line in kept] == [3, 3, 2, 2, 3]
    for line in kept:
        again.add_kept(*line)
    assert again.entries() == record.entries()
    assert again.kept_form(0) == kept


def test_a_kept_line_that_repeats_what_was_not_said_is_refused():
    with pytest.raises(ValueError, match="repeats number 0 of 0"):
        Record().add_kept(1, 0)
