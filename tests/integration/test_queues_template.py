"""What the CloudFormation template makes is taken by AWS Batch's API, and its rules match the events of jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.aws.queues_there import QueuesReader
from airflow_sm_prefer.model.queues import FairShare, Fleet, JobQueue, QuotaShare, SchedulingPolicy, ServiceEnvironment
from airflow_sm_prefer.sandbox import SandboxServer, Script, ScriptedRunner
from tests.integration import aws
from tests.integration.test_sandbox_wire import wait_for
from tests.unit.deploy.cloudformation import Stack, load
from tests.unit.sandbox.batch.bench import submission

TEMPLATE = load(Path(__file__).parents[2] / "deploy" / "queues.yaml")
MISFIT = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE"
TOO_MUCH = "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED"

#: By type of resource: what it is made with, and the ARN that stands for it elsewhere.
OPERATIONS = {
    "AWS::Batch::SchedulingPolicy": ("CreateSchedulingPolicy", "arn"),
    "AWS::Batch::ServiceEnvironment": ("CreateServiceEnvironment", "serviceEnvironmentArn"),
    "AWS::Batch::JobQueue": ("CreateJobQueue", "jobQueueArn"),
    "AWS::Batch::QuotaShare": ("CreateQuotaShare", "quotaShareArn"),
}


@pytest.fixture
def server() -> Iterator[SandboxServer]:
    runner = ScriptedRunner({"AWSBatchbad*": Script.fails("AlgorithmError: no data", seconds=0.1)}, Script(seconds=0.1))
    with SandboxServer({"rates": False}, runner=runner) as served:
        yield served


def as_request(value: Any, shape: Any) -> Any:
    """Turn a resource's properties into a request's, as CloudFormation does: capitals, and numbers for strings."""
    if shape.type_name == "structure":
        members = {name.lower(): (name, member) for name, member in shape.members.items()}
        pairs = ((members[key.lower()], below) for key, below in value.items())
        return {name: as_request(below, member) for (name, member), below in pairs}
    if shape.type_name == "list":
        return [as_request(below, shape.member) for below in value]
    numbers = {"integer": int, "float": float}
    return numbers[shape.type_name](value) if shape.type_name in numbers else value


def deploy(batch: Any, **parameters: Any) -> Stack:
    """Make the template's resources of Batch, with the parameters."""
    stack = Stack(TEMPLATE, **parameters)
    for kind, (operation, arn) in OPERATIONS.items():
        shape = batch.meta.service_model.operation_model(operation).input_shape
        for name, properties in stack.resources(kind).items():
            stack.values[name] = batch._make_api_call(operation, as_request(properties, shape))[arn]
    return stack


@pytest.fixture
def batch(server: SandboxServer) -> Any:
    return aws.client(server.endpoint_url, "batch")


def test_by_default_each_family_has_a_queue_with_fair_shares(batch: Any) -> None:
    deploy(batch)
    policy = SchedulingPolicy("gpus-fair-share", FairShare({"search": 1.0, "ads": 1.0}, decay=3600))
    counts = {"gpus-p5": 4, "gpus-p4d": 8, "gpus-g5": 16}
    fleet = QueuesReader(batch).read().fleet
    assert sorted(fleet.environments, key=lambda e: e.name) == [
        ServiceEnvironment(name, {"NUM_INSTANCES": counts[name]}) for name in sorted(counts)
    ]
    assert fleet.policies == (policy,)
    assert sorted(fleet.queues, key=lambda q: q.name) == [
        JobQueue(name, name, 1, policy.name, {MISFIT: 600}) for name in sorted(counts)
    ]
    assert not fleet.shares


def test_quota_shares_own_what_the_teams_are_given_and_a_family_may_be_left_out(batch: Any) -> None:
    quotas = {"TeamOne": "vision", "TeamOneQuotas": "3,0,0", "TeamTwoQuotas": "1,0,5"}
    deploy(batch, Scheduling="quota-shares", P4dInstances=0, G5Instances=5, CapacitySeconds=7200, **quotas)
    limits = {MISFIT: 600, TOO_MUCH: 600, "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY": 7200}
    fleet = QueuesReader(batch).read().fleet
    policy = "gpus-quota-shares"
    assert fleet == Fleet(
        environments=(
            ServiceEnvironment("gpus-g5", {"ml.g5.12xlarge": 5}),
            ServiceEnvironment("gpus-p5", {"ml.p5.48xlarge": 4}),
        ),
        policies=(SchedulingPolicy(policy, None),),
        queues=tuple(JobQueue(name, name, 1, policy, limits) for name in ("gpus-g5", "gpus-p5")),
        shares=(
            QuotaShare("gpus-g5", "ads", {"ml.g5.12xlarge": 5}, in_share_preemption=True),
            QuotaShare("gpus-p5", "ads", {"ml.p5.48xlarge": 1}, in_share_preemption=True),
            QuotaShare("gpus-p5", "vision", {"ml.p5.48xlarge": 3}, in_share_preemption=True),
        ),
    )


def test_its_rules_match_the_events_of_jobs_and_one_of_them_only_failures_that_are_not_our_own_stops(
    server: SandboxServer, batch: Any
) -> None:
    stack = deploy(batch)
    sqs, events = (aws.client(server.endpoint_url, service) for service in ("sqs", "events"))
    for name in ("Events", "DeadEvents", "FailedLog"):
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        stack.values |= {name: url, f"{name}.Arn": arn}
    for name, rule in stack.resources("AWS::Events::Rule").items():
        events.put_rule(Name=name, EventPattern=json.dumps(rule["EventPattern"]))
        events.put_targets(Rule=name, Targets=[{"Id": t["Id"], "Arn": t["Arn"]} for t in rule["Targets"]])
    ids = {
        name: batch.submit_service_job(**submission(name, "gpus-g5", shareIdentifier="ads"))["jobId"]
        for name in ("stopped", "good", "bad")
    }
    batch.terminate_service_job(jobId=ids["stopped"], reason="airflow_sm_prefer: patience. No capacity.")
    received: dict[str, list[dict[str, Any]]] = {"Events": [], "FailedLog": []}

    def arrived(queue: str, name: str, status: str) -> bool:
        for message in sqs.receive_message(QueueUrl=stack.values[queue], MaxNumberOfMessages=10).get("Messages", ()):
            received[queue].append(json.loads(message["Body"]))
        details = [event["detail"] for event in received[queue]]
        return any(d.get("jobId") == ids[name] and d.get("status") == status for d in details)

    wait_for(lambda: arrived("Events", "stopped", "FAILED"))
    wait_for(lambda: arrived("Events", "good", "SUCCEEDED"))
    wait_for(lambda: arrived("FailedLog", "bad", "FAILED"))
    wait_for(lambda: {"aws.batch", "aws.sagemaker"} == {event["source"] for event in received["Events"]})
    assert {event["detail"]["jobName"] for event in received["FailedLog"]} == {"bad"}
