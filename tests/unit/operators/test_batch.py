"""The operator for job queues: what Airflow sees of it, and what it hands on."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_sm_prefer import BatchPreferTrainingOperator, SageMakerPreferTrainingOperator, on_demand, queued
from airflow_sm_prefer.errors import InvalidInput
from airflow_sm_prefer.hooks.batch import BatchPreferHook
from airflow_sm_prefer.links import JobLink, JobLogLink, JobQueueLink
from airflow_sm_prefer.model.preference import Queue
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.placement.queueing import Terms
from airflow_sm_prefer.triggers.batch import BatchPreferTrigger
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
CONFIG: dict[str, Any] = {
    "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File"},
    "RoleArn": "arn:aws:iam::123456789012:role/training",
    "OutputDataConfig": {"S3OutputPath": "s3://b/o"},
    "ResourceConfig": {"VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
}


def operator(**arguments: Any) -> BatchPreferTrainingOperator:
    return BatchPreferTrainingOperator(
        **{"task_id": "train", "config": CONFIG, "prefer": [queued(P5, "p5")], **arguments}
    )


def test_it_is_deferred_to_the_trigger_that_knows_queues_and_has_their_hook() -> None:
    made = operator()
    assert made.trigger_class is BatchPreferTrigger
    assert isinstance(made.hook, BatchPreferHook)
    direct = SageMakerPreferTrainingOperator(task_id="direct", config=CONFIG, prefer=[G5])
    assert direct.trigger_class is SageMakerPreferTrigger
    assert (direct.queues(), direct.terms(rendered=True), direct.read_queues(["p5"])) == (None, Terms(), {})


def test_it_links_to_the_job_its_queue_and_its_log() -> None:
    assert [type(link) for link in operator().operator_extra_links] == [JobLink, JobQueueLink, JobLogLink]


def test_what_differs_by_run_is_a_template() -> None:
    given = {"config", "prefer", "job_queue", "share_identifier", "quota_share", "scheduling_priority", "tags"}
    assert given <= set(BatchPreferTrainingOperator.template_fields)
    assert set(SageMakerPreferTrainingOperator.template_fields) <= set(BatchPreferTrainingOperator.template_fields)


def test_its_arguments_are_read_as_queues_and_terms() -> None:
    made = operator(job_queue="p5", share_identifier="a", scheduling_priority="research", tags={"team": "vision"})
    assert made.queues() == Queues(Queue("p5", "a"))
    assert made.terms(rendered=True) == Terms(priority=500, tags={"team": "vision"})


def test_a_copy_and_a_mapping_have_its_arguments() -> None:
    made = operator(job_queue="p5", scheduling_priority=0)
    again = copy.deepcopy(made)
    assert (again.job_queue, again.scheduling_priority) == ("p5", 0)
    with DAG("mapped", schedule=None):
        BatchPreferTrainingOperator.partial(task_id="train", config=CONFIG, job_queue="p5").expand(
            scheduling_priority=["production", "sweep"]
        )


def test_the_role_may_be_a_name_that_is_looked_up_when_the_task_runs() -> None:
    assert operator(config={**CONFIG, "RoleArn": "training"})
    with pytest.raises(InvalidInput, match="RoleArn"):
        operator(config={**CONFIG, "RoleArn": "arn:aws:s3:::no-role-at-all"})


def test_what_is_still_a_template_is_not_judged_where_it_is_written() -> None:
    late = {**CONFIG, "OutputDataConfig": {"S3OutputPath": "{{ params.out }}"}, "HyperParameters": {"lr": "x" * 2501}}
    assert operator(config=late)
    assert operator(job_queue="{{ params.queue }}", prefer=[G5])
    assert operator(prefer="{{ params.prefer }}")
    assert operator(scheduling_priority="{{ params.priority }}", tags="{{ params.tags }}")


@pytest.mark.parametrize(
    ("prefer", "job_queue", "works"),
    [
        ([G5], None, False),
        ([on_demand(G5)], "g5", False),
        ([on_demand(G5), queued(P5)], "p5", True),
        ([on_demand(G5), queued(P5, "p5")], None, True),
        ([G5], "g5", True),
    ],
)
def test_at_least_one_entry_is_for_a_queue(prefer: list[Any], job_queue: str | None, works: bool) -> None:
    if works:
        assert operator(prefer=prefer, job_queue=job_queue)
    else:
        remedy = r"Give job_queue" if job_queue is None else r"for job_queue write queued\("
        with pytest.raises(InvalidInput, match=f"Nothing on the list is for a job queue.*{remedy}"):
            operator(prefer=prefer, job_queue=job_queue)
