"""The training toolkit's ways: which program it runs, with what options and variables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner.toolkit import arguments, command, parsed, program_of, toolkit_environment
from tests.unit.sandbox.runner.builders import channel, training

HYPERPARAMETERS = {
    "sagemaker_program": '"train.py"',
    "sagemaker_submit_directory": '"s3://data/source.tar.gz"',
    "sagemaker_container_log_level": "10",
    "sagemaker_mpi_enabled": "true",
    "batch-size": "64",
    "name": '"a b"',
}


def scripted(**more: Any) -> Any:
    algorithm = {"TrainingImage": "i", "TrainingInputMode": "File"}
    return training(AlgorithmSpecification=algorithm, HyperParameters=HYPERPARAMETERS, **more)


def test_the_toolkit_runs_a_program_that_is_named_unless_the_container_has_an_entrypoint() -> None:
    assert program_of(scripted().request) == "train.py"
    assert program_of(training(HyperParameters=HYPERPARAMETERS).request) is None
    assert program_of(training(AlgorithmSpecification={"TrainingImage": "i"}).request) is None


def test_a_program_that_is_no_python_is_run_by_a_shell() -> None:
    options = {"epochs": "3"}
    assert command("train.py", "/usr/bin/python3", options) == ["/usr/bin/python3", "train.py", "--epochs", "3"]
    assert command("train.sh", "/usr/bin/python3", options) == ["/bin/sh", "-c", "./train.sh --epochs 3"]


def test_hyperparameters_become_options() -> None:
    assert arguments({"b": "1", "all": '{"y": 2, "x": 1}', "none": "null", "sagemaker_program": "x"}) == [
        "--all",
        "x=1,y=2",
        "-b",
        "1",
        "--none",
        "",
    ]


@pytest.mark.parametrize(("value", "read"), [('"a"', "a"), ("3", 3), ("plain", "plain"), ("", "")])
def test_values_are_json_where_they_are_some(value: str, read: object) -> None:
    assert parsed(value) == read


def test_variables_are_the_toolkits() -> None:
    told = toolkit_environment(
        scripted(hosts=2, InputDataConfig=[channel("train", "s3://data/x"), channel("my-test", "s3://data/y")]),
        "algo-2",
        ["algo-1", "algo-2"],
    )
    assert told["SM_HPS"] == '{"batch-size":64,"name":"a b"}'
    assert told["SM_HP_BATCH-SIZE"] == "64"
    assert told["SM_HP_NAME"] == "a b"
    assert told["SM_CHANNELS"] == '["my-test","train"]'
    assert told["SM_CHANNEL_TRAIN"] == "/opt/ml/input/data/train"
    assert told["SM_CHANNEL_MY-TEST"] == "/opt/ml/input/data/my-test"
    assert told["SM_HOSTS"] == '["algo-1","algo-2"]'
    assert told["SM_CURRENT_HOST"] == "algo-2"
    assert told["SM_NUM_GPUS"] == "4"
    assert told["SM_LOG_LEVEL"] == "10"
    assert told["SM_FRAMEWORK_PARAMS"] == '{"sagemaker_mpi_enabled":true}'
    assert told["SM_FRAMEWORK_MODULE"] == ""
    assert told["SM_USER_ENTRY_POINT"] == "train.py"
    assert told["SM_MODULE_NAME"] == "train"
    assert told["SM_MODULE_DIR"] == "s3://data/source.tar.gz"
    assert told["SM_USER_ARGS"] == '["--batch-size","64","--name","a b"]'
    assert told["SM_IS_HETERO"] == "false"
    assert told["PYTHONPATH"] == "/opt/ml/code"
    assert json.loads(told["SM_INSTANCE_GROUPS_DICT"])["homogeneousCluster"]["hosts"] == ["algo-1", "algo-2"]
    whole = json.loads(told["SM_TRAINING_ENV"])
    assert whole["hyperparameters"] == {"batch-size": 64, "name": "a b"}
    assert whole["is_master"] is False
    assert whole["resource_config"]["current_host"] == "algo-2"
    assert not [name for name in told if name in {"SM_HYPERPARAMETERS", "SM_CHANNEL_INPUT_DIRS"}]
