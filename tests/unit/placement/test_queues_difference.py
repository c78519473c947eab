"""The difference between the queues that are wanted and those that are there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_sm_prefer.model.queues import (
    FairShare,
    Fleet,
    JobQueue,
    QuotaShare,
    SchedulingPolicy,
    ServiceEnvironment,
    called,
)
from airflow_sm_prefer.placement.plans import PlanStatus
from airflow_sm_prefer.placement.queues_difference import MADE_BY, MAKER, STACK, difference

PLAN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5-autumn"
P5 = ServiceEnvironment("p5", {"NUM_INSTANCES": 8}, training_plan=PLAN)
G5 = ServiceEnvironment("g5", {"ml.g5.12xlarge": 16})
TEAMS = SchedulingPolicy("teams", FairShare({"search": 1.0, "ads": 2.5}))
QUOTAS = SchedulingPolicy("g5-quota-shares", None)
P5_QUEUE = JobQueue("p5", "p5", 10, "teams")
G5_QUEUE = JobQueue("g5", "g5", 1, "g5-quota-shares")
SEARCH = QuotaShare("g5", "search", {"ml.g5.12xlarge": 10})
ADS = QuotaShare("g5", "ads", {"ml.g5.12xlarge": 6})
FLEET = Fleet((P5, G5), (TEAMS, QUOTAS), (P5_QUEUE, G5_QUEUE), (SEARCH, ADS))
OURS = {MADE_BY: MAKER}


def plan(total=8, types=("ml.p5.48xlarge",)):
    return {PLAN: PlanStatus(PLAN, "Active", frozenset(types), 0, 0, total, None, None)}


def with_piece(fleet, piece):
    """A fleet in which a piece stands for the one of its name."""
    pieces = [piece if (type(p), called(p)) == (type(piece), called(piece)) else p for p in fleet.pieces()]
    kinds = (ServiceEnvironment, SchedulingPolicy, JobQueue, QuotaShare)
    return Fleet(*(tuple(p for p in pieces if isinstance(p, kind)) for kind in kinds))


def fields(found):
    return [(called(c.wanted), f.label, f.before, f.after) for c in found.changes for f in c.fields]


def test_where_nothing_is_everything_is_made_in_the_order_in_which_it_is_referred_to():
    found = difference(FLEET, Fleet(), plan())
    assert [c.wanted for c in found.changes] == [P5, G5, TEAMS, QUOTAS, P5_QUEUE, G5_QUEUE, SEARCH, ADS]
    assert all(c.creates and c.tags == OURS for c in found.changes)
    assert (found.obstacles, found.warnings) == ((), ())


def test_what_is_made_is_told_in_words():
    made = fields(difference(FLEET, Fleet(), plan()))
    assert ("service environment p5", "instances", "", "8 of any type") in made
    assert ("service environment g5", "instances", "", "ml.g5.12xlarge: 16") in made
    assert ("scheduling policy teams", "weights", "", "ads: 2.5, search: 1") in made
    assert ("scheduling policy teams", "decay", "", "10 min") in made
    assert ("job queue p5", "policy", "", "teams") in made
    assert ("quota share search of g5", "in-share preemption", "", "no") in made


def test_where_all_is_as_it_should_be_nothing_is_to_be_done():
    assert difference(FLEET, FLEET, plan()).changes == ()


CHANGES = {
    "instances": (replace(P5, instances={"NUM_INSTANCES": 6}), "instances", "6 of any type", "8 of any type"),
    "enabled": (replace(P5_QUEUE, enabled=False), "enabled", "no", "yes"),
    "priority": (replace(P5_QUEUE, priority=3), "priority", "3", "10"),
    "environment": (replace(P5_QUEUE, environment="p4"), "environment", "p4", "p5"),
    "a limit": (replace(P5_QUEUE, time_limits={"X": 600}), "time limit X", "10 min", "none"),
    "weights": (replace(TEAMS, fair_share=FairShare({})), "weights", "none", "ads: 2.5, search: 1"),
    "borrowing": (replace(ADS, borrow_limit=50), "borrow limit, percent", "50", "none"),
    "sharing": (replace(ADS, sharing="RESERVE"), "sharing", "RESERVE", "LEND_AND_BORROW"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_piece_that_differs_is_changed_and_nothing_else(case):
    there, label, before, after = CHANGES[case]
    found = difference(FLEET, with_piece(FLEET, there), plan())
    assert fields(found) == [(called(there), label, before, after)]
    assert found.changes[0].tags == {}
    assert found.obstacles == ()


def test_a_weight_that_aws_keeps_in_four_bytes_is_the_same():
    there = replace(TEAMS, fair_share=FairShare({"search": 1.0, "ads": 2.5000000953}))
    assert difference(FLEET, with_piece(FLEET, there), plan()).changes == ()


def test_tags_are_set_and_those_that_are_there_besides_are_left():
    wanted = with_piece(FLEET, replace(P5, tags={"team": "search", "cost": "1"}))
    there = with_piece(FLEET, replace(P5, tags={"team": "ads", "cost": "1", "by": "hand"}))
    (change,) = difference(wanted, there, plan()).changes
    assert (change.fields, change.tags) == ((), {"team": "search"})


OBSTACLES = {
    "a queue never gets a policy": (P5_QUEUE, replace(P5_QUEUE, policy=None), "can never get a policy"),
    "a policy is never removed": (replace(P5_QUEUE, policy=None), P5_QUEUE, "can be replaced and never removed"),
    "fair share stays": (
        replace(P5_QUEUE, policy="g5-quota-shares"),
        P5_QUEUE,
        "has a policy for fair share, for good",
    ),
    "quota shares stay": (replace(G5_QUEUE, policy="teams"), G5_QUEUE, "has a policy for quota shares, for good"),
    "a policy's kind stays": (replace(TEAMS, fair_share=None), TEAMS, "is for fair share, and stays so"),
    "limits stay by type": (replace(G5, instances={"NUM_INSTANCES": 16}), G5, "has limits by instance type"),
    "limits stay of any type": (P5, replace(P5, instances={"ml.p5.48xlarge": 8}), "has limits by instance type"),
    "another kind of queue": (P5_QUEUE, replace(P5_QUEUE, environment=""), "isn't one for SageMaker training"),
    "a stack's": (P5, replace(P5, instances={"NUM_INSTANCES": 1}, tags={STACK: "fleet"}), "CloudFormation stack fleet"),
}


@pytest.mark.parametrize("case", OBSTACLES)
def test_what_can_not_be_changed_is_an_obstacle_with_a_remedy(case):
    wanted, there, problem = OBSTACLES[case]
    found = difference(with_piece(FLEET, wanted), with_piece(FLEET, there), plan())
    (text,) = [obstacle for obstacle in found.obstacles if problem in obstacle]
    assert text.startswith(called(wanted))
    assert ": " in text


def test_a_policy_is_replaced_by_another_of_its_kind():
    other = SchedulingPolicy("others", FairShare({}))
    wanted = Fleet((P5,), (TEAMS, other), (replace(P5_QUEUE, policy="others"),))
    found = difference(wanted, FLEET, plan())
    assert fields(found)[-1] == ("job queue p5", "policy", "teams", "others")
    assert found.obstacles == ()


def test_a_stack_s_piece_that_needs_no_change_is_no_obstacle():
    there = with_piece(FLEET, replace(P5, tags={STACK: "fleet"}))
    assert difference(FLEET, there, plan()).obstacles == ()


PLANS = {
    "more than the plan": (plan(6), "has a limit of 8, and training plan p5-autumn 6: jobs would wait for it"),
    "less than the plan": (plan(9), "has a limit of 8, and training plan p5-autumn 9: the rest would lie idle"),
    "not known": ({PLAN: None}, "how many instances training plan p5-autumn has isn't known"),
    "not told": (plan(0), "isn't known"),
    "not asked": ({}, "isn't known"),
}


@pytest.mark.parametrize("case", PLANS)
def test_a_limit_that_is_not_its_plan_s_count_is_a_warning(case):
    plans, problem = PLANS[case]
    (warning,) = difference(FLEET, FLEET, plans).warnings
    assert warning.startswith("service environment p5")
    assert problem in warning


@pytest.mark.parametrize(("count", "warned"), [(16, False), (12, True)])
def test_of_limits_by_type_the_plan_s_own_counts(count, warned):
    g5 = replace(G5, instances={"ml.g5.12xlarge": 16, "ml.g5.48xlarge": 2}, training_plan=PLAN)
    found = difference(Fleet((g5,)), Fleet((g5,)), plan(count, ("ml.g5.12xlarge",)))
    assert bool(found.warnings) is warned


def test_shares_that_own_more_than_there_is_are_a_warning():
    wanted = with_piece(FLEET, replace(ADS, instances={"ml.g5.12xlarge": 7}))
    (warning,) = difference(wanted, FLEET, plan()).warnings
    assert "own 17 ml.g5.12xlarge together, and its environment has 16" in warning


def test_what_was_made_from_a_file_that_names_it_no_more_is_told_and_left():
    fleet = Fleet(tuple(replace(p, tags=OURS) for p in (P5, G5)), (replace(TEAMS, tags=OURS), QUOTAS), (P5_QUEUE,))
    found = difference(Fleet((P5,)), fleet, plan())
    assert found.changes == ()
    assert found.warnings == (
        "service environment g5 was made from a file, and this one doesn't name it: if nothing needs it, disable it, "
        "then delete it.",
        "scheduling policy teams was made from a file, and this one doesn't name it: if nothing needs it, delete it.",
    )
