import json
from types import SimpleNamespace

import pytest

from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.hooks.state_store import STATE_KEY, load, save
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.state import Entry, Limits, State

STATE = State(
    kind=JobKind.TRAINING,
    entries=(Entry("ml.p5.48xlarge", 1),),
    waves=((0,),),
    limits=Limits(budget=3600.0, patience=1800.0),
    submission=3,
    job_name="job-3",
)


class Store:
    """Airflow's store for one task instance: it takes JSON, as Airflow's does."""

    def __init__(self):
        self.kept = {}
        self.reads = 0

    def get(self, key, default=None):
        self.reads += 1
        return json.loads(self.kept[key]) if key in self.kept else default

    def set(self, key, value):
        self.kept[key] = json.dumps(value, allow_nan=False)


@pytest.fixture
def context():
    return {"task_state_store": Store(), "ti": SimpleNamespace(max_tries=2)}


def test_what_was_saved_is_loaded(context):
    save(context, STATE)
    assert load(context).state == STATE


def test_the_last_save_counts(context):
    save(context, STATE)
    save(context, STATE.but(submission=4))
    assert load(context).state.submission == 4


def test_airflow_is_asked_once_for_all_of_it(context):
    save(context, STATE.but(first_submit=1234.5))
    assert load(context) == (STATE.but(first_submit=1234.5), 1234.5)
    assert context["task_state_store"].reads == 1


def test_before_the_first_save_there_is_nothing(context):
    assert load(context).state is None


@pytest.mark.parametrize("context", [{}, {"task_state_store": None}])
def test_an_airflow_without_a_store_forgets_and_does_not_fail(context):
    save(context, STATE)
    assert load(context).state is None


@pytest.mark.parametrize("damaged", ["text", 3, [], {}, {"version": 1}, {"version": 999}])
def test_a_damaged_state_is_said_to_be_one(context, damaged):
    context["task_state_store"].set(STATE_KEY, damaged)
    with pytest.raises(StateUnreadable):
        load(context)


def test_a_store_that_does_not_answer_fails_the_save():
    class Down(Store):
        def set(self, key, value):
            raise ConnectionError

    with pytest.raises(ConnectionError):
        save({"task_state_store": Down(), "ti": SimpleNamespace(max_tries=2)}, STATE)


def test_a_retry_hears_when_the_first_submission_was(context):
    save(context, STATE.but(first_submit=1234.5))
    assert load(context).first_submit == 1234.5


def test_after_a_clear_nothing_was_submitted_yet(context):
    save(context, STATE.but(first_submit=1234.5))
    context["ti"].max_tries = 5
    assert load(context).first_submit is None


def test_without_a_store_or_a_submission_there_is_no_first_one(context):
    assert load({"ti": SimpleNamespace(max_tries=2)}).first_submit is None
    assert load(context).first_submit is None
    save(context, STATE)
    assert load(context).first_submit is None
