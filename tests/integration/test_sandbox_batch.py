"""AWS Batch's queues for training jobs over the wire, with an unmodified boto3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from airflow_sm_prefer.sandbox import SandboxServer, Script, ScriptedRunner
from tests.integration.aws import client
from tests.integration.test_sandbox_wire import wait_for
from tests.unit.sandbox.batch.bench import submission
from tests.unit.sandbox.builders import G5


@pytest.fixture(scope="module")
def server() -> Iterator[SandboxServer]:
    runner = ScriptedRunner({"AWSBatchlong*": Script(seconds=10_000)}, Script(seconds=0.1))
    with SandboxServer({"rates": False}, runner=runner) as served:
        yield served


@pytest.fixture
def batch(server: SandboxServer) -> Any:
    return client(server.endpoint_url, "batch")


def make_queue(batch: Any, name: str, unit: str = "NUM_INSTANCES", **more: Any) -> str:
    """Make an environment of two instances and a queue, both of that name."""
    batch.create_service_environment(
        serviceEnvironmentName=name,
        serviceEnvironmentType="SAGEMAKER_TRAINING",
        capacityLimits=[{"maxCapacity": 2, "capacityUnit": unit}],
    )
    made = batch.create_job_queue(
        jobQueueName=name,
        jobQueueType="SAGEMAKER_TRAINING",
        priority=1,
        serviceEnvironmentOrder=[{"order": 1, "serviceEnvironment": name}],
        **more,
    )
    arn: str = made["jobQueueArn"]
    return arn


def status(batch: Any, job_id: str) -> str:
    shown: str = batch.describe_service_job(jobId=job_id)["status"]
    return shown


def submit_many(batch: Any, queue: str, count: int) -> None:
    for _ in range(count):
        batch.submit_service_job(**submission("job", queue))


def test_a_job_goes_through_a_queue_to_a_training_job(server: SandboxServer, batch: Any) -> None:
    arn = make_queue(batch, "first")
    made = batch.submit_service_job(**submission("Train", "first", tags={"team": "red"}))
    assert made["jobArn"] == f"arn:aws:batch:us-east-1:123456789012:service-job/{made['jobId']}"
    wait_for(lambda: status(batch, made["jobId"]) == "SUCCEEDED")
    shown = batch.describe_service_job(jobId=made["jobArn"])
    (attempt,) = shown["attempts"]
    name = attempt["serviceResourceId"]["value"].rpartition("/")[2]
    assert name.startswith("AWSBatchTrain")
    assert len(name) == len("AWSBatchTrain") + 32
    assert shown["jobQueue"] == arn
    assert shown["statusReason"] == "Received status from SageMaker: Training job completed"
    assert shown["createdAt"] <= shown["scheduledAt"] <= shown["startedAt"] <= shown["stoppedAt"]
    sagemaker = client(server.endpoint_url)
    training = sagemaker.describe_training_job(TrainingJobName=name)
    assert training["TrainingJobStatus"] == "Completed"
    tags = sagemaker.list_tags(ResourceArn=training["TrainingJobArn"])["Tags"]
    assert {"Key": "team", "Value": "red"} in tags


def test_what_waits_and_what_runs_is_listed_and_terminated(batch: Any) -> None:
    make_queue(batch, "waits")
    ids = [batch.submit_service_job(**submission(f"long-{i}", "waits"))["jobId"] for i in range(4)]
    wait_for(lambda: [status(batch, job_id) for job_id in ids] == ["RUNNING", "RUNNING", "RUNNABLE", "RUNNABLE"])
    running = batch.list_service_jobs(jobQueue="waits")["jobSummaryList"]
    assert [job["jobName"] for job in running] == ["long-1", "long-0"]
    front = batch.get_job_queue_snapshot(jobQueue="waits")["frontOfQueue"]["jobs"]
    assert [job["jobArn"].rpartition("/")[2] for job in front] == ids[2:]
    batch.terminate_service_job(jobId=ids[2], reason="not needed")
    batch.terminate_service_jobs(jobs=[ids[0], ids[3], "unknown"], reason="nor these")
    wait_for(lambda: [status(batch, job_id) for job_id in ids] == ["FAILED", "RUNNING", "FAILED", "FAILED"])
    shown = batch.describe_service_job(jobId=ids[0])
    assert (shown["isTerminated"], shown["statusReason"]) == (True, "nor these")


def test_objects_are_made_changed_tagged_and_deleted(batch: Any) -> None:
    policy = batch.create_scheduling_policy(
        name="managed", quotaSharePolicy={"idleResourceAssignmentStrategy": "FIFO"}, tags={"a": "1"}
    )
    queue = make_queue(batch, "managed", G5, schedulingPolicyArn=policy["arn"])
    share = batch.create_quota_share(
        quotaShareName="red",
        jobQueue="managed",
        capacityLimits=[{"maxCapacity": 2, "capacityUnit": G5}],
        resourceSharingConfiguration={"strategy": "LEND_AND_BORROW", "borrowLimit": 50},
        preemptionConfiguration={"inSharePreemption": "ENABLED"},
    )["quotaShareArn"]
    for arn in (policy["arn"], queue, share):
        batch.tag_resource(resourceArn=arn, tags={"team": "red", "b": "2"})
        batch.untag_resource(resourceArn=arn, tagKeys=["a", "b"])
        assert batch.list_tags_for_resource(resourceArn=arn)["tags"] == {"team": "red"}
    assert batch.describe_quota_share(quotaShareArn=share)["resourceSharingConfiguration"]["borrowLimit"] == 50
    assert batch.describe_scheduling_policies(arns=[policy["arn"]])["schedulingPolicies"][0]["tags"] == {"team": "red"}
    assert {"arn": policy["arn"]} in batch.list_scheduling_policies()["schedulingPolicies"]
    with pytest.raises(ClientError, match=r"ClientException.*must be DISABLED first"):
        batch.delete_quota_share(quotaShareArn=share)
    batch.update_quota_share(quotaShareArn=share, state="DISABLED")
    batch.delete_quota_share(quotaShareArn=share)
    batch.update_job_queue(jobQueue="managed", state="DISABLED")
    batch.delete_job_queue(jobQueue="managed")
    wait_for(lambda: not batch.describe_job_queues(jobQueues=["managed"])["jobQueues"])
    batch.delete_scheduling_policy(arn=policy["arn"])
    batch.update_service_environment(serviceEnvironment="managed", state="DISABLED")
    batch.delete_service_environment(serviceEnvironment="managed")
    named = batch.describe_service_environments(serviceEnvironments=["managed"])
    assert named["serviceEnvironments"] == []


def test_what_is_wrong_is_a_client_exception(batch: Any) -> None:
    with pytest.raises(batch.exceptions.ClientException, match="does not exist"):
        batch.describe_service_job(jobId="nobody")
    with pytest.raises(batch.exceptions.ClientException, match="enum value set"):
        batch.list_service_jobs(jobQueue="any", jobStatus="LOST")


def test_more_submissions_than_five_a_second_are_throttled_as_batch_does(batch: Any) -> None:
    with SandboxServer() as limited:
        hasty = client(limited.endpoint_url, "batch", retries={"total_max_attempts": 1})
        make_queue(hasty, "limited")
        with pytest.raises(ClientError) as refused:
            submit_many(hasty, "limited", 8)
    answer = refused.value.response
    assert answer["Error"]["Code"] == "TooManyRequestsException"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 429


def test_faults_are_answered_as_batch_answers() -> None:
    faults = [
        {"operation": "DescribeJobQueues", "error": "ServerException"},
        {"operation": "DescribeServiceEnvironments", "error": "TooManyRequestsException"},
    ]
    with SandboxServer({"call_faults": faults}) as faulty:
        once = client(faulty.endpoint_url, "batch", retries={"total_max_attempts": 1})
        with pytest.raises(once.exceptions.ServerException):
            once.describe_job_queues()
        with pytest.raises(ClientError, match="TooManyRequestsException"):
            once.describe_service_environments()
        assert once.describe_job_queues()["jobQueues"] == []


def test_queues_of_compute_environments_are_for_the_rest_of_batch(server: SandboxServer, batch: Any) -> None:
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    iam = client(server.endpoint_url, "iam")
    role = iam.create_role(RoleName="batch", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    made = batch.create_compute_environment(computeEnvironmentName="ec2", type="UNMANAGED", serviceRole=role)
    order = [{"order": 1, "computeEnvironment": made["computeEnvironmentArn"]}]
    batch.create_job_queue(jobQueueName="ec2", state="ENABLED", priority=1, computeEnvironmentOrder=order)
    batch.update_job_queue(jobQueue="ec2", priority=2)
    (shown,) = batch.describe_job_queues(jobQueues=["ec2"])["jobQueues"]
    assert (shown["priority"], shown["computeEnvironmentOrder"]) == (2, order)


def test_changes_reach_an_sqs_queue_by_eventbridge(server: SandboxServer, batch: Any) -> None:
    sqs, events = client(server.endpoint_url, "sqs"), client(server.endpoint_url, "events")
    url = sqs.create_queue(QueueName="changes")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["aws.batch"], "detail-type": ["Batch Service Job State Change"]}
    events.put_rule(Name="changes", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="changes", Targets=[{"Id": "1", "Arn": arn}])
    make_queue(batch, "told")
    job_id = batch.submit_service_job(**submission("job", "told"))["jobId"]
    statuses = []

    def is_told() -> bool:
        for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            event = json.loads(message["Body"])
            assert event["resources"] == [f"arn:aws:batch:us-east-1:123456789012:service-job/{job_id}"]
            statuses.append(event["detail"]["status"])
        return "SUCCEEDED" in statuses

    wait_for(is_told)
    assert set(statuses) == {"RUNNABLE", "SCHEDULED", "STARTING", "RUNNING", "SUCCEEDED"}


def test_the_rest_of_batch_is_still_there(batch: Any) -> None:
    made = batch.register_job_definition(
        jobDefinitionName="container",
        type="container",
        containerProperties={"image": "busybox", "vcpus": 1, "memory": 128},
    )
    assert json.dumps(made["jobDefinitionArn"]).strip('"').endswith("container:1")
