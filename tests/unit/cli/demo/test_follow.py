from __future__ import annotations

from typing import Any

from airflow_sm_prefer.cli.demo.follow import Follower, last_words, our_lines


class FakeApi:
    def __init__(self) -> None:
        self.state = "running"
        self.states: dict[str, str | None] = {}
        self.lines: list[str] = []

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        return {"state": self.state}

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        return [
            {"task_id": task, "state": state, "try_number": 1, "start_date": state and "2026-01-01"}
            for task, state in self.states.items()
        ]

    def log(self, dag_id: str, run_id: str, task_id: str, try_number: int) -> list[dict[str, Any]]:
        return [{"logger": "airflow_sm_prefer.triggers", "event": line} for line in self.lines]


def follower(api: FakeApi) -> tuple[Follower, list[str]]:
    said: list[str] = []
    return Follower(api, "nightly", "run", lambda text, style: said.append(text)), said  # type: ignore[arg-type]


def test_each_change_is_told_once() -> None:
    api = FakeApi()
    looks, said = follower(api)
    for state in (None, "queued", "running", "running", "deferred", "deferred", "success"):
        api.states = {"train": state}
        looks.look()
    assert said == [
        "train: runs on a worker",
        "train: sleeps in the triggerer, its worker slot is free",
        "train: success",
    ]


def test_new_log_lines_are_told_before_the_state_they_led_to() -> None:
    api = FakeApi()
    looks, said = follower(api)
    api.states, api.lines = {"train": "running"}, ["waits for capacity"]
    looks.look()
    api.states, api.lines = {"train": "success"}, ["waits for capacity", "got ml.g5.xlarge"]
    looks.look()
    looks.look()
    assert said == [
        "train: waits for capacity",
        "train: runs on a worker",
        "train: got ml.g5.xlarge",
        "train: success",
    ]


def test_the_runs_state_is_returned() -> None:
    api = FakeApi()
    looks, _ = follower(api)
    assert looks.look() == "running"
    api.state = "failed"
    assert looks.look() == "failed"


def test_only_our_own_single_lines_are_told() -> None:
    entries = [
        {"logger": "airflow.task.operators.airflow_sm_prefer.operators.sagemaker.X", "event": "ours"},
        {"logger": "airflow_sm_prefer.operators", "event": "a request:\n{}"},
        {"logger": "airflow.models", "event": "not ours"},
        {"logger": "task.stdout", "event": "printed"},
        {"event": "nobody's"},
    ]
    assert list(our_lines(entries)) == ["ours", "printed"]


def test_the_last_words_of_a_task_tell_its_error() -> None:
    entries = [
        {"event": "one\ntwo"},
        {"event": "Task failed", "error_detail": [{"exc_type": "AirflowFailException", "exc_value": "too few digits"}]},
    ]
    assert last_words(entries, 3) == ["two", "Task failed", "AirflowFailException: too few digits"]
