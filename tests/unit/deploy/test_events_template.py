"""The CloudFormation template of events and the code mean the same rule and queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.aws import events_apply
from airflow_sm_prefer.model.job_events import PATTERN
from tests.unit.deploy.cloudformation import Stack, load

TEMPLATE = Path(__file__).parents[3] / "deploy" / "events.yaml"
DOCUMENT: dict[str, Any] = load(TEMPLATE)
COUNTS = range(1, 6)


def stack(count: int, **parameters: Any) -> Stack:
    """Return the template with so many triggerers."""
    stack = Stack(DOCUMENT, Triggerers=count, **parameters)
    stack.values |= {"Rule.Arn": "arn:rule"} | {f"Queue{n}": f"https://queue/{n}" for n in range(5)}
    stack.values |= {f"Queue{n}.Arn": f"arn:queue-{n}" for n in range(5)}
    return stack


@pytest.mark.parametrize("count", COUNTS)
def test_each_triggerer_has_a_queue_that_is_a_target_and_may_be_written_to_and_read(count):
    made, arns = stack(count), [f"arn:queue-{n}" for n in range(count)]
    assert [q["QueueName"] for q in made.resources("AWS::SQS::Queue").values()] == [
        f"sm-prefer-airflow-triggerer-{n}" for n in range(count)
    ]
    (rule,) = made.resources("AWS::Events::Rule").values()
    assert [target["Arn"] for target in rule["Targets"]] == arns
    assert len({target["Id"] for target in rule["Targets"]}) == count
    policies = made.resources("AWS::SQS::QueuePolicy").values()
    assert [policy["Queues"] for policy in policies] == [[f"https://queue/{n}"] for n in range(count)]
    (reading,) = made.resources("AWS::IAM::ManagedPolicy").values()
    assert reading["PolicyDocument"]["Statement"][0]["Resource"] == arns


def test_its_queues_are_those_that_the_command_makes():
    made = stack(5)
    for queue in made.resources("AWS::SQS::Queue").values():
        del queue["QueueName"]
        attributes = {key: str(value).lower() for key, value in queue.items()}
        assert attributes == events_apply._ATTRIBUTES
    for number, policy in enumerate(made.resources("AWS::SQS::QueuePolicy").values()):
        assert policy["PolicyDocument"] == events_apply._policy(f"arn:queue-{number}", "arn:rule")


def test_its_rule_is_the_one_that_the_command_makes():
    (rule,) = stack(1).resources("AWS::Events::Rule").values()
    assert rule["EventPattern"] == PATTERN
    assert rule["State"] == "ENABLED"
    assert rule["Description"] == events_apply._DESCRIPTION
    assert rule["Targets"][0]["RetryPolicy"] == events_apply._RETRIES


def test_a_reader_may_do_what_reading_takes_and_no_more():
    (reading,) = stack(1).resources("AWS::IAM::ManagedPolicy").values()
    (statement,) = reading["PolicyDocument"]["Statement"]
    assert statement["Action"] == ["sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"]
    assert "Roles" not in reading
    (reading,) = stack(1, ReaderRole="triggerer").resources("AWS::IAM::ManagedPolicy").values()
    assert reading["Roles"] == ["triggerer"]


def test_there_is_an_output_for_each_queue():
    outputs = {f"Queue{n}Url" for n in range(5)}
    assert set(DOCUMENT["Outputs"]) == outputs | {"ReadingPolicyArn"}
    for name in outputs:
        queue = name.removesuffix("Url")
        assert DOCUMENT["Outputs"][name]["Value"] == {"Ref": queue}
        assert DOCUMENT["Outputs"][name].get("Condition") == DOCUMENT["Resources"][queue].get("Condition")
