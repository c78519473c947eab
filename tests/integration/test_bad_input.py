"""What can't work is refused before AWS hears of it, where it is written and where it is rendered alike."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import jinja2
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_sm_prefer import (
    SageMakerPreferProcessingOperator,
    SageMakerPreferTrainingOperator,
    spot,
    training_plan,
)
from airflow_sm_prefer.errors import InvalidInput

from .harness import PROCESSING, TRAINING, Airflow, TaskInstance, airflow_and_sandbox

P5, P4D, G5, M5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.xlarge", "ml.m5.xlarge"
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/december"
OPERATORS = {"training": SageMakerPreferTrainingOperator, "processing": SageMakerPreferProcessingOperator}
CONFIGS = {"training": TRAINING, "processing": PROCESSING}
RESOURCES = {"training": ("ResourceConfig",), "processing": ("ProcessingResources", "ClusterConfig")}
MOST_LINES = 5


def aws(*types: str, **more: Any) -> list[dict[str, Any]]:
    return [{"InstanceType": name, **more} for name in types]


class Case:
    """One mistake: where the config differs, the list, and what the message has to say."""

    def __init__(self, kind: str, says: list[str], prefer: Any = None, resources: Any = None, **config: Any) -> None:
        self.kind, self.says, self.prefer = kind, says, prefer
        self.config = deepcopy(CONFIGS[kind]) | deepcopy(config)
        part = self.config
        for key in RESOURCES[kind]:
            part = part[key]
        part.update(resources or {})


def both(says: list[str], prefer: Any = None, resources: Any = None, **config: Any) -> dict[str, Case]:
    return {kind: Case(kind, says, prefer, resources, **config) for kind in OPERATORS}


def only(kind: str, says: list[str], prefer: Any = None, resources: Any = None, **config: Any) -> dict[str, Case]:
    return {kind: Case(kind, says, prefer, resources, **config)}


SIX = [*aws(G5, "ml.g5.2xlarge", "ml.g5.4xlarge", "ml.g5.8xlarge", "ml.g5.12xlarge", "ml.g5.16xlarge")]

MISTAKES: dict[str, dict[str, Case]] = {
    # 1: one to five entries
    "an empty list": both(["the list is empty", "at least one"], []),
    "an empty list in the config": both(
        ["InstancePreferences", "the list is empty"], None, {"InstancePreferences": []}
    ),
    "six of AWS's dicts": both(["6 entries", "AWS takes 5", "on_demand("], SIX, {"InstanceCount": 1}),
    "six inside the config": both(["6 entries"], None, {"InstancePreferences": SIX, "InstanceCount": 1}),
    # 2: a type once
    "a type twice": both([f"entry 2 ({G5})", "entry 1 has the same type"], aws(G5, G5, InstanceCount=1)),
    # 3: counts
    "counts on some only": both([f"entry 2 ({M5})", "no InstanceCount"], [*aws(G5, InstanceCount=1), *aws(M5)]),
    "counts nowhere": both([f"entry 1 ({G5})", "Give every entry an InstanceCount"], aws(G5, M5)),
    "counts in both places": both(
        [f"entry 1 ({G5})", "one or the other"], aws(G5, InstanceCount=1), {"InstanceCount": 1}
    ),
    "no instances": both(["entry 1", "InstanceCount is 0", "1 or more"], aws(G5, InstanceCount=0)),
    "half an instance": both(["entry 1", "1.5 is not an integer"], aws(G5, InstanceCount=1.5)),
    "101 for processing": only("processing", ["entry 1", "100 at most"], aws(G5, InstanceCount=101)),
    # 4 to 7: what can't stand beside a list
    "an InstanceType beside it": both(["InstanceType", "Take it away"], [G5], {"InstanceType": M5}),
    "groups beside it": only(
        "training",
        ["InstanceGroups", "take away the groups or the list"],
        [G5],
        {"InstanceGroups": [{"InstanceType": M5, "InstanceCount": 1, "InstanceGroupName": "a"}]},
    ),
    "a placement beside it": only(
        "training",
        ["InstancePlacementConfig", "take away"],
        [P5],
        {"InstancePlacementConfig": {"EnableMultipleJobs": True}},
    ),
    "managed spot beside it": only(
        "training", ["EnableManagedSpotTraining", "spot("], [G5], EnableManagedSpotTraining=True
    ),
    "managed spot as a string": only(
        "training", ["EnableManagedSpotTraining", "spot("], [G5], EnableManagedSpotTraining="True"
    ),
    "spot for processing": only("processing", [f"entry 1 ({G5})"], [spot(G5)]),
    # 8 to 10: training plans
    "a job's plan that fits no entry": only(
        "training", ["TrainingPlanArn", "fits no entry"], [M5], {"TrainingPlanArn": PLAN}
    ),
    "a job's plan and an entry's": only(
        "training", ["TrainingPlanArn", "Take it away"], [training_plan(P5, arn=PLAN)], {"TrainingPlanArn": PLAN}
    ),
    "one plan for two types": only(
        "training",
        [f"entry 2 ({P4D})", f"also that of {P5}"],
        [training_plan(P5, arn=PLAN), training_plan(P4D, arn=PLAN)],
    ),
    "two plans on an entry": only(
        "training", [f"entry 1 ({P5})"], [{"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": [PLAN, PLAN]}]
    ),
    "no plan's ARN": only(
        "training",
        [f"entry 1 ({P5})", "is not the ARN of a training plan", "arn:aws:sagemaker"],
        [{"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": ["arn:aws:s3:::bucket"]}],
    ),
    "a plan for a type without plans": only(
        "training", [f"entry 1 ({G5})", "no training plans"], aws(G5, InstanceCount=1, TrainingPlanArns=[PLAN])
    ),
    "a plan for processing": only("processing", [f"entry 1 ({G5})"], aws(G5, InstanceCount=1, TrainingPlanArns=[PLAN])),
    # 13, 14, 18: volumes and what AWS alone may say
    "a key for a type with its own disks": both(
        [f"entry 2 ({G5})", "VolumeKmsKeyId"], [M5, G5], {"VolumeKmsKeyId": "key"}
    ),
    "no volume for a type without disks": only(
        "training", [f"entry 1 ({M5})", "VolumeSizeInGB"], [M5], {"VolumeSizeInGB": None}
    ),
    "more volume than disks": only(
        "processing", [f"entry 1 ({G5})", "own disks have 250 GB"], [G5], {"VolumeSizeInGB": 300}
    ),
    "what AWS selected": both(["SelectedInstanceType", "Take it away"], [G5], {"SelectedInstanceType": G5}),
    # MaxPending
    "too short a wait": only(
        "training",
        ["MaxPendingTimeInSeconds is 600", "1800 to 2419200"],
        [P5],
        StoppingCondition={"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 600},
    ),
    "too long a wait": only(
        "training",
        ["MaxPendingTimeInSeconds is 2419201", "1800 to 2419200"],
        [P5],
        StoppingCondition={"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 2419201},
    ),
    "a wait for processing": only(
        "processing",
        ["MaxPendingTimeInSeconds", "doesn't exist for processing"],
        [M5],
        StoppingCondition={"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 1800},
    ),
    "too long a run": only(
        "training", ["MaxRuntimeInSeconds"], [P5], StoppingCondition={"MaxRuntimeInSeconds": 2419201}
    ),
    # types
    "a slip of the finger": both(
        ["entry 1 (ml.g5.xlrge)", f"Did you mean {G5}", "allow_unknown_types=True"], ["ml.g5.xlrge"]
    ),
    "a type without ml.": both(["entry 1 (g5.xlarge)", f"Did you mean {G5}?"], ["g5.xlarge"]),
    "a type that processing lacks": only("processing", [f"entry 2 ({P5})", "only training jobs can"], [G5, P5]),
    # lists that are none
    "a dict for a list": both(["prefer has to be a list"], {"InstanceType": G5}),
    "a sentence for a list": both(["prefer has to be a list"], "the fastest, please"),
    "a number for an entry": both(["entry 2", "it is 7"], [G5, 7]),
    "a key that isn't there": both(["entry 1", "InstanceTyp", "InstanceType"], [{"InstanceTyp": G5}]),
    "two lists": both(["two lists", "Give one of them"], [G5], {"InstancePreferences": aws(G5, InstanceCount=1)}),
    "nothing to run on": both(["what to run on", "prefer="], None),
    # strings that stay strings
    "words for a count": both(["'two' is not an integer"], aws(G5, InstanceCount="two")),
    "words for a runtime": both(
        ["StoppingCondition.MaxRuntimeInSeconds", "integer"], [G5], StoppingCondition={"MaxRuntimeInSeconds": "a day"}
    ),
    "words for a boolean": only(
        "training", ["EnableNetworkIsolation", "neither True nor False"], [G5], EnableNetworkIsolation="perhaps"
    ),
    # more than one request
    "a job's plan for several requests": only(
        "training", ["ResourceConfig.TrainingPlanArn", "needs 2", "training_plan("], [P5, P5], {"TrainingPlanArn": PLAN}
    ),
    "a list too long to keep": both(["80 entries in 80 requests", "Shorten it"], [G5] * 80),
}

CASES = [pytest.param(case, id=f"{name}, {kind}") for name, kinds in MISTAKES.items() for kind, case in kinds.items()]


@pytest.fixture(scope="module")
def airflow() -> Iterator[Airflow]:
    with airflow_and_sandbox({"plans": [{"name": "december", "type": P5, "count": 8}]}) as airflow:
        yield airflow


def check_message(error: BaseException, says: list[str]) -> None:
    text = str(error)
    for words in says:
        assert words in text
    assert len(text.splitlines()) <= MOST_LINES
    assert "hunter" not in text


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_where_it_is_written(case: Case, airflow: Airflow) -> None:
    with pytest.raises(InvalidInput) as caught:
        OPERATORS[case.kind](task_id="train", config=case.config, prefer=case.prefer)
    check_message(caught.value, case.says)
    assert airflow.control.record("call") == []


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("native", [False, True], ids=["to strings", "to objects"])
def test_it_is_refused_when_it_is_rendered_and_not_retried(case: Case, native: bool, airflow: Airflow) -> None:
    prefer = None if case.prefer is None else "{{ types }}"
    operator = OPERATORS[case.kind](task_id="train", config="{{ request }}", prefer=prefer)
    if native:
        operator.config, operator.prefer = case.config, case.prefer
    else:
        operator.render_template_fields({"request": case.config, "types": case.prefer}, jinja2.Environment())
    with pytest.raises(AirflowFailException) as caught:
        airflow.run(operator)
    assert isinstance(caught.value, InvalidInput)
    check_message(caught.value, case.says)
    assert airflow.control.record("call") == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"max_pending": -1}, ["max_pending", "more than nothing"]),
        ({"max_pending": "soon"}, ["max_pending='soon'", "number of seconds"]),
        ({"max_pending": True}, ["max_pending=True"]),
        ({"max_pending": float("nan")}, ["max_pending=nan"]),
        ({"start_by": "25:00"}, ["start_by"]),
        ({"action_if_job_exists": "increment"}, ["action_if_job_exists='increment'", "'timestamp' or 'fail'"]),
        ({"check_interval": -1}, ["check_interval=-1"]),
        ({"check_interval": "30"}, ["check_interval='30'"]),
        ({"patience": 1800}, ["patience=1800", "timedelta"]),
        ({"recover": -1}, ["recover=-1", "0 or more"]),
        ({"recover": True}, ["recover=True"]),
        ({"recover_on": "all"}, ["recover_on='all'", "'infrastructure' or 'any'"]),
        ({"recover": 1, "wait_for_completion": False}, ["recover=1", "wait_for_completion=True"]),
        ({"prefer": [G5, G5], "wait_for_completion": False}, ["wait_for_completion=False", "needs 2"]),
    ],
)
def test_an_argument_that_cannot_work_is_refused(arguments: dict[str, Any], says: list[str], airflow: Airflow) -> None:
    with pytest.raises(InvalidInput) as caught:
        SageMakerPreferTrainingOperator(**{"task_id": "train", "config": TRAINING, "prefer": [G5], **arguments})
    check_message(caught.value, says)


@pytest.mark.parametrize("rendered", ["7", "true", "{}", "", "ml.g5.xlarge, ml.m5.xlarge", "[", "None"])
def test_a_template_that_renders_to_no_list_is_refused(rendered: str, airflow: Airflow) -> None:
    operator = SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, prefer="{{ types }}")
    operator.render_template_fields({"types": rendered}, jinja2.Environment())
    with pytest.raises(AirflowFailException, match="prefer has to be a list"):
        airflow.run(operator)
    assert airflow.control.record("call") == []


@pytest.mark.parametrize("rendered", ["7", "[]", "nothing", ""])
def test_a_template_that_renders_to_no_request_is_refused(rendered: str, airflow: Airflow) -> None:
    operator = SageMakerPreferTrainingOperator(task_id="train", config="{{ request }}", prefer=[G5])
    operator.render_template_fields({"request": rendered}, jinja2.Environment())
    with pytest.raises(AirflowFailException, match="config has to be a dict"):
        airflow.run(operator)
    assert airflow.control.record("call") == []


def test_a_type_newer_than_botocore_passes_if_it_is_said_so(airflow: Airflow) -> None:
    assert SageMakerPreferTrainingOperator(
        task_id="train", config=TRAINING, prefer=["ml.p9.48xlarge"], allow_unknown_types=True
    )


# -- training plans, which AWS is asked about, and no job created -----------------------------------------------


def plan(name: str = "december", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": P5, "count": 8, "blocks": [{"starts": 0, "lasts": "2d"}], **more}


OVER = plan(blocks=[{"starts": 0, "lasts": "1h"}])


@pytest.mark.parametrize(
    ("plans", "prefer", "job_level", "says"),
    [
        ([plan()], [training_plan(P4D, arn=PLAN), P5], None, [f"entry 1 ({P4D})", f"december is for {P5}", "own type"]),
        ([plan()], [P4D, "ml.p4de.24xlarge"], PLAN, ["ResourceConfig.TrainingPlanArn", f"december is for {P5}"]),
        ([OVER], [training_plan(P5, arn=PLAN)], None, [f"entry 1 ({P5})", "december is Expired", "Active"]),
        ([OVER], [P5], PLAN, ["ResourceConfig.TrainingPlanArn", "december is Expired"]),
    ],
)
def test_a_plan_that_cannot_carry_the_job_is_refused_before_it_is_created(
    plans: list[Any], prefer: list[Any], job_level: str | None, says: list[str]
) -> None:
    with airflow_and_sandbox({"plans": plans}) as airflow:
        airflow.clock.sleep(7200)
        resources = {**TRAINING["ResourceConfig"], **({"TrainingPlanArn": job_level} if job_level else {})}
        operator = SageMakerPreferTrainingOperator(
            task_id="train", config={**TRAINING, "ResourceConfig": resources}, prefer=prefer
        )
        with pytest.raises(AirflowFailException) as caught:
            airflow.run(operator)
        assert isinstance(caught.value, InvalidInput)
        check_message(caught.value, says)
        assert [call["operation"] for call in airflow.control.record("call")] == ["DescribeTrainingPlan"]


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
def test_a_plan_that_cannot_be_read_is_tried(code: str, caplog: pytest.LogCaptureFixture) -> None:
    fault = {"operation": "DescribeTrainingPlan", "error": code, "times": 50}
    with airflow_and_sandbox({"plans": [plan()], "call_faults": [fault]}) as airflow:
        operator = SageMakerPreferTrainingOperator(
            task_id="train", config=TRAINING, prefer=[training_plan(P5, arn=PLAN)]
        )
        result = airflow.run(operator)
        assert result["decision"]["capacity_kind"] == "training_plan"
        assert len(airflow.calls("CreateTrainingJob")) == 1
    assert "training plan" in caplog.text


def test_a_plan_in_use_costs_one_read_and_a_retry_that_adopts_none() -> None:
    with airflow_and_sandbox({"plans": [plan()]}) as airflow:
        ti = TaskInstance()
        arguments = {"task_id": "train", "config": TRAINING, "prefer": [training_plan(P5, arn=PLAN), P5][:1]}
        airflow.begin(SageMakerPreferTrainingOperator(**arguments), ti)
        airflow.run(SageMakerPreferTrainingOperator(**arguments), ti.retried())
        assert len(airflow.calls("DescribeTrainingPlan")) == 1
        assert len(airflow.jobs()) == 1
