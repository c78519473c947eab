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
