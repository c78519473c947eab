"""DAGs that were written for the Amazon provider's operators, with the class name changed."""

from __future__ import annotations

import inspect
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pytest
from airflow.providers.amazon.aws.operators.sagemaker import SageMakerProcessingOperator, SageMakerTrainingOperator
from airflow.sdk import DAG, task

from airflow_sm_prefer import SageMakerPreferProcessingOperator, SageMakerPreferTrainingOperator
from airflow_sm_prefer.errors import RequestRejected

from .harness import TaskInstance, airflow_and_sandbox, client

#: A request as people write it for the provider: the type in it, integers that came through a template.
TRAIN: dict[str, Any] = {
    "TrainingJobName": "churn-{{ ds_nodash }}",
    "AlgorithmSpecification": {"TrainingImage": "xgboost:1.7", "TrainingInputMode": "File"},
    "RoleArn": "arn:aws:iam::123456789012:role/service-role/execution",
    "InputDataConfig": [
        {
            "ChannelName": "train",
            "ContentType": "text/csv",
            "DataSource": {
                "S3DataSource": {
                    "S3DataType": "S3Prefix",
                    "S3Uri": "s3://lake/churn/{{ ds }}/",
                    "S3DataDistributionType": "FullyReplicated",
                }
            },
        }
    ],
    "HyperParameters": {"num_round": "100", "max_depth": "{{ params.depth }}"},
    "OutputDataConfig": {"S3OutputPath": "s3://lake/models/"},
    "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": "{{ params.count }}", "VolumeSizeInGB": "30"},
    "StoppingCondition": {"MaxRuntimeInSeconds": "{{ params.hours * 3600 }}"},
    "EnableNetworkIsolation": "{{ params.isolated }}",
}

PROCESS: dict[str, Any] = {
    "ProcessingJobName": "features-{{ ds_nodash }}",
    "AppSpecification": {
        "ImageUri": "sklearn:1.2",
        "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/x.py"],
    },
    "RoleArn": "arn:aws:iam::123456789012:role/execution",
    "ProcessingResources": {
        "ClusterConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": "{{ params.count }}", "VolumeSizeInGB": 30}
    },
    "ProcessingOutputConfig": {
        "Outputs": [
            {
                "OutputName": "features",
                "AppManaged": "False",
                "S3Output": {
                    "S3Uri": "s3://lake/features/",
                    "LocalPath": "/opt/ml/processing/output",
                    "S3UploadMode": "EndOfJob",
                },
            }
        ]
    },
}

VALUES = {
    "ds": "2026-11-30",
    "ds_nodash": "20261130",
    "params": {"count": 1, "hours": 1, "depth": 6, "isolated": False, "type": "ml.m5.large"},
}


def train(config: Any = TRAIN, **arguments: Any) -> SageMakerPreferTrainingOperator:
    return SageMakerPreferTrainingOperator(**{"task_id": "train", "config": config, **arguments})


def process(config: Any = PROCESS, **arguments: Any) -> SageMakerPreferProcessingOperator:
    return SageMakerPreferProcessingOperator(**{"task_id": "train", "config": config, **arguments})


def rendered(operator: Any, **values: Any) -> Any:
    operator.render_template_fields({**VALUES, **values}, jinja2.Environment())
    return operator


def plain(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(jinja2.Environment().from_string(json.dumps(config)).render(VALUES))
    return {**made, **changes}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (SageMakerTrainingOperator, SageMakerPreferTrainingOperator),
        (SageMakerProcessingOperator, SageMakerPreferProcessingOperator),
    ],
)
def test_every_argument_of_theirs_is_one_of_ours(theirs: type, ours: type) -> None:
    def named(operator: type) -> dict[str, inspect.Parameter]:
        found: dict[str, inspect.Parameter] = {}
        for parent in operator.__mro__:
            signature = inspect.signature(parent.__init__)
            found = dict(signature.parameters) | found
        return {name: p for name, p in found.items() if p.kind in {p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD}}

    missing = named(theirs).keys() - named(ours).keys()
    assert missing == set()
    same = {"wait_for_completion", "print_log", "check_interval", "max_ingestion_time", "action_if_job_exists"}
    for name in same:
        assert named(ours)[name].default == named(theirs)[name].default


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_templated_request_runs_and_gives_what_downstream_tasks_read(deferrable: bool) -> None:
    with airflow_and_sandbox() as airflow:
        result = airflow.run(rendered(train(deferrable=deferrable, aws_conn_id="aws_default", retries=2)))
        job = result["Training"]
        assert job["ModelArtifacts"]["S3ModelArtifacts"].startswith("s3://lake/models/churn-20261130")
        assert job["TrainingJobName"].startswith("churn-20261130")
        assert job["TrainingJobArn"].endswith(job["TrainingJobName"])
        assert job["ResourceConfig"]["InstanceCount"] == 1
        assert job["StoppingCondition"]["MaxRuntimeInSeconds"] == 3600
        assert job["EnableNetworkIsolation"] is False
        assert job["HyperParameters"]["max_depth"] == "6"


def test_a_processing_request_gives_what_downstream_tasks_read() -> None:
    with airflow_and_sandbox() as airflow:
        result = airflow.run(rendered(process()))
        outputs = result["Processing"]["ProcessingOutputConfig"]["Outputs"]
        assert outputs[0]["S3Output"]["S3Uri"] == "s3://lake/features/"
        assert result["Processing"]["ProcessingJobName"].startswith("features-20261130")


def test_a_whole_request_from_one_template_runs() -> None:
    with airflow_and_sandbox() as airflow:
        operator = train("{{ ti.xcom_pull(task_ids='build', key='config') }}")
        ti = TaskInstance()
        ti.xcom_pull = lambda **_: plain(TRAIN)  # type: ignore[attr-defined]
        assert airflow.run(rendered(operator, ti=ti), ti)["Training"]["TrainingJobStatus"] == "Completed"


def test_requests_come_from_an_upstream_task_one_by_one_or_mapped() -> None:
    with DAG("drop_in", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:

        @task
        def build() -> dict[str, Any]:
            return plain(TRAIN)

        @task
        def several() -> list[dict[str, Any]]:
            return [plain(TRAIN)]

        setup = build()
        train(setup, task_id="one")
        train(setup["training"], task_id="a_key_of_one")
        SageMakerPreferTrainingOperator.partial(
            task_id="mapped", aws_conn_id="aws_default", check_interval=10, deferrable=True, prefer=["ml.m5.large"]
        ).expand(config=several())
        SageMakerPreferProcessingOperator.partial(task_id="listed", wait_for_completion=True).expand(
            config=[plain(PROCESS), plain(PROCESS)]
        )
    assert dag.get_task("one").upstream_task_ids == {"build"}
    assert dag.get_task("a_key_of_one").upstream_task_ids == {"build"}
    assert dag.get_task("mapped").upstream_task_ids == {"several"}
    assert dag.get_task("listed").is_mapped


def test_a_template_that_names_an_upstream_task_by_its_output() -> None:
    with DAG("by_output", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):

        @task
        def digest() -> str:
            return "abc"

        written = {**TRAIN, "TrainingJobName": f"model-{digest()}"}
        assert "xcom_pull" in train(written).config["TrainingJobName"]


def test_what_is_set_on_the_operator_later_holds() -> None:
    with airflow_and_sandbox() as airflow:
        operator = train(plain(TRAIN))
        operator.wait_for_completion = False
        assert airflow.run(operator)["Training"]["TrainingJobStatus"] == "InProgress"
        assert airflow.deferrals == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"wait_for_completion": True, "check_interval": 10, "print_log": True},
        {"print_log": False, "max_ingestion_time": 3600},
        {"action_if_job_exists": "timestamp", "check_if_job_exists": True},
        {"action_if_job_exists": "fail"},
        {"max_attempts": 480, "deferrable": True},
        {"region_name": "us-east-1", "verify": False, "botocore_config": {"read_timeout": 60}},
    ],
)
def test_their_arguments_run(arguments: dict[str, Any]) -> None:
    with airflow_and_sandbox() as airflow:
        assert airflow.run(train(plain(TRAIN), **arguments))["Training"]["TrainingJobStatus"] == "Completed"


def test_a_role_by_name_is_looked_up() -> None:
    with airflow_and_sandbox() as airflow:
        client(airflow, "iam").create_role(RoleName="execution", AssumeRolePolicyDocument="{}")
        result = airflow.run(train(plain(TRAIN, RoleArn="execution")))
        assert result["Training"]["RoleArn"] == "arn:aws:iam::123456789012:role/execution"


def test_s3_operations_come_first(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("print('hello')\n")
    operations = {
        "S3CreateBucket": [{"Bucket": "code"}],
        "S3Upload": [{"Path": str(script), "Bucket": "code", "Key": "source.tar.gz", "Tar": True}],
    }
    with airflow_and_sandbox() as airflow:
        assert airflow.run(train(plain(TRAIN, S3Operations=operations)))["Training"]["TrainingJobStatus"] == "Completed"
        assert client(airflow, "s3").head_object(Bucket="code", Key="source.tar.gz")["ContentLength"] > 0


SHAPES: dict[str, dict[str, Any]] = {
    "no name": {"TrainingJobName": None},
    "a long name with underscores": {"TrainingJobName": "a_name_" * 15},
    "no stopping condition": {"StoppingCondition": None},
    "managed spot": {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200},
        "CheckpointConfig": {"S3Uri": "s3://lake/checkpoints/"},
    },
    "managed spot by template": {
        "EnableManagedSpotTraining": "True",
        "StoppingCondition": {"MaxRuntimeInSeconds": "3600", "MaxWaitTimeInSeconds": "7200"},
    },
    "a warm pool": {
        "ResourceConfig": {
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
            "KeepAlivePeriodInSeconds": "600",
        }
    },
    "a retry strategy": {"RetryStrategy": {"MaximumRetryAttempts": "2"}},
    "an experiment and tags": {
        "ExperimentConfig": {"ExperimentName": "churn", "TrialName": "nightly"},
        "Tags": [{"Key": "team", "Value": "ml"}],
    },
    "a network": {"VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}},
    "metrics": {
        "AlgorithmSpecification": {
            "TrainingImage": "xgboost:1.7",
            "TrainingInputMode": "File",
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss: ([0-9.]+)"}],
        }
    },
}


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES.keys())
def test_their_requests_run(changes: dict[str, Any]) -> None:
    config = {key: value for key, value in plain(TRAIN, **changes).items() if value is not None}
    with airflow_and_sandbox() as airflow:
        result = airflow.run(train(config))
        assert result["Training"]["TrainingJobStatus"] == "Completed"
        assert len(result["Training"]["TrainingJobName"]) <= 63
        assert len(airflow.jobs()) == 1


def test_groups_of_instances_are_sent_as_they_are() -> None:
    groups = [
        {"InstanceType": "ml.m5.large", "InstanceCount": 1, "InstanceGroupName": "a"},
        {"InstanceType": "ml.c5.xlarge", "InstanceCount": "1", "InstanceGroupName": "b"},
    ]
    with airflow_and_sandbox() as airflow:
        operator = train(plain(TRAIN, ResourceConfig={"VolumeSizeInGB": 30, "InstanceGroups": groups}))
        with pytest.raises(RequestRejected, match="This sandbox does not run InstanceGroups"):
            airflow.run(operator)
        assert len(airflow.calls("CreateTrainingJob")) == 1


def test_the_request_that_was_handed_in_is_left_as_it_was() -> None:
    config = plain(TRAIN, S3Operations={"S3CreateBucket": [{"Bucket": "mine"}]})
    before = json.dumps(config)
    with airflow_and_sandbox() as airflow:
        airflow.run(train(config))
    assert json.dumps(config) == before


def test_a_submission_takes_three_calls_at_most() -> None:
    with airflow_and_sandbox() as airflow:
        airflow.begin(train(plain(TRAIN), deferrable=True), TaskInstance())
        assert len(airflow.control.record("call")) <= 3
