"""What containers are told of their job."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_sm_prefer.sandbox.runner.environment import (
    accelerators,
    base_environment,
    input_data_config,
    job_environment,
    resource_config,
)
from tests.unit.sandbox.runner.builders import channel, processing, training


def test_nothing_of_this_machine_reaches_a_job_but_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE", "HTTP_PROXY", "https_proxy", "SECRET"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    told = base_environment(training(), "/home/of/job", "/tmp/of/job")
    assert "x" not in told.values()
    assert told["OMP_NUM_THREADS"] == "2"
    assert told["HOME"] == "/home/of/job"
    assert told["TMPDIR"] == "/tmp/of/job"
    assert told["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert told["AWS_REGION"] == told["AWS_DEFAULT_REGION"] == "us-east-1"


def test_a_machine_without_a_path_gives_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert base_environment(training(), "/h", "/t")["PATH"] == os.defpath


def test_a_job_knows_its_name_and_what_was_asked_for() -> None:
    asked = {"A": "1", "TRAINING_JOB_NAME": "mine"}
    told = job_environment(training(Environment=asked))
    assert told == {**asked, "TRAINING_JOB_ARN": "arn:aws:sagemaker:us-east-1:123456789012:training-job/job"}
    assert set(job_environment(processing())) == {"PROCESSING_JOB_NAME", "PROCESSING_JOB_ARN"}


def test_a_job_on_a_plan_knows_when_its_block_ends_as_the_sample_of_awss_page_reads_it() -> None:
    told = job_environment(replace(training(), block_ends=1_800_000_000.75))
    read = datetime.fromtimestamp(int(told["SAGEMAKER_CURRENT_CAPACITY_BLOCK_EXPIRATION_TIMESTAMP"]), UTC)
    assert read == datetime(2027, 1, 15, 8, tzinfo=UTC)


def test_a_job_on_no_plan_is_told_of_no_block() -> None:
    assert set(job_environment(training())) == {"TRAINING_JOB_NAME", "TRAINING_JOB_ARN"}


@pytest.mark.parametrize(
    ("instance_type", "count"),
    [("ml.g5.12xlarge", (4, 0)), ("ml.trn1.32xlarge", (0, 16)), ("ml.m5.xlarge", (0, 0)), ("ml.new.large", (0, 0))],
)
def test_accelerators_are_counted_by_kind(instance_type: str, count: tuple[int, int]) -> None:
    assert accelerators(instance_type) == count


def test_each_channel_is_told_as_it_is_there() -> None:
    fast = {**channel("fast", "s3://data/x"), "InputMode": "FastFile", "ContentType": "text/csv"}
    sharded = channel("sharded", "s3://data/x", S3DataDistributionType="ShardedByS3Key")
    recorded = {**channel("recorded", "s3://data/x"), "RecordWrapperType": "RecordIO"}
    told = input_data_config(training(InputDataConfig=[fast, sharded, recorded]).request)
    plain = {"TrainingInputMode": "File", "S3DistributionType": "FullyReplicated", "RecordWrapperType": "None"}
    assert told == {
        "fast": {**plain, "ContentType": "text/csv"},
        "sharded": {**plain, "S3DistributionType": "ShardedByS3Key"},
        "recorded": {**plain, "RecordWrapperType": "RecordIO"},
    }


def test_a_job_without_channels_has_none() -> None:
    assert input_data_config(training(InputDataConfig=None).request) == {}


def test_the_cluster_is_told_host_by_host() -> None:
    hosts = ["algo-1", "algo-2"]
    assert resource_config(training(hosts=2), "algo-2", hosts) == {
        "current_host": "algo-2",
        "current_instance_type": "ml.g5.12xlarge",
        "current_group_name": "homogeneousCluster",
        "hosts": hosts,
        "instance_groups": [
            {"instance_group_name": "homogeneousCluster", "instance_type": "ml.g5.12xlarge", "hosts": hosts}
        ],
        "network_interface_name": "lo",
    }
