import pytest
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from airflow_sm_prefer.hooks.airflow_state import NO_STATUS, NOT_TAKEN_UP, TERMINAL, task_state

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
