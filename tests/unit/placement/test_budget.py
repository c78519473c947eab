from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.placement import budget
from airflow_sm_prefer.placement.state import Phase

from .builders import NOW, PLAN, SERVICE_JOB, in_queue, new_state, planned_state


@pytest.mark.parametrize(("left", "sent"), [(60.0, 1800), (1800.0, 1800), (7200.5, 7200), (10_000_000.0, 2_419_200)])
def test_the_pending_limit_is_what_is_left_within_what_aws_takes(left: float, sent: int) -> None:
    assert budget.pending_limit(new_state(budget=left), NOW) == sent


def test_what_is_left_shrinks_while_it_waits_and_rests_while_it_runs() -> None:
    state = new_state(budget=600.0).but(wait_began=NOW)
    assert budget.left(state, NOW + 100) == 500.0
    assert budget.left(budget.charged(state, NOW + 100), NOW + 1000) == 500.0


def test_a_clock_that_goes_back_gives_no_time_back() -> None:
    state = new_state(budget=600.0).but(wait_began=NOW)
    assert budget.left(state, NOW - 50) == 600.0


def test_start_by_counts_where_it_leaves_less() -> None:
    state = new_state(budget=600.0, start_by=NOW + 60)
    assert budget.left(state, NOW) == 60.0
    assert budget.deadline(state, NOW) == NOW + 60


def test_the_limit_for_everything_begins_with_the_first_submission() -> None:
    state = new_state(total=100.0)
    assert budget.total_ends(state) is None
    assert budget.total_ends(state.but(first_submit=NOW)) == NOW + 100
    assert not budget.is_too_long(state, NOW + 1000)


def test_a_job_of_an_earlier_try_that_is_being_stopped_falls_due_ahead_and_not_long_ago() -> None:
    assert budget.next_deadline(new_state(), NOW) > NOW


def test_a_task_that_sleeps_for_a_plan_is_not_ended_by_airflow_before_it_wakes() -> None:
    state = new_state(max_runtime=3600.0).but(phase=Phase.SLEEPING, wake_at=NOW + 20 * 86400)
    assert budget.deferral_ends(state, NOW) == NOW + 20 * 86400
    assert budget.deferral_ends(state.but(wake_at=None), NOW) == NOW


def test_a_task_on_a_plan_is_not_ended_by_airflow_before_the_plan_is() -> None:
    state = new_state(budget=600.0, max_runtime=3600.0).but(phase=Phase.WATCHING, submitted=NOW, wait_began=NOW)
    assert budget.deferral_ends(state, NOW) == NOW + 600 + 3600
    assert budget.deferral_ends(state.with_entry(0, ends=NOW + 86400), NOW) == NOW + 86400


def test_a_task_whose_job_is_in_a_queue_is_not_ended_by_airflow_while_the_job_may_live() -> None:
    state = new_state(max_runtime=3600.0).but(phase=Phase.WATCHING, job_name="j", job_arn=SERVICE_JOB.format(1))
    assert budget.deferral_ends(state, NOW) == NOW + budget.LONGEST_LIFE


def test_a_job_in_a_queue_that_lost_its_instances_must_be_back_within_its_patience_plan_or_not() -> None:
    planned = in_queue(plan=PLAN)
    entries = (replace(planned, kind=CapacityKind.TRAINING_PLAN), in_queue(queue="other"))
    state = planned_state(*entries, waves=((0,), (1,)), recover=1, limits={"patience": 600.0})
    state = state.but(job_name="j", job_arn=SERVICE_JOB.format(1), selected=0, capacity_at=NOW, lost_at=NOW + 60)
    assert budget.back_by(state) == NOW + 660
    assert budget.back_by(state.but(job_arn="arn:1")) is None, "SageMaker gives it the plan's next block"
    assert budget.back_by(state.but(recoveries=1)) is None
