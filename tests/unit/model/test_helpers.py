"""The helpers write plain dicts: AWS's keys, and a few of ours."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.helpers import on_demand, queued, spot, training_plan

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/p5"


def test_on_demand_without_more_says_only_the_type():
    assert on_demand("ml.g5.xlarge") == {"InstanceType": "ml.g5.xlarge", "Capacity": "on_demand"}


def test_a_plan_is_named_in_awss_key():
    assert training_plan("ml.p5.48xlarge", ARN, count=2, wait_for_plan=True) == {
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 2,
        "Capacity": "training_plan",
        "TrainingPlanArns": [ARN],
        "WaitForPlan": True,
    }
    assert "WaitForPlan" not in training_plan("ml.p5.48xlarge", arn=ARN)


def test_overrides_are_kept_together_and_spans_become_seconds():
    written = spot("ml.g5.xlarge", count="{{ n }}", hyperparameters={"a": 1}, max_runtime=timedelta(hours=2))
    assert written == {
        "InstanceType": "ml.g5.xlarge",
        "InstanceCount": "{{ n }}",
        "Capacity": "spot",
        "Overrides": {"hyperparameters": {"a": 1}, "max_runtime": 7200},
    }
    assert json.loads(json.dumps(written)) == written


def test_every_value_may_be_a_template():
    written = training_plan(
        "{{ t }}", "{{ arn }}", count="{{ n }}", wait_for_plan="{{ w }}", environment="{{ e }}", image="{{ i }}"
    )
    assert written["WaitForPlan"] == "{{ w }}"
    assert written["Overrides"] == {"environment": "{{ e }}", "image": "{{ i }}"}


def test_an_unknown_argument_is_refused_with_a_suggestion():
    with pytest.raises(InvalidPreference, match=r"Did you mean hyperparameters\?") as caught:
        on_demand("ml.g5.xlarge", hyper_parameters={"a": "1"})
    assert str(caught.value).startswith("on_demand('ml.g5.xlarge'): there is no override 'hyper_parameters'")


def test_a_queue_is_named_in_batchs_keys_and_what_is_not_given_is_left_out():
    written = queued("ml.p5.48xlarge", "p5", 2, share_identifier="research", training_plan_arn=ARN)
    assert written == {
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 2,
        "JobQueue": "p5",
        "ShareIdentifier": "research",
        "TrainingPlanArns": [ARN],
    }
    assert json.loads(json.dumps(written)) == written
    assert queued("ml.p5.48xlarge", quota_share="vision") == {
        "InstanceType": "ml.p5.48xlarge",
        "JobQueue": None,
        "QuotaShareName": "vision",
    }


def test_an_override_that_there_is_not_is_refused_where_it_is_written():
    with pytest.raises(InvalidPreference, match=r"queued\('ml.p5.48xlarge'\)"):
        queued("ml.p5.48xlarge", "p5", chekpoint="s3://b/c")
