import inspect
import json
import logging

import boto3
import pytest
from botocore.exceptions import NoCredentialsError
from botocore.loaders import JSONFileLoader
from botocore.stub import Stubber

from airflow_sm_prefer.aws import pacing
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook, is_loopback
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.batch_priority import BatchUpdatePriorityOperator
from airflow_sm_prefer.operators.queue_metrics import QueueMetricsOperator
from airflow_sm_prefer.operators.reconcile import SageMakerReconcileOperator
from airflow_sm_prefer.operators.sagemaker import SageMakerPreferTrainingOperator

SANDBOX = "http://127.0.0.1:4566"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """Keep this machine's AWS and Airflow settings out, and the process's buckets to the test."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_MAX_ATTEMPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret-key")
    monkeypatch.setattr(pacing, "_shared", {})


@pytest.fixture
def connect(monkeypatch):
    def add(conn_id, **extra):
        connection = {"conn_type": "aws", "login": "login-key", "password": "secret-key", "extra": extra}
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(connection))

    return add


def every_client(hook):
    return [hook.conn, hook.logs_client, hook.s3_client, hook.client_for("sts"), hook.client_for("iam")]


def test_every_client_has_the_hooks_region_verification_and_configuration(monkeypatch):
    made = {}
    whole = boto3.session.Session.client

    def client(self, service_name, **kwargs):
        made[service_name] = (self.region_name, kwargs["verify"], kwargs["config"].read_timeout)
        return whole(self, service_name, **kwargs)

    monkeypatch.setattr(boto3.session.Session, "client", client)
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="eu-west-1", verify=False, config={"read_timeout": 7})
    every_client(hook)
    assert made == dict.fromkeys(("sagemaker", "logs", "s3", "sts", "iam"), ("eu-west-1", False, 7))


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        (SageMakerPreferTrainingOperator, {"config": "{{ params.job }}"}),
        (SageMakerReconcileOperator, {}),
        (QueueMetricsOperator, {}),
        (BatchUpdatePriorityOperator, {"job": "id", "priority": 1}),
    ],
)
def test_the_user_agent_names_the_operator_and_nobody_reads_sources_for_it(operator, arguments, monkeypatch):
    made = operator(task_id="task", aws_conn_id=None, region_name="eu-west-1", **arguments)
    monkeypatch.setattr(inspect, "stack", None)
    said = made.hook.conn.meta.config.user_agent_extra
    assert f"Caller/{operator.__name__}" in said
    assert "Airflow/" in said
    assert "AmPP/" in said


def test_every_client_goes_where_the_connection_says(connect):
    connect("sandbox", endpoint_url=SANDBOX, region_name="us-west-2")
    for client in every_client(SageMakerPreferHook(aws_conn_id="sandbox")):
        assert client.meta.endpoint_url == SANDBOX
    assert SageMakerPreferHook(aws_conn_id="sandbox").conn_region_name == "us-west-2"


def test_botocores_models_and_endpoints_are_read_once_for_all_hooks(monkeypatch):
    def clients():
        hook = SageMakerPreferHook(aws_conn_id=None, region_name="us-east-1")
        return hook.conn, hook.logs_client

    clients()
    read = []
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda _, path: read.append(path))
    clients()
    assert read == []


def test_the_retry_mode_is_set_for_every_client():
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2")
    for client in every_client(hook):
        assert client.meta.config.retries == {"mode": "standard", "total_max_attempts": 3}


def test_what_the_user_says_of_the_client_holds():
    hook = SageMakerPreferHook(
        aws_conn_id=None, region_name="us-west-2", config={"retries": {"mode": "adaptive", "total_max_attempts": 9}}
    )
    assert hook.conn.meta.config.retries == {"mode": "adaptive", "total_max_attempts": 9}
    assert hook.conn.meta.config.connect_timeout == 10


def test_what_the_connection_says_of_the_client_holds(connect):
    connect("slow", region_name="us-west-2", config_kwargs={"read_timeout": 300})
    config = SageMakerPreferHook(aws_conn_id="slow").conn.meta.config
    assert (config.read_timeout, config.retries["mode"]) == (300, "standard")


def test_a_connection_that_is_not_there_is_an_error_and_not_the_default_credentials():
    with pytest.raises(InvalidSetting, match="aws_conn_id='nowhere'"):
        _ = SageMakerPreferHook(aws_conn_id="nowhere", region_name="us-west-2").conn


@pytest.mark.parametrize("conn_id", [None, "", "aws_default"])
def test_without_a_connection_of_ones_own_the_default_credentials_serve(conn_id):
    assert SageMakerPreferHook(aws_conn_id=conn_id, region_name="us-west-2").conn


def test_each_kind_of_job_has_its_calls_and_all_share_their_pace():
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2")
    training = hook.jobs(JobKind.TRAINING)
    assert training.kind is JobKind.TRAINING
    assert hook.jobs(JobKind.TRAINING) is training
    assert hook.jobs(JobKind.PROCESSING).kind is JobKind.PROCESSING
    assert SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2").pacing is hook.pacing
    assert SageMakerPreferHook(aws_conn_id=None, region_name="eu-west-1").pacing is not hook.pacing


def test_calls_keep_to_the_rates_of_the_settings(monkeypatch):
    monkeypatch.setenv("AIRFLOW__SM_PREFER__STOP_RATE", "0.25")
    calls = SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2").pacing
    calls.acquire("StopTrainingJob")
    assert calls.acquire("StopTrainingJob") == pytest.approx(4.0, abs=0.1)


def test_a_training_plan_is_read_with_the_same_client():
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2")
    with Stubber(hook.conn) as stub:
        stub.add_response(
            "describe_training_plan", {"TrainingPlanArn": "a" * 50, "TrainingPlanName": "n", "Status": "Active"}
        )
        assert hook.plans.status("arn:aws:sagemaker:us-west-2:123456789012:training-plan/n").status == "Active"


def test_a_role_that_is_an_arn_is_not_looked_up():
    hook = SageMakerPreferHook(aws_conn_id="nowhere")
    assert hook.expand_role("arn:aws:iam::123456789012:role/r") == "arn:aws:iam::123456789012:role/r"


def test_a_role_is_looked_up_in_the_hooks_region_with_its_verification(monkeypatch):
    seen = {}

    class Session:
        def client(self, **kwargs):
            seen.update(kwargs)
            return self

        def get_role(self, RoleName):
            return {"Role": {"Arn": f"arn:aws:iam::123456789012:role/{RoleName}"}}

    def get_session(_self, region_name=None, **_):
        seen["region"] = region_name
        return Session()

    monkeypatch.setattr(SageMakerPreferHook, "get_session", get_session)
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="eu-west-1", verify="/ca.pem")
    assert hook.expand_role("r") == "arn:aws:iam::123456789012:role/r"
    assert (seen["region"], seen["verify"], seen["service_name"]) == ("eu-west-1", "/ca.pem", "iam")


def test_s3_operations_are_carried_out_and_the_callers_config_stays_whole():
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="eu-west-1")
    config = {"TrainingJobName": "n", "S3Operations": {"S3CreateBucket": [{"Bucket": "bucket"}]}}
    with Stubber(hook.s3_client) as stub:
        stub.add_response(
            "create_bucket",
            {},
            {"Bucket": "bucket", "CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}},
        )
        assert hook.configure_s3_resources(config) == {"TrainingJobName": "n"}
        stub.assert_no_pending_responses()
    assert "S3Operations" in config


def test_a_config_without_s3_operations_needs_no_s3(monkeypatch):
    monkeypatch.setattr(SageMakerPreferHook, "s3_client", None)
    hook = SageMakerPreferHook(aws_conn_id=None)
    assert hook.configure_s3_resources({"TrainingJobName": "n"}) == {"TrainingJobName": "n"}


def test_a_jobs_log_is_read_to_its_end_and_asked_for_once():
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2")
    group, stream = "/aws/sagemaker/ProcessingJobs", "job/algo-1-1"
    streams = {"logGroupName": group, "logStreamNamePrefix": "job/"}
    page = {"logGroupName": group, "logStreamName": stream, "startFromHead": True, "limit": 10_000}
    events = [{"timestamp": at, "message": line} for at, line in enumerate("ab")]
    with Stubber(hook.logs_client) as stub:
        stub.add_response("describe_log_streams", {"logStreams": [{"logStreamName": stream}]}, streams)
        stub.add_response("get_log_events", {"events": events, "nextForwardToken": "f/2"}, page)
        after = {**page, "limit": 9_998, "nextToken": "f/2"}
        stub.add_response("get_log_events", {"events": [], "nextForwardToken": "f/2"}, after)
        assert list(hook.log_lines(JobKind.PROCESSING, "job")) == ["a", "b"]
        stub.assert_no_pending_responses()


def test_a_log_that_is_not_there_is_said_once_and_fails_nothing(caplog):
    hook = SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2")
    with Stubber(hook.logs_client) as stub, caplog.at_level(logging.INFO):
        stub.add_client_error("describe_log_streams", "ResourceNotFoundException", "no group")
        assert list(hook.log_lines(JobKind.TRAINING, "job")) == []


@pytest.mark.parametrize(
    ("url", "here"),
    [
        (SANDBOX, True),
        ("http://localhost:4566", True),
        ("http://LOCALHOST.:4566", True),
        ("http://sagemaker.localhost:4566/", True),
        ("http://[::1]:4566", True),
        ("http://127.8.0.1", True),
        ("https://api.sagemaker.us-west-2.amazonaws.com", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://user:localhost@example.com", False),
        ("http://10.0.0.1", False),
        ("http://0.0.0.0", False),
        ("", False),
    ],
)
def test_an_endpoint_on_this_machine_is_told_from_all_others(url, here):
    assert is_loopback(url) is here


def test_an_endpoint_that_the_environment_sets_counts(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", SANDBOX)
    assert SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2").is_loopback_endpoint()


def test_another_speed_than_the_clocks_is_for_the_sandbox_only(connect, monkeypatch):
    connect("sandbox", endpoint_url=SANDBOX, region_name="us-west-2")
    monkeypatch.setenv("AIRFLOW__SM_PREFER__CLOCK_SPEED", "60")
    assert SageMakerPreferHook(aws_conn_id="sandbox").clock_speed == 60.0
    with pytest.raises(InvalidSetting, match="clock_speed"):
        _ = SageMakerPreferHook(aws_conn_id=None, region_name="us-west-2").clock_speed


@pytest.mark.parametrize(
    ("region", "partition"), [("us-west-2", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")]
)
def test_the_partition_is_that_of_the_region(region, partition):
    assert SageMakerPreferHook(aws_conn_id=None, region_name=region).console_partition == partition


def test_the_sandbox_has_no_console(connect):
    connect("sandbox", endpoint_url=SANDBOX, region_name="us-west-2")
    assert SageMakerPreferHook(aws_conn_id="sandbox").console_partition is None


class Identity:
    asked = 0

    def get_caller_identity(self):
        self.asked += 1
        return {"Account": "123456789012"}


def test_the_account_is_asked_for_once(monkeypatch):
    identity = Identity()
    monkeypatch.setattr(SageMakerPreferHook, "client_for", lambda _self, _service: identity)
    hook = SageMakerPreferHook(aws_conn_id=None)
    assert [hook.known_account_id, hook.known_account_id] == ["123456789012"] * 2
    assert identity.asked == 1


def test_an_account_that_can_not_be_asked_for_is_none(monkeypatch):
    class Refusing:
        def get_caller_identity(self):
            raise NoCredentialsError

    monkeypatch.setattr(SageMakerPreferHook, "client_for", lambda _self, _service: Refusing())
    assert SageMakerPreferHook(aws_conn_id=None).known_account_id is None
