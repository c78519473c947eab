import pytest
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from airflow_sm_prefer.errors import TaskStatesUnavailable
from airflow_sm_prefer.hooks.airflow_state import (
    NO_STATUS,
    NOT_TAKEN_UP,
    TERMINAL,
    SdkTaskStates,
    task_state,
)
from airflow_sm_prefer.placement.naming import TaskIdentity

from .fake_airflow import FakeAirflow

RUN = "scheduled__2026-11-30T00:00:00+00:00"


@pytest.fixture
def airflow_says(monkeypatch):
    """Answer for Airflow, and keep what it was asked."""
    asked = []

    def answer(states):
        def get_task_states(**question):
            asked.append(question)
            return states

        monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", staticmethod(get_task_states))
        return asked

    return answer


def test_a_task_instance_is_asked_for_by_all_that_names_it(airflow_says):
    asked = airflow_says({RUN: {"train": "deferred"}})
    assert task_state("dag", RUN, "train") == "deferred"
    assert asked == [{"dag_id": "dag", "run_ids": [RUN], "task_ids": ["train"], "map_index": -1}]


def test_a_mapped_one_is_found_under_its_index(airflow_says):
    airflow_says({RUN: {"train_3": "failed"}})
    assert task_state("dag", RUN, "train", 3) == "failed"
    assert task_state("dag", RUN, "train", 4) is None


@pytest.mark.parametrize("states", [{}, {RUN: {}}, {"another": {"train": "failed"}}])
def test_one_that_is_gone_has_no_state_at_all(airflow_says, states):
    airflow_says(states)
    assert task_state("dag", RUN, "train") is None


def test_one_that_was_cleared_is_there_without_a_state(airflow_says):
    airflow_says({RUN: {"train": None}})
    assert task_state("dag", RUN, "train") == NO_STATUS
    assert NO_STATUS in NOT_TAKEN_UP


def test_the_states_are_airflows_own():
    from airflow.sdk.api.datamodels._generated import TaskInstanceState, TerminalTIState

    ours = TERMINAL | NOT_TAKEN_UP - {NO_STATUS}
    assert ours <= {state.value for state in TaskInstanceState}
    assert {state.value for state in TerminalTIState} <= TERMINAL


def identity(run=RUN, name="train", index=-1, dag="dag"):
    return TaskIdentity("prod", dag, run, name, index)


def test_many_are_asked_for_a_task_at_a_time(monkeypatch):
    airflow = FakeAirflow()
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", airflow.get_task_states)
    runs = [identity(run=f"run-{n}") for n in range(60)]
    airflow.states |= {(one.dag_id, one.run_id, one.task_id, -1): "running" for one in runs}
    airflow.states |= {("dag", RUN, "train", 3): "failed", ("dag", RUN, "train_3", -1): None}
    more = {
        identity(index=3): "failed",
        identity(index=4): None,
        identity(name="train_3"): NO_STATUS,
        identity(dag="gone"): None,
    }
    assert SdkTaskStates().read([*runs, *more]) == {**dict.fromkeys(runs, "running"), **more}
    assert len(airflow.asked) == 4  # two for the runs of one task, and one for each of two others


def test_an_airflow_that_doesnt_answer_is_an_error_and_says_nothing_of_any_task(monkeypatch):
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", FakeAirflow(refuses=500).get_task_states)
    with pytest.raises(TaskStatesUnavailable, match="tasks of dag are in: RuntimeError: Server returned error 500"):
        SdkTaskStates().read([identity()])
