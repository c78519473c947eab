"""What the REST API is asked, and what of its answers is believed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from werkzeug import Response

from airflow_sm_prefer.errors import InvalidSetting, TaskStatesUnavailable
from airflow_sm_prefer.hooks.airflow_rest import Login, RestTaskStates
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.task_states import NO_STATUS

from .fake_airflow import FakeAirflow, serving

LIST = ("POST", "/api/v2/dags/~/dagRuns/~/taskInstances/list")


def task(dag: str = "dag", run: str = "run", name: str = "train", index: int = -1) -> TaskIdentity:
    return TaskIdentity("prod", dag, run, name, index)


@pytest.fixture
def airflow() -> Iterator[FakeAirflow]:
    fake = FakeAirflow()
    with serving(fake):
        yield fake


def states(airflow: FakeAirflow, login: Login | None = None, path: str = "") -> RestTaskStates:
    return RestTaskStates(airflow.url + path, login or Login("opens-it"))


def test_states_are_told_apart_by_all_that_names_a_task_instance(airflow: FakeAirflow) -> None:
    airflow.states |= {
        ("dag", "run", "train", -1): "deferred",
        ("dag", "run", "train_3", -1): "running",
        ("dag", "run", "mapped", 3): "failed",
        ("dag", "a/run with=all&sorts~", "train", -1): None,
        ("other", "run", "train", -1): "success",
    }
    wanted = {
        task(): "deferred",
        task(name="train_3"): "running",
        task(name="mapped", index=3): "failed",
        task(name="mapped", index=4): None,
        task(name="train", index=3): None,
        task(run="a/run with=all&sorts~"): NO_STATUS,
        task(dag="other"): "success",
        task(dag="gone"): None,
    }
    assert states(airflow).read(list(wanted)) == wanted


def test_many_runs_and_indexes_are_asked_for_together_and_page_by_page(airflow: FakeAirflow) -> None:
    airflow.page_limit = 7
    runs = [task(run=f"run-{n}") for n in range(120)]
    mapped = [task(name="mapped", run="run-0", index=n) for n in range(30)]
    airflow.states |= {(one.dag_id, one.run_id, one.task_id, one.map_index): "running" for one in [*runs, *mapped]}
    found = states(airflow).read([*runs, *mapped])
    assert set(found.values()) == {"running"}
    assert len(found) == 150
    assert len(airflow.asked) < 30


def test_what_isnt_there_is_asked_for_once_more(airflow: FakeAirflow) -> None:
    """A row can slip from one page to another between two questions."""
    airflow.states[("dag", "run", "other", -1)] = "running"
    questions = iter(range(2))

    def comes_late() -> None:
        if next(questions) == 1:
            airflow.states["dag", "run", "train", -1] = "running"

    airflow.before = comes_late
    assert states(airflow).read([task()]) == {task(): "running"}
    assert airflow.asked.count(LIST) == 2


def test_nothing_is_asked_about_nothing(airflow: FakeAirflow) -> None:
    assert states(airflow).read([]) == {}
    assert airflow.asked == []


def test_a_dag_that_the_user_may_not_read_is_an_error_and_not_missing(airflow: FakeAirflow) -> None:
    airflow.states["dag", "run", "train", -1] = "running"
    airflow.unreadable.add("dag")
    with pytest.raises(TaskStatesUnavailable, match=r"may not read the DAG dag of .*HTTP 403"):
        states(airflow).read([task()])


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "lets this user not in"),
        (403, "lets this user not in"),
        (404, "HTTP 404"),
        (422, "HTTP 422"),
        (302, "redirects to https://login.example.com/"),
        (500, "HTTP 500"),
        (503, "HTTP 503"),
    ],
)
def test_a_refusal_is_an_error_and_not_missing(airflow: FakeAirflow, status: int, words: str) -> None:
    airflow.refuses = status
    with pytest.raises(TaskStatesUnavailable, match=words):
        states(airflow).read([task()])


@pytest.mark.parametrize(
    "answer",
    ["<html>hello</html>", "[]", "{}", '{"task_instances": [{}], "total_entries": 1}', '{"task_instances": 3}', ""],
)
def test_an_answer_that_isnt_airflows_is_an_error_and_not_missing(
    airflow: FakeAirflow, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(airflow, "answer", lambda _: Response(answer))
    with pytest.raises(TaskStatesUnavailable, match="isn't the API of an Airflow 3"):
        states(airflow).read([task()])
    with pytest.raises(TaskStatesUnavailable, match="isn't the API of an Airflow 3"):
        states(airflow, Login(user="u", password="p")).read([task()])


def test_what_doesnt_speak_http_is_an_error_and_not_missing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        with pytest.raises(TaskStatesUnavailable, match="doesn't answer"):
            RestTaskStates(f"http://127.0.0.1:{server.getsockname()[1]}", Login("token")).read([task()])
        thread.join()


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidSetting, match="has a user in it") as told:
        RestTaskStates("https://ops:hunter2@airflow.example.com", Login())
    assert "hunter2" not in str(told.value)


def test_nobody_there_is_an_error_and_not_missing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TaskStatesUnavailable, match=f"doesn't answer at {address}"):
            RestTaskStates(address, Login("token")).read([task()])


def test_a_user_logs_in_once_and_nothing_shows_the_password(airflow: FakeAirflow) -> None:
    airflow.users = {"ops": "hunter2"}
    login = Login(user="ops", password="hunter2")
    asking = states(airflow, login, path="/")
    asking.read([task()])
    asking.read([task()])
    assert airflow.asked.count(("POST", "/auth/token")) == 1
    assert "hunter2" not in repr(login)


@pytest.mark.parametrize("login", [Login(user="ops", password="wrong"), Login(), Login(token="stale")])
def test_who_isnt_let_in_learns_nothing(airflow: FakeAirflow, login: Login) -> None:
    airflow.users = {"ops": "hunter2"}
    with pytest.raises(TaskStatesUnavailable, match="HTTP 401") as told:
        states(airflow, login).read([task()])
    assert "hunter2" not in str(told.value)


def test_an_airflow_that_lets_everybody_in_needs_no_login(airflow: FakeAirflow) -> None:
    airflow.states["dag", "run", "train", -1] = "failed"
    assert states(airflow, Login()).read([task()]) == {task(): "failed"}


@pytest.mark.parametrize(
    "address", ["", "airflow.example.com", "file:///etc/passwd", "http://", "http://[", "localhost:8080"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidSetting, match="is no address of an Airflow"):
        RestTaskStates(address, Login())


@pytest.mark.parametrize("name", [None, "research-prod"])
def test_an_airflow_says_its_name_where_it_shows_its_settings(airflow: FakeAirflow, name: str | None) -> None:
    airflow.settings = name
    assert states(airflow).deployment() == name
