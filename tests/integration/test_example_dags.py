"""The example DAGs that people copy: they load, serialise, and mean what their comments say."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_sm_prefer import SageMakerPreferTrainingOperator
from airflow_sm_prefer.aws.instance_types import is_known
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.preference import PreferenceList
from airflow_sm_prefer.model.rules import validate_request
from airflow_sm_prefer.placement.waves import compile_waves

try:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.serialization.serialized_objects import DagSerialization
except ImportError:  # before Airflow 3.2
    from airflow.models.dagbag import DagBag
    from airflow.serialization.serialized_objects import SerializedDAG as DagSerialization

DAGS = Path(__file__).parents[2] / "dags"

#: The requests that each one's list goes out as, by the entries' numbers from 0.
WAVES = {
    "reserved_then_on_demand": ((0,), (1, 2)),
    "spot_then_on_demand": ((0,), (1,), (2, 3)),
    "resume_from_checkpoint": ((0,), (1, 2)),
    "settings_by_type": ((0,), (1,), (2,), (3,)),
    "mapped_models": ((0, 1, 2),),
}
VARIABLES = {
    "training_plan_arn": "arn:aws:sagemaker:us-east-1:123456789012:training-plan/december",
    "training_bucket": "models-of-ours",
    "training_role": "arn:aws:iam::123456789012:role/training",
    "training_image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1",
    "training_neuron_image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1-neuron",
}


@pytest.fixture(scope="module")
def dags() -> dict[str, Any]:
    bag = DagBag(str(DAGS))
    assert not bag.import_errors
    return bag.dags


def rendered(dag: Any) -> tuple[dict[str, Any], Any]:
    """Return the request and the list of a DAG's training task; of a mapped one, the first of its requests."""
    task = dag.task_dict["train"]
    if not isinstance(task, SageMakerPreferTrainingOperator):
        arguments = {**task.partial_kwargs, "config": task.expand_input.value["config"][0]}
        kept = {key: arguments[key] for key in ("config", "prefer", "max_pending")}
        task = SageMakerPreferTrainingOperator(task_id="train", **kept)
    task = task.prepare_for_execution()
    run = SimpleNamespace(run_after=datetime(2026, 11, 30, tzinfo=UTC))
    task.render_template_fields({"var": {"value": VARIABLES}, "dag_run": run, "params": dict(dag.params)})
    return task.config, task.prefer


def read(prefer: Any, config: dict[str, Any]) -> PreferenceList:
    known = partial(is_known, JobKind.TRAINING)
    return parse_preferences(prefer, kind=JobKind.TRAINING, config=config, known_types=known)


@pytest.mark.parametrize("name", WAVES)
def test_it_begins_paused_and_says_what_it_is_for(dags: dict[str, Any], name: str) -> None:
    assert dags[name].is_paused_upon_creation is True
    assert dags[name].catchup is False
    assert "Copy this" in dags[name].doc_md


@pytest.mark.parametrize("name", WAVES)
def test_it_serialises_without_an_objects_address(dags: dict[str, Any], name: str) -> None:
    assert "object at 0x" not in json.dumps(DagSerialization.to_dict(dags[name]))


@pytest.mark.parametrize(("name", "waves"), WAVES.items())
def test_its_list_is_sound_and_goes_out_as_its_comments_say(dags: dict[str, Any], name: str, waves: Any) -> None:
    config, prefer = rendered(dags[name])
    preferences = read(prefer, config)
    validate_request(config, preferences, JobKind.TRAINING)
    assert tuple(wave.indices for wave in compile_waves(preferences)) == waves
    assert "{{" not in json.dumps(config)


@pytest.mark.parametrize("name", ["spot_then_on_demand", "resume_from_checkpoint"])
def test_what_may_be_started_again_has_its_checkpoints_in_a_place_of_the_runs_own(
    dags: dict[str, Any], name: str
) -> None:
    assert dags[name].task_dict["train"].recover == 3
    place = rendered(dags[name])[0]["CheckpointConfig"]["S3Uri"]
    assert place.startswith("s3://models-of-ours/")
    assert "20261130T000000" in place


def test_settings_by_type_leave_what_they_do_not_name(dags: dict[str, Any]) -> None:
    config, prefer = rendered(dags["settings_by_type"])
    preferences = read(prefer, config)
    sent = [entry.overrides.apply(config, JobKind.TRAINING) for entry in preferences]
    assert [request["HyperParameters"]["batch_size"] for request in sent] == ["64", "32", "16", "32"]
    assert {request["HyperParameters"]["epochs"] for request in sent} == {"10"}
    assert sent[2]["StoppingCondition"]["MaxRuntimeInSeconds"] == 48 * 3600
    assert sent[3]["AlgorithmSpecification"]["TrainingImage"] == VARIABLES["training_neuron_image"]


def result(model: str, loss: float) -> dict[str, Any]:
    return {
        "decision": {"selected_instance_type": "ml.g5.12xlarge"},
        "Training": {
            "TrainingJobName": model,
            "FinalMetricDataList": [{"MetricName": "validation:loss", "Value": loss}],
            "ModelArtifacts": {"S3ModelArtifacts": f"s3://b/{model}/model.tar.gz"},
        },
    }


def test_the_best_of_the_mapped_models_is_picked(dags: dict[str, Any]) -> None:
    pick = dags["mapped_models"].task_dict["pick"]
    assert pick.python_callable([result("small", 0.5), result("large", 0.2)]) == "s3://b/large/model.tar.gz"


def test_every_mapped_model_has_a_request_of_its_own(dags: dict[str, Any]) -> None:
    configs = dags["mapped_models"].task_dict["train"].expand_input.value["config"]
    assert [config["TrainingJobName"] for config in configs] == ["mapped-small", "mapped-medium", "mapped-large"]
    assert len({config["OutputDataConfig"]["S3OutputPath"] for config in configs}) == 3
