"""A file of queues is read whole, or refused with the line, the place and the remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_sm_prefer.errors import InvalidQueues
from airflow_sm_prefer.model.queues import FairShare, JobQueue, QuotaShare, SchedulingPolicy, ServiceEnvironment
from airflow_sm_prefer.model.queues_file import parse_queues

PLAN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5-autumn"
TEXT = f"""\
tags: {{cost-center: ml}}
environments:
  p5:
    instances: 8
    training_plan: {PLAN}
  g5:
    instances: {{ml.g5.12xlarge: 16}}
    tags: {{cost-center: vision}}
policies:
  teams:
    weights: {{search: 1, ads: 2.5}}
    decay: 1h 30m
    reservation: 10
queues:
  p5:
    environment: p5
    priority: 10
    policy: teams
    time_limits:
      CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY: 12h
  g5:
    environment: g5
    quota_shares:
      search: {{instances: {{ml.g5.12xlarge: 10}}, in_share_preemption: true}}
      ads: {{instances: {{ml.g5.12xlarge: 6}}, sharing: LEND, enabled: false}}
"""
COMMON = {"cost-center": "ml"}


def test_a_file_becomes_the_pieces_that_batch_knows():
    fleet = parse_queues(TEXT)
    assert fleet.environments == (
        ServiceEnvironment("p5", {"NUM_INSTANCES": 8}),
        ServiceEnvironment("g5", {"ml.g5.12xlarge": 16}),
    )
    assert fleet.policies == (
        SchedulingPolicy("teams", FairShare({"search": 1.0, "ads": 2.5}, decay=5400, reservation=10)),
        SchedulingPolicy("g5-quota-shares", None),
    )
    limits = {"CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY": 43_200}
    assert fleet.queues == (
        JobQueue("p5", "p5", 10, "teams", limits),
        JobQueue("g5", "g5", 1, "g5-quota-shares"),
    )
    assert fleet.shares == (
        QuotaShare("g5", "search", {"ml.g5.12xlarge": 10}, in_share_preemption=True),
        QuotaShare("g5", "ads", {"ml.g5.12xlarge": 6}, "LEND", enabled=False),
    )


def test_a_plan_stays_with_its_environment_and_tags_go_to_everything():
    fleet = parse_queues(TEXT)
    assert [environment.training_plan for environment in fleet.environments] == [PLAN, None]
    assert fleet.environments[1].tags == {"cost-center": "vision"}
    others = (*fleet.environments[:1], *fleet.policies, *fleet.queues, *fleet.shares)
    assert all(piece.tags == COMMON for piece in others)


@pytest.mark.parametrize("text", ["", "environments:\nqueues: {}\n", "# nothing\n"])
def test_a_file_may_be_empty(text):
    assert list(parse_queues(text).pieces()) == []


def test_a_queue_without_a_policy_is_first_in_first_out():
    fleet = parse_queues("environments: {cpu: {instances: 4}}\nqueues: {cpu: {environment: cpu}}")
    assert fleet.queues == (JobQueue("cpu", "cpu", 1),)
    assert not fleet.policies


CASES = {
    "no instances": (
        "instances: 8",
        "instances: 0",
        4,
        "environments.p5.instances: expected a number of instances, 1 or",
    ),
    "yes is no count": (
        "instances: 8",
        "instances: yes",
        4,
        "environments.p5.instances: expected a number of instances",
    ),
    "yes is no number": (
        "priority: 10",
        "priority: true",
        17,
        "queues.p5.priority: expected a valid integer, not True",
    ),
    "text is no number": ("priority: 10", "priority: '10'", 17, "queues.p5.priority: expected a valid integer"),
    "priority too high": (
        "priority: 10",
        "priority: 1001",
        17,
        "queues.p5.priority: expected less than or equal to 1000",
    ),
    "unknown key": ("priority: 10", "prioritty: 10", 17, "queues.p5.prioritty: not a key here. Did you mean priority?"),
    "unknown section": ("policies:", "polices:", 9, "polices: not a key here. Did you mean policies?"),
    "limit too short": ("12h", "5m", 20, "expected greater than or equal to 600, not 300"),
    "limit in no unit": ("12h", "soon", 20, "expected seconds, or a text as 90s, 20m or 1h 30m, not 'soon'"),
    "limit with rest": ("12h", "12h long", 20, "expected seconds, or a text as 90s, 20m or 1h 30m"),
    "decay of nothing": ("decay: 1h 30m", "decay: 0", 12, "policies.teams.decay: expected greater than or equal to 1"),
    "unknown reason": ("CAPACITY:I", "CAPACITYI", 20, "Did you mean CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY?"),
    "unknown policy": ("policy: teams", "policy: team", 18, "there is no 'team' under policies. Did you mean teams?"),
    "unknown place": (
        "environment: p5",
        "environment: P5",
        16,
        "there is no 'P5' under environments. Did you mean p5?",
    ),
    "by type for FIFO": ("instances: 8", "instances: {ml.p5.48xlarge: 8}", 4, "has to be a number: its queue p5"),
    "a number for quotas": ("{ml.g5.12xlarge: 16}", "16", 7, "has to be by instance type: its queue g5"),
    "no such type there": (
        "{ml.g5.12xlarge: 16}",
        "{ml.g6.12xlarge: 16}",
        24,
        "the environment g5 has no instances of",
    ),
    "no type at all": ("{ml.g5.12xlarge: 16}", "{g5.12xlarge: 16}", 7, "expected an instance type, as ml.p5.48xlarge"),
    "unknown sharing": (
        "sharing: LEND",
        "sharing: LENT",
        25,
        "expected one of RESERVE, LEND, LEND_AND_BORROW, not 'LENT'",
    ),
    "sharing as a list": ("sharing: LEND", "sharing: [LEND]", 25, "expected one of RESERVE, LEND, LEND_AND_BORROW"),
    "who lends, borrows not": ("sharing: LEND", "sharing: LEND, borrow_limit: 5", 25, "is for LEND_AND_BORROW only"),
    "two policies": (
        "environment: g5",
        "environment: g5\n    policy: teams",
        23,
        "has a fair-share policy and quota_shares",
    ),
    "shares overlap": ("ads: 2.5", "se*: 2.5", 11, "policies.teams.weights.se*: overlaps with search"),
    "a share of signs": ("ads: 2.5", "ad-s: 2.5", 11, "expected letters and digits, and maybe a * behind them"),
    "a weight of nothing": (
        "ads: 2.5",
        "ads: 0",
        11,
        "policies.teams.weights.ads: expected greater than or equal to 0.0001",
    ),
    "a name with a space": ("  p5:\n    inst", "  p 5:\n    inst", 3, "environments.p 5: expected a name of letters"),
    "something is missing": ("    instances: 8\n", "", 3, "environments.p5: instances is missing"),
    "no plan": (PLAN, "p5-autumn", 5, "expected the ARN of a training plan, not 'p5-autumn'"),
    "a list for a mapping": ("{cost-center: ml}", "[ml]", 1, "tags: expected a mapping, not ['ml']"),
    "a key twice": (
        "    policy: teams\n",
        "    policy: teams\n    policy: teams\n",
        19,
        "the key policy is there already",
    ),
    "no YAML": ("tags: {cost-center: ml}", "tags: {cost-center: ml", 2, "not YAML:"),
    "a control character": ("cost-center", "cost\x00center", 1, "not YAML:"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_with_file_line_place_and_what_was_expected(case):
    before, after, line, problem = CASES[case]
    assert before in TEXT
    with pytest.raises(InvalidQueues) as caught:
        parse_queues(TEXT.replace(before, after, 1), "fleet.yaml")
    message = str(caught.value)
    assert message.startswith(f"fleet.yaml, line {line}: ")
    assert problem in message
    assert len(message.splitlines()) <= 5


def test_the_whole_file_being_something_else_is_told():
    with pytest.raises(InvalidQueues, match=r"fleet\.yaml, line 1: the file: expected a mapping, not \['p5'\]"):
        parse_queues("- p5", "fleet.yaml")


def test_an_environment_of_quota_shares_serves_one_queue_only():
    text = TEXT + "  batch:\n    environment: g5\n    quota_shares:\n      a: {instances: {ml.g5.12xlarge: 1}}\n"
    with pytest.raises(InvalidQueues, match="serves batch, too; with quota_shares it can have one queue only"):
        parse_queues(text)


def test_the_policy_of_quota_shares_keeps_its_name_for_itself():
    text = TEXT.replace("  teams:", "  g5-quota-shares: {}\n  teams:")
    with pytest.raises(InvalidQueues, match="the policy of g5's quota shares is called that; rename this one"):
        parse_queues(text)


def test_a_share_has_five_types_at_most():
    types = ", ".join(f"ml.g5.{n}xlarge: 1" for n in (1, 2, 4, 8, 12, 16))
    with pytest.raises(InvalidQueues, match=r"queues\.g5\.quota_shares\.search\.instances: .*at most 5"):
        parse_queues(TEXT.replace("ml.g5.12xlarge: 10", types))


def test_of_many_mistakes_the_first_are_told():
    text = "environments:\n" + "".join(f"  e{n}: {{instances: 0}}\n" for n in range(9))
    with pytest.raises(InvalidQueues) as caught:
        parse_queues(text)
    assert len(str(caught.value).splitlines()) == 5
    assert str(caught.value).endswith("… and 5 more.")


def test_the_readme_shows_a_file_that_can_be_read():
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    (shown,) = [block for block in re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL) if "environments:" in block]
    fleet = parse_queues(shown)
    assert [queue.name for queue in fleet.queues] == ["p5", "g5"]
    assert len(list(fleet.pieces())) == 8
