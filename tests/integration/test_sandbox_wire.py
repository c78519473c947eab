"""An unmodified boto3 client against the sandbox's endpoint."""

import datetime as dt
import json
import time
import urllib.error
import urllib.request

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from botocore.validate import ParamValidator

from airflow_sm_prefer.sandbox import SandboxControl, SandboxServer, Script, ScriptedRunner
from tests.integration import aws
from tests.unit.sandbox.builders import CPU, G5, P5, PLAN, prefer, processing, single, training

RATES_OFF = {"rates": False}


def client(server: SandboxServer, service: str = "sagemaker", **config):
    return aws.client(server.endpoint_url, service, **config)


def serve(scenario=None, scripts=None, seconds=0.2, **more) -> SandboxServer:
    runner = ScriptedRunner(scripts, Script(seconds=seconds))
    return SandboxServer({**RATES_OFF, **(scenario or {})}, runner=runner, **more)


def wait_for(condition, seconds: float = 10):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
    return value


def check_shape(operation: str, response: dict) -> None:
    """Fail unless botocore's model has every member, with the right type and within its bounds."""
    model = botocore.session.get_session().get_service_model("sagemaker").operation_model(operation)
    members = {key: value for key, value in response.items() if key != "ResponseMetadata"}
    # Until there are artifacts, Describe has none; the model calls them required all the same.
    if operation == "DescribeTrainingJob":
        members.setdefault("ModelArtifacts", {"S3ModelArtifacts": "s3://"})
    report = ParamValidator().validate(members, model.output_shape)
    assert not report.has_errors(), report.generate_report()
    assert not _nulls(members)


def _nulls(value) -> bool:
    if isinstance(value, dict):
        return any(_nulls(member) for member in value.values())
    if isinstance(value, list):
        return any(_nulls(member) for member in value)
    return value is None


def test_every_response_is_valid_by_botocores_model():
    plans = [{"name": "december", "type": P5, "count": 1}]
    with serve({"capacity": {G5: 0}, "plans": plans}) as server:
        sagemaker = client(server)
        responses = [
            ("CreateTrainingJob", sagemaker.create_training_job(**training("waits"))),
            ("CreateTrainingJob", sagemaker.create_training_job(**training("runs", prefer(P5)))),
            ("CreateProcessingJob", sagemaker.create_processing_job(**processing())),
            ("DescribeTrainingJob", sagemaker.describe_training_job(TrainingJobName="waits")),
        ]
        for name in ("runs",):
            wait_for(
                lambda name=name: (
                    sagemaker.describe_training_job(TrainingJobName=name)["TrainingJobStatus"] == "Completed"
                )
            )
        arn = responses[0][1]["TrainingJobArn"]
        responses += [
            ("DescribeTrainingJob", sagemaker.describe_training_job(TrainingJobName="runs")),
            ("DescribeProcessingJob", sagemaker.describe_processing_job(ProcessingJobName="job")),
            ("ListTrainingJobs", sagemaker.list_training_jobs(MaxResults=1)),
            ("ListProcessingJobs", sagemaker.list_processing_jobs()),
            ("AddTags", sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "a", "Value": "b"}])),
            ("ListTags", sagemaker.list_tags(ResourceArn=arn)),
            ("DescribeTrainingPlan", sagemaker.describe_training_plan(TrainingPlanName="december")),
            ("ListTrainingPlans", sagemaker.list_training_plans()),
        ]
        for operation, response in responses:
            check_shape(operation, response)


def test_every_member_of_a_request_comes_back():
    request = training(
        resources=prefer(G5),
        HyperParameters={"a": "1"},
        Environment={"B": "2"},
        InputDataConfig=[
            {
                "ChannelName": "train",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/in"}},
            }
        ],
        CheckpointConfig={"S3Uri": "s3://bucket/checkpoints"},
        EnableNetworkIsolation=False,
    )
    with serve({"capacity": {G5: 0}}) as server:
        sagemaker = client(server)
        sagemaker.create_training_job(**request)
        shown = sagemaker.describe_training_job(TrainingJobName="job")
        assert has_all(shown, request)


def has_all(shown, request) -> bool:
    """Whether everything that was asked for is shown, whatever else is."""
    if isinstance(request, dict):
        return all(has_all(shown[key], value) for key, value in request.items())
    if isinstance(request, list):
        return len(shown) == len(request) and all(map(has_all, shown, request))
    return shown == request


def test_times_are_instants_of_now():
    with serve() as server:
        before = dt.datetime.now(tz=dt.UTC) - dt.timedelta(milliseconds=2)
        sagemaker = client(server)
        sagemaker.create_training_job(**training())
        created = sagemaker.describe_training_job(TrainingJobName="job")["CreationTime"]
        assert before <= created <= dt.datetime.now(tz=dt.UTC)
        later = created + dt.timedelta(seconds=1)
        assert not sagemaker.list_training_jobs(CreationTimeAfter=later)["TrainingJobSummaries"]
        assert sagemaker.list_training_jobs(CreationTimeBefore=later)["TrainingJobSummaries"]


def test_boto3s_waiters_and_paginators_work():
    with serve() as server:
        sagemaker = client(server)
        for number in range(3):
            sagemaker.create_training_job(**training(f"job-{number}"))
        waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
        waiter.wait(TrainingJobName="job-0", WaiterConfig={"Delay": 1, "MaxAttempts": 10})
        pages = sagemaker.get_paginator("list_training_jobs").paginate(PaginationConfig={"PageSize": 1})
        rows = [row["TrainingJobName"] for page in pages for row in page["TrainingJobSummaries"]]
        assert rows == ["job-2", "job-1", "job-0"]


@pytest.mark.parametrize(
    ("scenario", "request_", "exception", "code"),
    [
        ({}, training(resources=prefer(G5, G5)), "ClientError", "ValidationException"),
        (
            {"quotas": {f"{G5} for training job usage": 0}},
            training(),
            "ResourceLimitExceeded",
            "ResourceLimitExceeded",
        ),
    ],
)
def test_refusals_are_boto3s_exceptions(scenario, request_, exception, code):
    with serve(scenario) as server:
        sagemaker = client(server)
        with pytest.raises(getattr(sagemaker.exceptions, exception)) as caught:
            sagemaker.create_training_job(**request_)
        assert caught.value.response["Error"]["Code"] == code
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_name_in_use_is_a_modelled_exception():
    with serve() as server:
        sagemaker = client(server)
        sagemaker.create_training_job(**training())
        with pytest.raises(sagemaker.exceptions.ResourceInUse):
            sagemaker.create_training_job(**training())


def test_too_many_calls_are_throttled():
    with serve({"rates": {}}) as server:
        sagemaker = client(server, retries={"total_max_attempts": 1})
        sagemaker.create_training_job(**training("a"))
        with pytest.raises(ClientError, match="Rate exceeded") as caught:
            sagemaker.create_training_job(**training("b"))
        assert caught.value.response["Error"]["Code"] == "ThrottlingException"


def test_a_dropped_connection_may_leave_the_job_behind():
    fault = {"operation": "CreateTrainingJob", "error": "drop", "takes_effect": True}
    with serve({"call_faults": [fault]}) as server:
        sagemaker = client(server, retries={"total_max_attempts": 1})
        with pytest.raises(ConnectionClosedError):
            sagemaker.create_training_job(**training())
        assert sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobStatus"] == "InProgress"


def test_events_reach_a_queue_some_twice():
    with serve({"settings": {"double_events_every": 2}}) as server:
        queue = _event_queue(server)
        sagemaker = client(server)
        sagemaker.create_training_job(**training(Tags=[{"Key": "a", "Value": "b"}]))
        wait_for(lambda: sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobStatus"] == "Completed")
        events = _drain(server, queue, until=lambda found: found and _secondary(found[-1]) == "Completed")
        statuses = [_secondary(event) for event in events]
        assert list(dict.fromkeys(statuses)) == ["Starting", "Downloading", "Training", "Completed"]
        assert len(statuses) > len(set(statuses))
        last = events[-1]
        assert last["detail-type"] == "SageMaker Training Job State Change"
        assert last["source"] == "aws.sagemaker"
        assert last["resources"] == ["arn:aws:sagemaker:us-east-1:123456789012:training-job/job"]
        assert last["detail"]["CreationTime"] > 1_600_000_000_000
        assert last["detail"]["Tags"] == {"a": "b"}
        assert last["detail"]["ResourceConfig"]["SelectedInstanceType"] == G5


def test_processing_jobs_send_events_of_their_own():
    with serve({"settings": {"double_events_every": 0}}) as server:
        queue = _event_queue(server)
        client(server).create_processing_job(**processing())
        events = _drain(server, queue, until=lambda found: len(found) == 2)
        assert {event["detail-type"] for event in events} == {"SageMaker Processing Job State Change"}
        assert {event["detail"]["ProcessingJobStatus"] for event in events} == {"InProgress", "Completed"}


def _event_queue(server: SandboxServer) -> str:
    sqs, events = client(server, "sqs"), client(server, "events")
    queue = sqs.create_queue(QueueName="events")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="jobs", EventPattern=json.dumps({"source": ["aws.sagemaker"]}))
    events.put_targets(Rule="jobs", Targets=[{"Id": "queue", "Arn": arn}])
    return queue


def _drain(server: SandboxServer, queue: str, until) -> list[dict]:
    sqs = client(server, "sqs")
    found: list[dict] = []

    def receive() -> bool:
        for message in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
            found.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return until(found)

    wait_for(receive)
    return found


def _secondary(event: dict) -> str:
    return event["detail"]["SecondaryStatus"]


def test_everything_else_is_motos():
    with serve() as server:
        s3 = client(server, "s3")
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="a/b", Body=b"content")
        assert s3.get_object(Bucket="bucket", Key="a/b")["Body"].read() == b"content"
        url = s3.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "a/b"})
        with urllib.request.urlopen(url) as response:
            assert response.read() == b"content"
        assert client(server, "sts").get_caller_identity()["Account"] == "123456789012"
        sagemaker = client(server)
        assert sagemaker.list_models()["Models"] == []


def test_accounts_and_regions_have_their_own_jobs_of_the_same_name():
    with serve({"plans": [{"name": "december", "type": P5, "count": 1, "blocks": [{"lasts": "24h"}]}]}) as server:
        role = "arn:aws:iam::111122223333:role/any"
        key = client(server, "sts").assume_role(RoleArn=role, RoleSessionName="other")["Credentials"]
        other = {
            "aws_access_key_id": key["AccessKeyId"],
            "aws_secret_access_key": key["SecretAccessKey"],
            "aws_session_token": key["SessionToken"],
        }
        first = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        number = {"aws_access_key_id": "444455556666", "aws_secret_access_key": "secret"}
        for keys, account in ((first, "123456789012"), (other, "111122223333"), (number, "444455556666")):
            for region in ("us-east-1", "eu-west-1"):
                place = {"endpoint_url": server.endpoint_url, "region_name": region, **keys}
                there = boto3.client("sagemaker", **place)
                arn = f"arn:aws:sagemaker:{region}:{account}"
                assert there.list_training_jobs()["TrainingJobSummaries"] == []
                assert there.create_training_job(**training())["TrainingJobArn"] == f"{arn}:training-job/job"
                plans = there.list_training_plans()["TrainingPlanSummaries"]
                assert [plan["TrainingPlanArn"] for plan in plans] == [f"{arn}:training-plan/december"]
                assert boto3.client("sts", **place).get_caller_identity()["Account"] == account


def test_tags_of_other_resources_are_motos():
    with serve() as server:
        sagemaker = client(server)
        role = "arn:aws:iam::123456789012:role/model"
        arn = sagemaker.create_model(ModelName="m", ExecutionRoleArn=role, Tags=[{"Key": "a", "Value": "b"}])
        assert sagemaker.list_tags(ResourceArn=arn["ModelArn"])["Tags"] == [{"Key": "a", "Value": "b"}]


def test_each_server_begins_with_an_empty_backdrop():
    for _ in range(2):
        with serve() as server:
            client(server, "s3").create_bucket(Bucket="bucket")
            assert len(client(server, "s3").list_buckets()["Buckets"]) == 1


class TestGuards:
    SIGNED = "AWS4-HMAC-SHA256 Credential=k/20261130/us-east-1/sagemaker/aws4_request, SignedHeaders=host, Signature=0"

    def ask(self, server: SandboxServer, path: str = "/", **headers: str) -> int:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(server.endpoint_url + path, data=b"{}", headers=names)
        try:
            with urllib.request.urlopen(request) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_a_signed_call_from_this_machine_is_answered(self):
        with serve() as server:
            target = "SageMaker.ListTrainingJobs"
            assert self.ask(server, Authorization=self.SIGNED, X_Amz_Target=target) == 200

    @pytest.mark.parametrize(
        "headers",
        [
            {"X_Amz_Target": "SageMaker.ListTrainingJobs"},
            {"Authorization": SIGNED, "Origin": "http://evil.example"},
            {"Authorization": SIGNED, "Host": "evil.example"},
            {"Authorization": "Bearer x"},
        ],
    )
    def test_anything_else_is_refused(self, headers):
        with serve() as server:
            assert self.ask(server, **headers) == 403

    def test_motos_own_pages_are_refused_too(self):
        with serve() as server:
            assert self.ask(server, "/moto-api/reset") == 403

    def test_the_control_api_is_refused_to_pages_and_without_its_header(self):
        with serve() as server:
            for headers in ({}, {"X_Sm_Prefer_Sandbox": "control", "Origin": "http://evil.example"}):
                assert self.ask(server, "/_sandbox/state", **headers) == 403

    def test_a_body_that_is_not_json(self):
        with serve() as server:
            request = urllib.request.Request(
                server.endpoint_url,
                data=b"[1",
                headers={"Authorization": self.SIGNED, "X-Amz-Target": "SageMaker.ListTrainingJobs"},
            )
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request)
            assert json.loads(caught.value.read())["__type"] == "SerializationException"


class TestControl:
    def test_capacity_comes_and_a_waiting_job_starts(self):
        with serve({"capacity": {G5: 0}}) as server:
            sagemaker, control = client(server), SandboxControl(server.endpoint_url)
            sagemaker.create_training_job(**training())
            assert sagemaker.describe_training_job(TrainingJobName="job")["SecondaryStatus"] == "Pending"
            control.set_capacity({G5: 1})
            assert sagemaker.describe_training_job(TrainingJobName="job")["SecondaryStatus"] != "Pending"
            assert control.state()["capacity"]["on_demand"] == {G5: 1}

    def test_the_record_tells_what_has_happened(self):
        with serve() as server:
            sagemaker, control = client(server), SandboxControl(server.endpoint_url)
            sagemaker.create_training_job(**training(Tags=[{"Key": "a", "Value": "b"}]))
            wait_for(lambda: control.jobs()[0]["status"] == "Completed")
            assert control.most_live(tag=("a", "b"), prefix="jo") == 1
            assert control.most_live(tag=("a", "c")) == 0
            assert control.record("call")[0]["operation"] == "CreateTrainingJob"
            states = [entry["secondary"] for entry in control.record("state")]
            assert states[0] == "Starting"
            assert states[-1] == "Completed"

    def test_quotas_plans_rates_and_faults_change_while_it_runs(self):
        with serve(seconds=60) as server:
            sagemaker = client(server, retries={"total_max_attempts": 1})
            control = SandboxControl(server.endpoint_url)
            control.change(
                quotas={f"{G5} for training job usage": 0},
                plans=[{"name": "december", "type": P5, "count": 1, "blocks": [{"lasts": "2h"}]}],
                call_faults=[{"operation": "ListTrainingJobs", "error": "InternalFailure", "times": 2}],
                job_faults=[{"job": "on-plan", "reason": "ClientError: no"}],
            )
            with pytest.raises(sagemaker.exceptions.ResourceLimitExceeded):
                sagemaker.create_training_job(**training())
            with pytest.raises(ClientError, match="InternalFailure"):
                sagemaker.list_training_jobs()
            control.clear_faults()
            sagemaker.list_training_jobs()
            assert sagemaker.describe_training_plan(TrainingPlanName="december")["Status"] == "Active"
            control.change(job_faults=[{"job": "on-plan", "reason": "ClientError: no"}])
            sagemaker.create_training_job(**training("on-plan", single(P5, TrainingPlanArn=PLAN)))
            job = wait_for(lambda: next(j for j in control.jobs() if j["status"] == "Failed"))
            assert job["capacity"] == "training_plan"
            control.change(rates={"ListTrainingJobs": 0.01})
            sagemaker.list_training_jobs()
            with pytest.raises(ClientError, match="Rate exceeded"):
                sagemaker.list_training_jobs()
            assert control.record("control")[0]["sections"] == ["call_faults", "job_faults", "plans", "quotas"]

    def test_spot_capacity_is_set_apart(self):
        with serve(seconds=60) as server:
            control = SandboxControl(server.endpoint_url)
            control.set_capacity({CPU: 0}, kind="spot")
            assert control.state()["capacity"] == {"on_demand": {}, "spot": {CPU: 0}}

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"capacity": {"ml.g5.xlrge": 1}}, "did you mean ml.g5.xlarge"),
            ({"settings": {}}, "settings: not to be changed while the sandbox runs"),
        ],
    )
    def test_a_mistake_is_told(self, change, words):
        with serve() as server, pytest.raises(ValueError, match=words):
            SandboxControl(server.endpoint_url).change(**change)
