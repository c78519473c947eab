"""Answers as they go out, held against those of moto's serializer, which walks the model anew for each."""

import json

import pytest
from moto.core.serialize import JSONSerializer
from moto.core.utils import get_service_model

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.answers import write_answer
from tests.unit.sandbox.builders import G5, P5, Bench, prefer, single, training


class Reference(JSONSerializer):
    def _serialize_type_timestamp(self, serialized, value, shape, key):
        self._default_serialize(serialized, round(value, 3), shape, key)


def as_moto_writes(operation: str, response: dict, service: str = "sagemaker") -> dict:
    serializer = Reference(get_service_model(service).operation_model(operation))
    return json.loads(serializer.serialize(response)["body"])


def check(bench: Bench, operation: str, request: dict, service: str = "sagemaker") -> dict:
    response = bench.call(operation, request)
    written = json.loads(write_answer(service, operation, response))
    assert written == as_moto_writes(operation, response, service)
    return written


REQUEST = {
    "HyperParameters": {"a": "1"},
    "Environment": {"B": "2"},
    "Tags": [{"Key": "task", "Value": "train"}],
    "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints"},
    "EnableNetworkIsolation": False,
    "InputDataConfig": [
        {
            "ChannelName": "train",
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/in"}},
            "ShuffleConfig": {"Seed": 7},
        }
    ],
    "RetryStrategy": {"MaximumRetryAttempts": 1},
}

ENDINGS = {
    "completes": Script(seconds=100.1234),
    "fails": Script.fails("AlgorithmError: exit code: 1", seconds=100),
    "stops": Script(seconds=1e6, stop_seconds=60),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_job_is_written_as_by_the_model_in_each_of_its_states(name):
    bench = Bench(ENDINGS, capacity={G5: [0, {"after": 60, "count": 1}]})
    bench.call("CreateTrainingJob", training(name, **REQUEST))
    seen = set()
    for second in range(300):
        written = check(bench, "DescribeTrainingJob", {"TrainingJobName": name})
        seen.add((written["TrainingJobStatus"], written["SecondaryStatus"]))
        check(bench, "ListTrainingJobs", {})
        bench.advance(1.0001)
        if second == 100 and name == "stops":
            bench.call("StopTrainingJob", {"TrainingJobName": name})
    assert ("InProgress", "Pending") in seen
    assert ("InProgress", "Training") in seen
    assert seen & {("Completed", "Completed"), ("Failed", "Failed"), ("Stopped", "Stopped")}


def test_processing_jobs_plans_searches_and_quotas_are_written_as_by_the_model():
    plan = {"name": "december", "type": P5, "count": 1, "blocks": [{"starts": 10.1234, "lasts": 3600}]}
    bench = Bench(plans=[plan])
    bench.train("nightly", prefer(G5), **REQUEST)
    bench.process()
    for _ in range(3):
        check(bench, "DescribeProcessingJob", {"ProcessingJobName": "job"})
        check(bench, "ListProcessingJobs", {})
        check(bench, "DescribeTrainingPlan", {"TrainingPlanName": "december"})
        check(bench, "ListTrainingPlans", {})
        check(bench, "Search", {"Resource": "TrainingJob"})
        check(bench, "ListTags", {"ResourceArn": bench.training("nightly")["TrainingJobArn"]})
        check(bench, "ListServiceQuotas", {"ServiceCode": "sagemaker"}, "service-quotas")
        bench.advance(60)


def test_members_that_an_answer_does_not_have_are_left_out():
    response = {"TrainingJobArn": "arn", "Made": "up"}
    assert json.loads(write_answer("sagemaker", "CreateTrainingJob", response)) == {"TrainingJobArn": "arn"}


def test_an_update_shows_at_once():
    bench = Bench(seconds=1000)
    bench.train("job", single(G5))
    before = check(bench, "DescribeTrainingJob", {"TrainingJobName": "job"})
    bench.call("UpdateTrainingJob", {"TrainingJobName": "job", "ProfilerConfig": {"DisableProfiler": True}})
    after = check(bench, "DescribeTrainingJob", {"TrainingJobName": "job"})
    assert after.keys() - before.keys() == {"ProfilerConfig"}
