from __future__ import annotations

import copy
import json
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from airflow_sm_prefer import on_demand, queued, spot, training_plan
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.preference import PreferenceList
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.placement.queueing import Terms
from airflow_sm_prefer.placement.request import Envelope, build_request, max_runtime, sent_pending_limit
from airflow_sm_prefer.placement.waves import Wave, compile_waves

PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
P5, P4, G5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.xlarge"
CONFIG: dict[str, Any] = {
    "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File"},
    "RoleArn": "arn:aws:iam::123456789012:role/r",
    "OutputDataConfig": {"S3OutputPath": "s3://b/o"},
    "ResourceConfig": {"VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
}
PROCESSING: dict[str, Any] = {
    "AppSpecification": {"ImageUri": "i"},
    "RoleArn": "arn:aws:iam::123456789012:role/r",
    "ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 30}},
}
MODEL = botocore.session.get_session().get_service_model("sagemaker")


def read(prefer: Any, config: dict[str, Any] = CONFIG, kind: JobKind = JobKind.TRAINING) -> PreferenceList:
    return parse_preferences(prefer, kind=kind, config=config, known_types=lambda _: True)


def built(prefer: Any, config: dict[str, Any] = CONFIG, kind: JobKind = JobKind.TRAINING, **how: Any) -> dict[str, Any]:
    preferences = read(prefer, config, kind)
    before = copy.deepcopy(config)
    (wave,) = compile_waves(preferences, native=how.get("native", True))
    wave = wave.without(how.get("without", frozenset()))
    request = build_request(kind, config, preferences, wave, Envelope("job-1", [{"Key": "k", "Value": "v"}], 7200))
    assert config == before
    shape = MODEL.operation_model(f"Create{kind.word}Job").input_shape
    report = ParamValidator().validate(request, shape)
    assert not report.has_errors(), report.generate_report()
    return request


@pytest.mark.parametrize(
    ("prefer", "waves"),
    [
        ([P5], [(0,)]),
        ([P5, P4, G5], [(0, 1, 2)]),
        ([P5, P5], [(0,), (1,)]),
        ([training_plan(P5, arn=PLAN), P4], [(0, 1)]),
        ([training_plan(P5, arn=PLAN), P5, P4], [(0,), (1, 2)]),
        ([training_plan(P5, arn=PLAN, wait_for_plan=True), P4], [(0,), (1,)]),
        ([P5, spot(P4), G5], [(0,), (1,), (2,)]),
        ([spot(P5), spot(P4)], [(0,), (1,)]),
        (["ml.g5.xlarge", "ml.g5.2xlarge", "ml.g5.4xlarge", "ml.g5.8xlarge", P4, P5], [(0, 1, 2, 3, 4), (5,)]),
        ([P5, on_demand(P4, hyperparameters={"a": "1"}), on_demand(G5, hyperparameters={"a": "1"})], [(0,), (1, 2)]),
    ],
)
def test_neighbours_share_a_wave_where_one_request_can_say_it(prefer: list[Any], waves: list[tuple[int, ...]]) -> None:
    assert [wave.indices for wave in compile_waves(read(prefer))] == waves


def test_without_native_lists_each_entry_goes_alone() -> None:
    waves = compile_waves(read([P5, P4]), native=False)
    assert [(wave.indices, wave.native) for wave in waves] == [((0,), False), ((1,), False)]


def test_a_request_that_says_it_by_itself_is_one_wave_without_entries() -> None:
    config = {**CONFIG, "ResourceConfig": {"InstanceGroups": [{"InstanceGroupName": "g", "InstanceCount": 1}]}}
    assert compile_waves(read(None, config)) == (Wave((0,), (), native=False),)


def test_a_list_goes_out_in_order_with_a_count_for_each_and_nothing_else_invented() -> None:
    request = built([training_plan(P5, arn=PLAN), on_demand(P4, count=2)])
    assert request["ResourceConfig"] == {
        "VolumeSizeInGB": 30,
        "InstancePreferences": [
            {"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": [PLAN]},
            {"InstanceType": P4, "InstanceCount": 2},
        ],
    }
    assert request["TrainingJobName"] == "job-1"
    assert request["Tags"] == [{"Key": "k", "Value": "v"}]
    assert request["StoppingCondition"] == {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200}


def test_awss_own_way_with_one_count_for_all_stays_so() -> None:
    config = {**CONFIG, "ResourceConfig": {"VolumeSizeInGB": 30, "InstanceCount": 4}}
    request = built([{"InstanceType": P5}, {"InstanceType": P4}], config)
    assert request["ResourceConfig"]["InstanceCount"] == 4
    assert request["ResourceConfig"]["InstancePreferences"] == [{"InstanceType": P5}, {"InstanceType": P4}]


def test_entries_can_be_left_out() -> None:
    request = built([P5, P4], without=frozenset({0}))
    assert request["ResourceConfig"]["InstancePreferences"] == [{"InstanceType": P4, "InstanceCount": 1}]


def test_one_entry_without_a_native_list_is_an_instance_type() -> None:
    request = built([training_plan(P5, arn=PLAN)], native=False)
    assert request["ResourceConfig"] == {
        "VolumeSizeInGB": 30,
        "InstanceType": P5,
        "InstanceCount": 1,
        "TrainingPlanArn": PLAN,
    }


def test_spot_goes_as_managed_spot_training_with_a_limit_for_waiting_and_running() -> None:
    request = built([spot(G5, count=2)])
    assert request["EnableManagedSpotTraining"] is True
    assert request["StoppingCondition"] == {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 3600 + 7200}
    assert max_runtime(request) == 3600 + 7200
    assert sent_pending_limit(request) is None


MIXED = {
    **CONFIG,
    "ResourceConfig": {"VolumeSizeInGB": 30, "KeepAlivePeriodInSeconds": 600},
    "StoppingCondition": {
        "MaxRuntimeInSeconds": 3600,
        "MaxWaitTimeInSeconds": 9000,
        "MaxPendingTimeInSeconds": 1800,
    },
}


@pytest.mark.parametrize(
    ("number", "spot_job", "stopping"),
    [
        (0, None, {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200}),
        (1, True, {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 9000}),
        (2, None, {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 7200}),
    ],
)
def test_each_wave_carries_the_limits_of_its_own_capacity(number: int, spot_job: Any, stopping: dict[str, int]) -> None:
    preferences = read([P5, spot(P4), on_demand(G5, max_runtime=60)], MIXED)
    wave = compile_waves(preferences)[number]
    request = build_request(JobKind.TRAINING, MIXED, preferences, wave, Envelope("job-1", [], 7200))
    assert request.get("EnableManagedSpotTraining") is spot_job
    assert request["StoppingCondition"] == stopping
    assert ("KeepAlivePeriodInSeconds" in request["ResourceConfig"]) is not bool(spot_job)


def test_a_spot_job_with_a_runtime_of_its_own_waits_at_least_as_long() -> None:
    request = built([spot(G5, max_runtime=50_000)])
    assert request["StoppingCondition"] == {"MaxRuntimeInSeconds": 50_000, "MaxWaitTimeInSeconds": 57_200}


def test_spot_without_a_stopping_condition_gets_awss_default_runtime() -> None:
    config = {key: value for key, value in CONFIG.items() if key != "StoppingCondition"}
    assert built([spot(G5)], config)["StoppingCondition"]["MaxRuntimeInSeconds"] == 86400


def test_a_cpu_list_is_sent_no_pending_limit_that_aws_would_ignore() -> None:
    request = built(["ml.m5.xlarge"])
    assert request["StoppingCondition"] == {"MaxRuntimeInSeconds": 3600}
    assert sent_pending_limit({**request, "StoppingCondition": {"MaxPendingTimeInSeconds": 1800}}) is None


def test_a_processing_request_has_a_list_and_no_pending_limit() -> None:
    request = built([G5, "ml.m5.xlarge"], PROCESSING, JobKind.PROCESSING)
    assert request["ProcessingResources"]["ClusterConfig"] == {
        "VolumeSizeInGB": 30,
        "InstancePreferences": [
            {"InstanceType": G5, "InstanceCount": 1},
            {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1},
        ],
    }
    assert "StoppingCondition" not in request


def test_overrides_change_the_request_and_the_users_tags_stay() -> None:
    config = {**CONFIG, "HyperParameters": {"a": "1", "b": "2"}, "Tags": [{"Key": "team", "Value": "ml"}]}
    request = built([on_demand(P5, hyperparameters={"b": 3}, environment={"MODE": "fast"})], config)
    assert request["HyperParameters"] == {"a": "1", "b": "3"}
    assert request["Environment"] == {"MODE": "fast"}
    assert [tag["Key"] for tag in request["Tags"]] == ["team", "k"]


def test_instance_groups_pass_unchanged_but_for_their_pending_limit() -> None:
    groups = [{"InstanceGroupName": "g", "InstanceCount": 1, "InstanceType": P5}]
    config = {**CONFIG, "ResourceConfig": {"VolumeSizeInGB": 30, "InstanceGroups": groups}}
    request = built(None, config)
    assert request["ResourceConfig"] == config["ResourceConfig"]
    assert sent_pending_limit(request) == 7200.0


def test_a_request_that_says_no_runtime_has_awss_default() -> None:
    assert max_runtime({}) == 86400


# -- through queues ------------------------------------------------------------------------------------------


def through(prefer: list[Any], config: dict[str, Any] = CONFIG, number: int = 0, terms: Terms | None = None) -> Any:
    """Return the waves of a list, and the request of one."""
    preferences = parse_preferences(
        prefer, kind=JobKind.TRAINING, config=config, known_types=lambda _: True, queues=Queues()
    )
    waves = compile_waves(preferences, native=True)
    sent = Envelope("job-1", [{"Key": "k", "Value": "v"}], 7200, inner_name="inner", token="token", priority=500)
    return waves, build_request(JobKind.TRAINING, config, preferences, waves[number], sent, terms=terms)


def test_each_entry_for_a_queue_goes_alone() -> None:
    waves, _ = through([queued(P5, "p5"), queued(P4, "p5"), on_demand(P5), on_demand(P4), queued(G5, "g5")])
    assert [wave.indices for wave in waves] == [(0,), (1,), (2, 3), (4,)]
    assert [wave.queue and wave.queue.name for wave in waves] == ["p5", "p5", None, "g5"]


def test_through_a_queue_the_request_is_a_payload_that_sagemaker_takes() -> None:
    config = {**CONFIG, "Tags": [{"Key": "team", "Value": "vision"}]}
    _, request = through([queued(P5, "p5", 2, share_identifier="a", training_plan_arn=PLAN)], config)
    payload = json.loads(request["serviceRequestPayload"])
    report = ParamValidator().validate(payload, MODEL.operation_model("CreateTrainingJob").input_shape)
    assert not report.has_errors(), report.generate_report()
    assert payload["TrainingJobName"] == "inner"
    assert payload["ResourceConfig"] == {
        "VolumeSizeInGB": 30, "InstanceType": P5, "InstanceCount": 2, "TrainingPlanArn": PLAN,
    }  # fmt: skip
    assert "MaxPendingTimeInSeconds" not in payload["StoppingCondition"], "Batch would only send it again at its end"
    assert (request["jobName"], request["jobQueue"], request["shareIdentifier"]) == ("job-1", "p5", "a")
    assert (request["clientToken"], request["schedulingPriority"]) == ("token", 500)
    assert request["tags"] == {"team": "vision", "k": "v"}


def test_what_a_queue_is_sent_has_the_terms_and_the_entrys_overrides() -> None:
    entry = queued(P5, "p5", hyperparameters={"batch": "64"}, max_runtime=60)
    _, request = through([entry], terms=Terms(retry_strategy={"attempts": 2}))
    assert request["retryStrategy"] == {"attempts": 2}
    assert json.loads(request["serviceRequestPayload"])["HyperParameters"] == {"batch": "64"}
    assert max_runtime(request) == 60.0


def test_no_limit_for_waiting_holds_in_a_queue() -> None:
    _, request = through([queued(P5, "p5")])
    assert sent_pending_limit(request) is None
    _, direct = through([queued(G5, "g5"), on_demand(P5)], number=1)
    assert sent_pending_limit(direct) == 7200.0
