"""Fair share."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.scheduling.fair_share import FairShare, FairsharePolicy
from airflow_sm_prefer.scheduling.usage import Span, Usage
from tests.unit.scheduling.builders import blocked, counted, job, names, placed

NOW = 1000


def fair(*, used=None, reservation=0, decay=0, **weights):
    """A policy, with what shares have used: so many instances each for the last second."""
    policy = FairsharePolicy(share_decay_seconds=decay, compute_reservation=reservation, weights=weights)
    spans = tuple(Span(share, instances, NOW - 1, NOW) for share, instances in (used or {}).items())
    return FairShare(policy, Usage(as_of=NOW, spans=spans))


def many(share, count, *, at=0):
    return [job(f"{share}{n}", share=share, at=at + n) for n in range(1, count + 1)]


CASES = {
    "nothing waits": (fair(), counted(4), []),
    "the share that has used least is next, whenever its job came": (
        fair(used={"A": 100, "B": 50}),
        counted(1, [job("a", share="A", at=1), job("b", share="B", at=2)]),
        ["b"],
    ),
    "usage counts times the weight, so that a low factor gets more": (
        fair(used={"A": 100, "B": 50}, A=0.25),
        counted(1, [job("a", share="A", at=2), job("b", share="B", at=1)]),
        ["a"],
    ),
    "of shares that stand alike, the job that came first": (
        fair(),
        counted(1, [job("b", share="B", at=1), job("a", share="A", at=2)]),
        ["b"],
    ),
    "what a share holds now counts": (
        fair(),
        counted(3, [job("a", share="A", at=1), job("b", share="B", at=2)], [placed("r", 2, share="A")]),
        ["b"],
    ),
    "what is placed counts at once, so that no share takes all that is free": (
        fair(),
        counted(4, [*many("A", 4), *many("B", 4, at=100)]),
        ["A1", "B1", "A2", "B2"],
    ),
    "AWS: a factor of 1/8 gets eight times as much as a factor of 1": (
        fair(B=0.125),
        counted(9, [*many("A", 20), *many("B", 20)]),
        ["A1", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8"],
    ),
    "AWS: two jobs of 32 for each of 64": (
        # The README of AWS's CDK module aws-batch, on fair-share scheduling.
        fair(),
        counted(
            384,
            [
                *(job(f"A{n}", 32, share="A", at=n) for n in range(1, 10)),
                *(job(f"B{n}", 64, share="B", at=n) for n in range(1, 10)),
            ],
        ),
        ["A1", "B1", "A2", "B2", "A3", "A4", "B3", "A5", "A6"],
    ),
    "AWS: who hasn't used anything lately gets more than its weight for a time": (
        # create-scheduling-policy, on share decay seconds.
        fair(decay=3600, used={"A": 3600}),
        counted(3, [*many("A", 3), *many("B", 3, at=10)]),
        ["B1", "B2", "A1"],
    ),
    "higher priority goes first within a share": (
        fair(),
        counted(1, [job("low", share="A", at=1), job("high", share="A", at=2, priority=1)]),
        ["high"],
    ),
    "no priority is priority 0": (
        fair(),
        counted(1, [job("zero", share="A", at=2, priority=0), job("none", share="A", at=1)]),
        ["none"],
    ),
    "priority means nothing between shares": (
        fair(used={"A": 1}),
        counted(1, [job("a", share="A", priority=9999), job("b", share="B")]),
        ["b"],
    ),
    "Amazon Search: a single share is a queue of priorities": (
        fair(),
        counted(
            2,
            [
                job("sweep", share="s", at=1, priority=10),
                job("research", share="s", at=2, priority=50),
                job("production", share="s", at=3, priority=90),
            ],
        ),
        ["production", "research"],
    ),
    "a head that doesn't fit blocks smaller jobs of other shares": (
        fair(used={"B": 1}),
        counted(4, [job("big", 4, share="A"), job("small", share="B")], [placed("r", share="B")]),
        [],
    ),
    "nobody is preempted for it": (
        fair(),
        counted(4, [job("high", share="A", priority=9999)], [placed("low", 4, share="A", priority=0)]),
        [],
    ),
}


@pytest.mark.parametrize(("policy", "snapshot", "expected"), CASES.values(), ids=CASES)
def test_what_is_placed(policy, snapshot, expected):
    decision = policy.decide(snapshot)

    assert names(decision.place) == expected
    assert decision.preempt == ()
    assert blocked(decision) == []


def test_a_job_larger_than_the_environment_blocks_the_queue_as_its_head():
    # AWS: sm_job_stuck_in_runnable_misconfiguration, the row on fair share.
    snapshot = counted(10, [job("eleven", 11, share="A", at=1), job("after", share="A", at=2)])

    decision = fair().decide(snapshot)

    assert decision.place == ()
    assert blocked(decision) == [("eleven", "ENVIRONMENT_TOO_SMALL")]


def test_the_order_goes_on_as_if_everything_fitted():
    snapshot = counted(1, [*many("A", 3), *many("B", 2, at=10)], [placed("r", share="B")])

    assert names(fair().order(snapshot)) == ["A1", "A2", "B1", "A3", "B2"]


RESERVATIONS = {
    # AWS: API_FairsharePolicy on computeReservation: 50 % for one active share, 25 % for two, 12.5 % for three.
    "AWS: 50 percent, one active share": (50, ["A"], 8, 4),
    "AWS: 50 percent, two active shares": (50, ["A", "B"], 8, 6),
    "AWS: 50 percent, three active shares": (50, ["A", "B", "C"], 8, 7),
    # And 25 %, 6.25 %, 1.56 %.
    "AWS: 25 percent, one active share": (25, ["A"], 64, 48),
    "AWS: 25 percent, two active shares": (25, ["A", "B"], 64, 60),
    "AWS: 25 percent, three active shares": (25, ["A", "B", "C"], 64, 63),
    # The README of AWS's CDK module aws-batch: 75 %, 56.25 % and 42.1875 %.
    "AWS: 75 percent, a job of A": (75, ["A"], 64, 16),
    "AWS: 75 percent, jobs of A and B": (75, ["A", "B"], 64, 28),
    "AWS: 75 percent, a second job of A": (75, ["A", "B", "A"], 64, 28),
    "AWS: 75 percent, jobs of A, B and C": (75, ["A", "B", "C"], 64, 37),
    "no reservation": (0, ["A"], 8, 8),
    "a part of an instance isn't kept free": (50, ["A"], 1, 1),
    "percents of a hundred are exact": (29, ["A"], 100, 71),
}


@pytest.mark.parametrize(("percent", "shares", "limit", "room"), RESERVATIONS.values(), ids=RESERVATIONS)
def test_the_reservation_leaves_room_for_shares_that_are_not_active(percent, shares, limit, room):
    waiting = [one for n, share in enumerate(shares) for one in many(share, 100, at=1000 * n)]

    assert len(fair(reservation=percent).decide(counted(limit, waiting)).place) == room


def test_a_job_larger_than_the_reservation_leaves_waits_and_is_no_mistake():
    decision = fair(reservation=50).decide(counted(8, [job("five", 5, share="A")]))

    assert decision.place == ()
    assert decision.blocked == ()


ACTIVE = {
    "waiting": (fair(), counted(4, [job("a", share="A")]), {"A"}),
    "running": (fair(), counted(4, [], [placed("a", share="A")]), {"A"}),
    "used recently": (fair(used={"A": 1}), counted(4), {"A"}),
    "none of it": (fair(A=0.5), counted(4), set()),
}


@pytest.mark.parametrize(("policy", "snapshot", "expected"), ACTIVE.values(), ids=ACTIVE)
def test_which_shares_are_active(policy, snapshot, expected):
    assert policy.active_shares(snapshot) == expected


WEIGHTS = {
    # AWS: API_ShareAttributes.
    "named": ("UserA1", 0.5),
    "by its prefix": ("TeamB7", 2.0),
    "the prefix itself": ("TeamB", 2.0),
    "neither: the default": ("UserA10", 1.0),
}


@pytest.mark.parametrize(("share", "weight"), WEIGHTS.values(), ids=WEIGHTS)
def test_the_weight_of_a_share(share, weight):
    assert FairsharePolicy(weights={"UserA1": 0.5, "TeamB*": 2.0}).weight(share) == weight


def test_each_share_that_a_prefix_stands_for_has_the_weight_to_itself():
    waiting = [*many("Team1", 9), *many("Team2", 9, at=20), *many("Other", 9, at=40)]

    placed_now = names(fair(**{"Team*": 0.5}).decide(counted(5, waiting)).place)

    assert sorted(placed_now) == ["Other1", "Team11", "Team12", "Team21", "Team22"]
