"""What the arguments of an operator about queues mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_sm_prefer.errors import InvalidInput, InvalidSetting
from airflow_sm_prefer.model.preference import Queue
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.operators.queue_arguments import queues_of, terms_of
from airflow_sm_prefer.placement.queueing import Terms

ARN = "arn:aws:batch:us-east-1:123456789012:job-queue/p5"


def operator(**arguments: Any) -> Any:
    names = ("job_queue", "share_identifier", "quota_share", "scheduling_priority")
    names += ("retry_strategy", "timeout_config", "preemption_configuration", "tags")
    return SimpleNamespace(**{**dict.fromkeys(names), **arguments})


def terms(*, rendered: bool = True, **arguments: Any) -> Terms:
    return terms_of(operator(**arguments), rendered=rendered)


class XComArg:
    """Anything that isn't plain data is known only when the task runs."""


# -- queues --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "queue"),
    [
        ({}, None),
        ({"job_queue": "p5"}, Queue("p5")),
        ({"job_queue": f" {ARN} "}, Queue(ARN)),
        ({"job_queue": "p5", "share_identifier": "a"}, Queue("p5", "a")),
        ({"job_queue": "p5", "quota_share": "a-b"}, Queue("p5", quota_share="a-b")),
        ({"job_queue": "p5", "share_identifier": "", "quota_share": "b"}, Queue("p5", quota_share="b")),
    ],
)
def test_the_operators_queue_is_the_lists_default(arguments: dict[str, Any], queue: Queue | None) -> None:
    assert queues_of(operator(**arguments)) == Queues(queue)


@pytest.mark.parametrize(
    "arguments",
    [
        {"job_queue": "{{ queue }}"},
        {"job_queue": XComArg()},
        {"job_queue": "p5", "share_identifier": "{{ team }}"},
        {"job_queue": "p5", "share_identifier": "{{ a }}", "quota_share": "{{ b }}"},
    ],
)
def test_what_is_still_a_template_counts_as_a_queue(arguments: dict[str, Any]) -> None:
    assert queues_of(operator(**arguments)).default is not None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"share_identifier": "a"}, "job_queue, which isn't given"),
        ({"quota_share": "a"}, "job_queue, which isn't given"),
        ({"job_queue": 7}, "job_queue=7: it has to be a string"),
        ({"job_queue": "p5", "share_identifier": 7}, "share_identifier=7: it has to be a string"),
        ({"job_queue": "p5", "quota_share": ["a"]}, "quota_share=['a']: it has to be a string"),
        ({"job_queue": "p5", "share_identifier": "a", "quota_share": "b"}, "'a' and the quota share 'b'"),
        ({"job_queue": ""}, "JobQueue is ''"),
        ({"job_queue": "a queue"}, "JobQueue is 'a queue'"),
    ],
)
def test_a_queue_that_cannot_be_one_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        queues_of(operator(**arguments))
    assert says in str(caught.value)


# -- terms ---------------------------------------------------------------------------------------------------


def test_what_is_not_given_is_not_sent() -> None:
    assert terms() == Terms()


def test_awss_structures_are_sent_as_they_are() -> None:
    strategy = {"attempts": 10, "evaluateOnExit": [{"action": "RETRY", "onStatusReason": "x*"}, {"action": "EXIT"}]}
    given = terms(
        retry_strategy=strategy,
        timeout_config={"attemptDurationSeconds": 1},
        preemption_configuration={"preemptionRetriesBeforeTermination": 0},
        tags={"team": "vision"},
    )
    assert given.retry_strategy == strategy
    assert given.timeout == {"attemptDurationSeconds": 1}
    assert given.preemption == {"preemptionRetriesBeforeTermination": 0}
    assert given.tags == {"team": "vision"}


@pytest.mark.parametrize(
    ("priority", "rendered", "number"),
    [
        (None, True, None),
        (0, True, 0),
        (9999, False, 9999),
        ("production", False, 900),
        ("sweep", True, 100),
        ("5", True, 5),
        ("", True, None),
        ("None", True, None),
        ("{{ params.priority }}", False, None),
    ],
)
def test_a_priority_is_a_number_or_a_name(priority: Any, rendered: bool, number: int | None) -> None:
    assert terms(scheduling_priority=priority, rendered=rendered).priority == number


def test_the_names_of_priorities_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__SM_PREFER__PRIORITIES", "urgent=9000, sweep=1")
    assert terms(scheduling_priority="urgent").priority == 9000
    with pytest.raises(InvalidSetting, match="urgent, sweep"):
        terms(scheduling_priority="production")


@pytest.mark.parametrize("tags", ["{{ tags }}", {"day": "{{ ds }}"}, XComArg()])
def test_tags_that_are_still_templates_are_looked_at_when_they_are_rendered(tags: Any) -> None:
    assert terms(tags=tags, rendered=False).tags == {}


RULES = "retry_strategy: evaluateOnExit has to be a list of at most 5 rules"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"scheduling_priority": "5", "rendered": False}, "Write 5, without quotes"),
        ({"scheduling_priority": True}, "scheduling_priority is True"),
        ({"scheduling_priority": 5.0}, "scheduling_priority is 5.0"),
        ({"scheduling_priority": -1}, "AWS Batch takes 0 to 9999"),
        ({"scheduling_priority": "10000"}, "AWS Batch takes 0 to 9999"),
        ({"retry_strategy": {}}, "a dict with attempts"),
        ({"retry_strategy": 3}, "a dict with attempts"),
        ({"retry_strategy": {"attempts": 0}}, "attempts is 0, and AWS takes 1 to 10"),
        ({"retry_strategy": {"attempts": 1.0}}, "attempts is 1.0"),
        ({"retry_strategy": {"attempts": 1, "attempt": 2}}, "no key 'attempt'. Did you mean attempts?"),
        ({"retry_strategy": {"attempts": 1, 7: 2}}, "no key 7"),
        ({"retry_strategy": {"attempts": 1, "evaluateOnExit": None}}, RULES),
        ({"retry_strategy": {"attempts": 1, "evaluateOnExit": [{"action": "EXIT"}] * 6}}, RULES),
        ({"retry_strategy": {"attempts": 1, "evaluateOnExit": ["EXIT"]}}, "rule 1 of evaluateOnExit is 'EXIT'"),
        ({"retry_strategy": {"attempts": 1, "evaluateOnExit": [{"onStatusReason": "*"}]}}, "has the action None"),
        (
            {"retry_strategy": {"attempts": 1, "evaluateOnExit": [{"action": ["EXIT"]}]}},
            "has the action ['EXIT'], and there are RETRY and EXIT",
        ),
        (
            {"retry_strategy": {"attempts": 1, "evaluateOnExit": [{"action": "EXIT", "onStatusReason": ""}]}},
            "1 to 512 characters",
        ),
        ({"timeout_config": {"attemptDurationSeconds": 2_419_201}}, "AWS takes 1 to 2419200"),
        ({"timeout_config": 3600}, "a dict with attemptDurationSeconds"),
        ({"preemption_configuration": {"preemptionRetriesBeforeTermination": None}}, "Termination is None"),
        ({"tags": "team=vision"}, "tags='team=vision': it has to be a dict of strings"),
        ({"tags": {1: "a"}}, "a dict of strings"),
        ({"tags": {f"t{number}": "x" for number in range(51)}}, "tags: there are 51, and a service job takes 50"),
    ],
)
def test_terms_that_cannot_work_are_refused_with_the_argument_and_what_aws_takes(
    arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidSetting) as caught:
        terms(**arguments)
    message = str(caught.value)
    assert says in message
    assert next(iter(arguments)) in message
    assert len(message.splitlines()) <= 5
