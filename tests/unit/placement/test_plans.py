from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.placement.plans import PlanStatus, Use, standing

from .builders import HOUR, NOW, a_plan

P5 = "ml.p5.48xlarge"
TWO_BLOCKS = ((NOW - HOUR, NOW + HOUR), (NOW + 10 * HOUR, NOW + 20 * HOUR))


@pytest.mark.parametrize(
    ("plan", "use", "says", "begins"),
    [
        (a_plan(available=2), Use.READY, "free", None),
        (a_plan(available=1), Use.TAKEN, "1 of the 2 instances free", None),
        (a_plan("Expired"), Use.NEVER, "is Expired", None),
        (a_plan("Failed"), Use.NEVER, "is Failed", None),
        (a_plan("Pending"), Use.CLOSED, "is Pending", None),
        (a_plan(targets=frozenset({"hyperpod-cluster"})), Use.NEVER, "is for hyperpod-cluster", None),
        (a_plan(targets=frozenset({"training-job", "endpoint"})), Use.READY, "free", None),
        (a_plan(instance_types=frozenset({"ml.p4d.24xlarge"})), Use.NEVER, "is for ml.p4d.24xlarge", None),
        (a_plan(instance_types=frozenset()), Use.READY, "free", None),
        (a_plan(total=1), Use.NEVER, "was bought with 1 instances, and 2 are needed", None),
        (a_plan(total=0), Use.READY, "free", None),
        (a_plan("Scheduled", start=NOW + HOUR, blocks=()), Use.LATER, "hasn't begun", NOW + HOUR),
        (a_plan("Scheduled", start=None, blocks=()), Use.LATER, "two blocks", None),
        (
            a_plan("Scheduled", blocks=((NOW - 2 * HOUR, NOW - HOUR), (NOW + HOUR, NOW + 2 * HOUR))),
            Use.LATER,
            "between two blocks",
            NOW + HOUR,
        ),
        # In the last half hour of a block AWS ends jobs, though the plan is Active.
        (a_plan(blocks=((NOW - HOUR, NOW + 1800),)), Use.CLOSED, "last half hour", None),
        (a_plan(blocks=((NOW - HOUR, NOW + 1801),)), Use.READY, "free", None),
        (a_plan(blocks=((NOW - HOUR, NOW + 60), TWO_BLOCKS[1])), Use.LATER, "last half hour", NOW + 10 * HOUR),
        (a_plan(blocks=(), end=NOW + 60), Use.CLOSED, "last half hour", None),
        (a_plan(blocks=(), end=None), Use.READY, "free", None),
        (a_plan(blocks=((NOW + 60, NOW + HOUR),)), Use.READY, "free", None),
    ],
)
def test_how_a_plan_stands_says_what_it_is_good_for(
    plan: PlanStatus, use: Use, says: str, begins: float | None
) -> None:
    found = standing(plan, P5, 2, NOW)
    assert (found.use, found.begins) == (use, begins)
    assert says in found.why


def test_a_plans_name_is_the_end_of_its_arn() -> None:
    assert a_plan().name == "december"


def test_the_last_half_hour_passes_faster_with_a_speed() -> None:
    plan = a_plan(blocks=((NOW - HOUR, NOW + 60),))
    assert standing(plan, P5, 2, NOW, speed=60.0).use is Use.READY
    assert standing(plan, P5, 2, NOW + 31, speed=60.0).use is Use.CLOSED


@pytest.mark.parametrize(("status", "end"), [("Active", NOW + 5), ("Scheduled", None)])
def test_without_blocks_an_active_plan_has_its_own_end(status: str, end: Any) -> None:
    assert a_plan(status, blocks=(), end=NOW + 5).block_end(NOW) == end
