"""The account's quotas, read before the first submission."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_sm_prefer import SageMakerPreferProcessingOperator, SageMakerPreferTrainingOperator
from airflow_sm_prefer.errors import InvalidInput

from .harness import PROCESSING, TRAINING, TaskInstance, airflow_and_sandbox

P5, P4, M5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.m5.xlarge"


def training(**arguments: Any) -> SageMakerPreferTrainingOperator:
    arguments = {"prefer": [P5, P4], "check_quotas": True, **arguments}
    return SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, **arguments)


def test_an_entry_without_quota_is_left_out_before_aws_refuses_it(capsys: pytest.CaptureFixture[str]) -> None:
    with airflow_and_sandbox({"quotas": {f"{P5} for training job usage": 0}}) as airflow:
        result = airflow.run(training())
        assert result["decision"]["selected_instance_type"] == P4
        assert result["decision"]["waves"][0]["verdict"] == "quota_zero"
        assert [call["error"] for call in airflow.calls("CreateTrainingJob")] == [""]
    said = capsys.readouterr().out
    assert f"Left out for good: entry 1 asks for 1 x {P5}, and the quota '{P5} for training job usage' is 0" in said


def test_if_none_is_left_nothing_is_submitted_and_airflow_does_not_retry() -> None:
    quotas = {f"{name} for training job usage": 0 for name in (P5, P4)}
    with airflow_and_sandbox({"quotas": quotas}) as airflow:
        with pytest.raises(InvalidInput, match="quotas let no entry in") as refused:
            airflow.run(training())
        assert isinstance(refused.value, AirflowFailException)
        assert not airflow.calls("CreateTrainingJob")


def test_a_processing_job_is_held_to_its_own_quotas() -> None:
    quotas = {f"{M5} for processing job usage": 0, f"{M5} for training job usage": 4}
    with airflow_and_sandbox({"quotas": quotas}) as airflow:
        operator = SageMakerPreferProcessingOperator(
            task_id="prep", config=PROCESSING, prefer=[M5, "ml.m5.2xlarge"], check_quotas=True
        )
        result = airflow.run(operator)
        assert result["decision"]["selected_instance_type"] == "ml.m5.2xlarge"


@pytest.mark.parametrize("error", ["AccessDeniedException", "ThrottlingException", "drop"])
def test_quotas_that_can_not_be_read_hold_nothing_up(error: str) -> None:
    once = {"retries": {"total_max_attempts": 1}}
    with airflow_and_sandbox({"call_faults": [{"operation": "*", "error": error, "times": 1}]}) as airflow:
        assert airflow.run(training(botocore_config=once))["decision"]["selected_instance_type"] == P5
        calls = [call["operation"] for call in airflow.control.record("call")]
        assert calls[:2] == ["ListServiceQuotas", "CreateTrainingJob"]


def test_quotas_are_not_read_unless_that_is_asked_for() -> None:
    with airflow_and_sandbox() as airflow:
        airflow.run(training(check_quotas=False))
        assert not airflow.calls("ListServiceQuotas")


def test_a_job_that_is_watched_again_is_not_held_to_quotas() -> None:
    with airflow_and_sandbox({"capacity": {P5: 0, P4: 0}}) as airflow:
        ti = TaskInstance(max_tries=1)
        airflow.begin(training(), ti)
        airflow.control.change(quotas={f"{name} for training job usage": 0 for name in (P5, P4)})
        read = len(airflow.calls("ListServiceQuotas"))
        airflow.begin(training(), ti.retried())
        assert len(airflow.calls("ListServiceQuotas")) == read
        assert len(airflow.jobs()) == 1


# -- accelerators --------------------------------------------------------------------------------------------


def test_a_list_that_changes_the_global_batch_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with airflow_and_sandbox({"capacity": {P5: 0, "ml.g5.xlarge": [0, {"after": "10m", "count": 1}]}}) as airflow:
        airflow.run(training(prefer=[P5, "ml.g5.xlarge"], check_quotas=False))
    said = capsys.readouterr().out
    assert said.count("the global batch changes") == 1
    assert "entry 2 has 1 A10G (1 x ml.g5.xlarge)" in said
