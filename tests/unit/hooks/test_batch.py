"""What calls AWS Batch has the same connection as what calls SageMaker."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

from airflow_sm_prefer.aws import pacing
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.queues import QueuesApi
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.aws.service_jobs import ServiceJobsApi
from airflow_sm_prefer.hooks.batch import BatchPreferHook
from airflow_sm_prefer.model.job import JobKind


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_MAX_ATTEMPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret-key")
    monkeypatch.setattr(pacing, "_shared", {})


def a_hook(**more: Any) -> BatchPreferHook:
    return BatchPreferHook(aws_conn_id=None, region_name="us-west-2", **more)


def test_training_jobs_may_be_in_queues_and_processing_jobs_are_in_none() -> None:
    hook = a_hook()
    training = hook.jobs(JobKind.TRAINING)
    assert isinstance(training, RoutedJobs)
    assert training.queued is hook.service_jobs
    assert isinstance(hook.jobs(JobKind.PROCESSING), JobsApi)
    assert hook.jobs(JobKind.PROCESSING).kind is JobKind.PROCESSING


def test_the_client_for_batch_is_made_when_it_is_needed_with_the_hooks_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: dict[str, Any] = {}
    whole = boto3.session.Session.client

    def client(self: Any, service_name: str, **kwargs: Any) -> Any:
        made[service_name] = (self.region_name, kwargs["verify"], kwargs["config"].read_timeout)
        return whole(self, service_name, **kwargs)

    monkeypatch.setattr(boto3.session.Session, "client", client)
    hook = a_hook(verify=False, config={"read_timeout": 7})
    hook.jobs(JobKind.TRAINING)
    assert "batch" not in made
    assert isinstance(hook.service_jobs, ServiceJobsApi)
    assert isinstance(hook.queues, QueuesApi)
    assert made["batch"] == ("us-west-2", False, 7)


def test_calls_to_batch_keep_to_the_same_pace_as_all_others() -> None:
    hook = a_hook()
    assert a_hook().pacing is hook.pacing
    waits = [hook.pacing.acquire("SubmitServiceJob") for _ in range(50)]
    assert waits[-1] > 5.0
