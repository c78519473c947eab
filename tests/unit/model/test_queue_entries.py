"""Which queue of AWS Batch an entry waits in, from what was written."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer import on_demand, queued, spot
from airflow_sm_prefer.errors import InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.preference import CapacityKind, PreferenceList, Queue
from airflow_sm_prefer.model.queue_entries import Queues, check_queue, read_queue

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
ARN = "arn:aws:batch:us-east-1:123456789012:job-queue/p5"
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/p5"
NONE = Queues()
FAIR = Queues(Queue("p5", share_identifier="research"))
QUOTAS = Queues(Queue("p5", quota_share="research"))


def parse(prefer: Any, queues: Queues | None = NONE, **config: Any) -> PreferenceList:
    return parse_preferences(
        prefer,
        kind=JobKind.TRAINING,
        config=config,
        known_types=lambda _: True,
        allow_unknown_types=True,
        queues=queues,
    )


def queues_of(prefer: Any, queues: Queues | None = NONE, **config: Any) -> list[Queue | None]:
    return [entry.queue for entry in parse(prefer, queues, **config)]


def said(prefer: Any, queues: Queues | None = NONE, **config: Any) -> str:
    with pytest.raises(InvalidPreference) as caught:
        parse(prefer, queues, **config)
    assert len(str(caught.value).splitlines()) <= 5
    return str(caught.value)


# -- what works ----------------------------------------------------------------------------------------------


def test_an_entry_names_its_queue_and_its_own_share() -> None:
    listed = [
        queued(P5, "p5", share_identifier="research"),
        queued(G5, ARN, quota_share="vision-team"),
        queued(G5, job_queue=" plain "),
    ]
    assert queues_of(listed) == [
        Queue("p5", share_identifier="research"),
        Queue(ARN, quota_share="vision-team"),
        Queue("plain"),
    ]


def test_an_entry_without_a_kind_of_capacity_waits_in_the_operators_queue() -> None:
    assert queues_of([P5, queued(P5), {"InstanceType": P5}], FAIR) == [FAIR.default] * 3


def test_an_entry_that_says_which_capacity_it_wants_goes_to_sagemaker_itself() -> None:
    assert queues_of([on_demand(P5), spot(P5), queued(P5)], FAIR) == [None, None, FAIR.default]


def test_without_a_queue_of_the_operators_a_plain_type_goes_to_sagemaker_itself() -> None:
    assert queues_of([queued(P5, "p5"), G5]) == [Queue("p5"), None]


def test_on_demand_capacity_may_be_asked_for_through_a_queue() -> None:
    assert queues_of([{**on_demand(P5), "JobQueue": "p5"}]) == [Queue("p5")]


@pytest.mark.parametrize(
    ("entry", "queue"),
    [
        (queued(P5, share_identifier="sweep"), Queue("p5", share_identifier="sweep")),
        (queued(P5, quota_share="sweep"), Queue("p5", quota_share="sweep")),
        (queued(P5, "p5"), Queue("p5", share_identifier="research")),
        (queued(P5, "other"), Queue("other")),
        (queued(P5, "other", share_identifier="sweep"), Queue("other", share_identifier="sweep")),
    ],
    ids=["another share", "a share of the other kind", "the same queue again", "another queue", "another of both"],
)
def test_what_an_entry_says_takes_the_place_of_what_the_operator_says(entry: dict[str, Any], queue: Queue) -> None:
    assert queues_of([entry], FAIR) == [queue]


def test_a_quota_share_of_the_operators_holds_for_its_queue() -> None:
    assert queues_of([queued(P5, "p5"), queued(P5, "other")], QUOTAS) == [QUOTAS.default, Queue("other")]


def test_a_plan_through_a_queue_is_the_queues_affair() -> None:
    (entry,) = parse([queued(P5, "p5", training_plan_arn=PLAN)])
    assert (entry.kind, entry.training_plan_arn, entry.wait_for_plan) == (CapacityKind.TRAINING_PLAN, PLAN, False)


def test_awss_own_dicts_are_no_list_of_awss_where_a_queue_takes_them_one_by_one() -> None:
    listed = parse([{"InstanceType": name} for name in (P5, P5, G5)], FAIR)
    assert [listed.count_of(number) for number in range(3)] == [1, 1, 1]


def test_without_a_list_the_configs_own_type_waits_in_the_operators_queue() -> None:
    config = {"ResourceConfig": {"InstanceType": P5, "InstanceCount": 2}}
    listed = parse(None, FAIR, **config)
    (entry,) = listed
    assert (entry.queue, listed.count_of(0), entry.kind) == (FAIR.default, 2, CapacityKind.ON_DEMAND)


def test_the_plan_of_the_configs_own_type_goes_into_the_queue_and_is_not_waited_for_outside_of_it() -> None:
    (entry,) = parse(None, FAIR, ResourceConfig={"InstanceType": P5, "InstanceCount": 2, "TrainingPlanArn": PLAN})
    assert (entry.queue, entry.training_plan_arn, entry.wait_for_plan) == (FAIR.default, PLAN, False)


# -- what can't work -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (queued(P5), ["doesn't say for which", 'queued("ml.…", job_queue="…")']),
        (queued(P5, share_identifier="research"), ["doesn't say for which", "give the operator a job_queue"]),
        ({**spot(P5), "JobQueue": "p5"}, ["spot capacity through a queue", "spot(…) without a queue"]),
        (queued(P5, ""), ["its JobQueue is ''", "letters, digits, - and _"]),
        (queued(P5, "p 5"), ["its JobQueue is 'p 5'"]),
        (queued(P5, "q" * 129), ["its JobQueue is"]),
        (queued(P5, "arn:aws:batch:us-east-1:123456789012:job/p5"), ["its JobQueue is", "its ARN"]),
        ({"InstanceType": P5, "JobQueue": 5}, ["its JobQueue is 5", "It has to be a string"]),
        (queued(P5, "p5", share_identifier="a b"), ["its ShareIdentifier is 'a b'", "1 to 255 letters and digits"]),
        (queued(P5, "p5", share_identifier="x" * 256), ["its ShareIdentifier is", "1 to 255"]),
        ({"InstanceType": P5, "JobQueue": "p5", "ShareIdentifier": 7}, ["its ShareIdentifier is 7", "a string"]),
        (queued(P5, "p5", quota_share="a/b"), ["its QuotaShareName is 'a/b'", "1 to 128 letters, digits, - and _"]),
        (
            queued(P5, "p5", share_identifier="a", quota_share="b"),
            ["share identifier 'a' and the quota share 'b'", "fair-share policy", "manages quotas"],
        ),
        (
            {**queued(P5, "p5", training_plan_arn=PLAN), "Capacity": "training_plan", "WaitForPlan": True},
            ["waits in a queue and is to wait for its plan", "leave WaitForPlan away"],
        ),
    ],
)
def test_an_entry_that_cannot_work_is_refused_with_its_place_and_the_remedy(
    entry: dict[str, Any], says: list[str]
) -> None:
    message = said([G5, entry])
    assert message.startswith(f"prefer, entry 2 ({P5}): ")
    for words in says:
        assert words in message


def test_an_operator_without_queues_says_which_one_has_them() -> None:
    message = said([queued(P5, "p5")], None)
    assert "this operator knows none" in message
    assert "Use BatchPreferTrainingOperator" in message


def test_a_misspelt_key_of_an_entry_is_refused() -> None:
    assert "JobQueue" in said([{"InstanceType": P5, "JobQeue": "p5"}])


def test_an_entry_on_its_own_can_be_read() -> None:
    assert read_queue({"JobQueue": "p5"}, "here", NONE, CapacityKind.ON_DEMAND) == Queue("p5")
    assert check_queue(Queue("p5", "share"), "here") == Queue("p5", "share")


def test_a_queues_share_is_the_one_of_the_kind_that_it_has() -> None:
    assert [Queue("q", "a").share, Queue("q", quota_share="b").share, Queue("q").share] == ["a", "b", None]


def test_managed_spot_training_is_for_no_queue() -> None:
    own = {"ResourceConfig": {"InstanceType": P5, "InstanceCount": 1}, "EnableManagedSpotTraining": True}
    with pytest.raises(InvalidRequest) as caught:
        parse(None, FAIR, **own)
    assert "EnableManagedSpotTraining asks for spot capacity" in str(caught.value)
    assert 'prefer=[queued("ml.…"), spot("ml.…")]' in str(caught.value)
    (entry,) = parse(None, NONE, **own)
    assert (entry.kind, entry.queue) == (CapacityKind.SPOT, None)
