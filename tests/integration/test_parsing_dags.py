"""What Airflow does with our operators in a DAG file: render, serialise, map, copy."""

from __future__ import annotations

import copy
import json
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk import DAG, task

try:
    from airflow.serialization.serialized_objects import DagSerialization
except ImportError:  # before Airflow 3.2
    from airflow.serialization.serialized_objects import SerializedDAG as DagSerialization

from airflow_sm_prefer import (
    SageMakerPreferProcessingOperator,
    SageMakerPreferTrainingOperator,
    on_demand,
    spot,
    training_plan,
)

from .harness import PROCESSING, TRAINING

PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"


def a_dag() -> DAG:
    with DAG("shapes", schedule=None) as dag:

        @task
        def build() -> dict[str, Any]:
            return {}

        built = build()
        common = {"config": TRAINING, "max_pending": timedelta(hours=6)}
        SageMakerPreferTrainingOperator(
            task_id="plain",
            prefer=[training_plan("ml.p5.48xlarge", arn=PLAN), on_demand("ml.p4d.24xlarge", count="{{ params.n }}")],
            **common,
        )
        SageMakerPreferTrainingOperator(task_id="jinja", prefer="{{ var.json.gpus }}", **common)
        SageMakerPreferTrainingOperator(task_id="built", config=built, prefer=built)
        SageMakerPreferTrainingOperator(
            task_id="spot", prefer=[spot("ml.g5.xlarge")], start_by="06:00", config=TRAINING
        )
        SageMakerPreferTrainingOperator.partial(task_id="lists", **common).expand(
            prefer=[["ml.g5.xlarge"], [on_demand("ml.g6.xlarge")]]
        )
        SageMakerPreferTrainingOperator.partial(task_id="configs", prefer=["ml.g5.xlarge"]).expand(config=[TRAINING])
        SageMakerPreferProcessingOperator(task_id="process", config=PROCESSING, prefer=["ml.m5.xlarge"])
    return dag


def test_two_parses_serialise_alike_so_that_the_dags_version_stays() -> None:
    first, second = (json.dumps(DagSerialization.to_dict(a_dag()), sort_keys=True) for _ in range(2))
    assert first == second
    assert "object at 0x" not in first


def test_what_is_serialised_has_the_links_and_comes_back() -> None:
    wire = DagSerialization.to_dict(a_dag())
    dag = DagSerialization.from_dict(json.loads(json.dumps(wire)))
    assert set(dag.task_ids) == {"build", "plain", "jinja", "built", "spot", "lists", "configs", "process"}
    assert set(dag.get_task("plain").operator_extra_link_dict) == {"SageMaker job", "CloudWatch logs"}


@pytest.mark.parametrize("name", ["plain", "jinja", "spot", "process"])
def test_an_operator_can_be_copied(name: str) -> None:
    operator = a_dag().get_task(name)
    assert copy.deepcopy(operator).prefer == operator.prefer


def test_templates_inside_helpers_are_rendered() -> None:
    operator = a_dag().get_task("plain")
    operator.render_template_fields({"params": {"n": 2}})
    assert operator.prefer[1]["InstanceCount"] == "2"
    assert operator.prefer[0]["TrainingPlanArns"] == [PLAN]


def test_a_list_that_jinja_renders_is_read_in_either_spelling() -> None:
    with DAG("rendered", schedule=None):
        operator = SageMakerPreferTrainingOperator(task_id="t", config=TRAINING, prefer="{{ params.types }}")
    operator.render_template_fields({"params": {"types": ["ml.g5.xlarge", "ml.g6.xlarge"]}})
    assert operator.prefer == "['ml.g5.xlarge', 'ml.g6.xlarge']"
