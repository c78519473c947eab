from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_sm_prefer import spot
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.lookback import found_job, look_back
from airflow_sm_prefer.operators.plan import Plan, make_plan
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement.events import Begun, Found
from airflow_sm_prefer.placement.naming import TaskIdentity, job_name
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.state import Limits

RUN_BEGAN = 1_800_000_000.0
IDENTITY = TaskIdentity("prod", "dag", "run", "train")
CONFIG = {
    "TrainingJobName": "nightly",
    "AlgorithmSpecification": {"TrainingImage": "i"},
    "ResourceConfig": {"VolumeSizeInGB": 1},
}


def a_try(number: int = 1, *, ti_id: str = "mine", max_tries: int = 2, began: float | None = RUN_BEGAN) -> Try:
    return Try(IDENTITY, ti_id, number, max_tries, began)


def owner(**changes: Any) -> Ownership:
    values = {
        "task": Ownership.task_tag(IDENTITY),
        "deployment": "prod",
        "ti_id": "earlier",
        "max_tries": 2,
        "fingerprint": plan().fingerprint,
        "submission": 1,
        "first_submit": RUN_BEGAN + 10,
        "pending_spent": 5.0,
    }
    return Ownership(**{**values, **changes})


def plan(config: dict[str, Any] = CONFIG) -> Plan:
    return make_plan(
        JobKind.TRAINING,
        config,
        ["ml.g5.xlarge"],
        known=lambda _: True,
        allow_unknown_types=False,
        native=True,
    )


class Jobs:
    """Jobs by number, with their owners; notes what it is asked."""

    def __init__(self, **jobs: Ownership | None) -> None:
        self.jobs = {job_name(IDENTITY, "nightly", int(key[1:])): value for key, value in jobs.items()}
        self.asked: list[str] = []

    def describe(self, name: str) -> dict[str, Any]:
        self.asked.append(name)
        if name not in self.jobs:
            raise CallFailed(CallFailure(FailureKind.NOT_FOUND, "ValidationException", "no", "DescribeTrainingJob"))
        created = datetime.fromtimestamp(RUN_BEGAN + 20, UTC)
        return {
            "TrainingJobName": name,
            "TrainingJobArn": f"arn:{name}",
            "TrainingJobStatus": "InProgress",
            "CreationTime": created,
        }

    def find(self, name: str, queue: str | None = None) -> dict[str, Any] | None:
        assert queue is None
        try:
            return self.describe(name)
        except CallFailed as failed:
            if failed.failure.kind is FailureKind.NOT_FOUND:
                return None
            raise

    def tags(self, arn: str) -> dict[str, str]:
        found = self.jobs[arn.removeprefix("arn:")]
        return {tag["Key"]: tag["Value"] for tag in found.to_tags()} if found else {}


# -- tries ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("this", "of", "is_retry"),
    [
        (a_try(2), owner(), True),
        (a_try(1), owner(), False),
        (a_try(1), owner(ti_id="mine"), True),
        (a_try(2, max_tries=4), owner(), False),
        (a_try(2, began=RUN_BEGAN + 10_000), owner(), False),
        (a_try(2, began=None), owner(), True),
    ],
    ids=["retry", "run made anew", "own job, answer lost", "clear", "job from before this run", "cleared run"],
)
def test_a_retry_is_told_from_a_clear_and_from_a_run_made_anew(this: Try, of: Ownership, is_retry: bool) -> None:
    assert this.is_retry_of(of, RUN_BEGAN + 20) is is_retry


def test_a_try_is_read_from_the_context() -> None:
    began = datetime.fromtimestamp(RUN_BEGAN, UTC)
    ti = SimpleNamespace(dag_id="dag", run_id="run", task_id="train", map_index=3, id="x", try_number=2, max_tries=5)
    context = {"ti": ti, "dag_run": SimpleNamespace(start_date=began, clear_number=0)}
    assert Try.from_context(context, "prod") == Try(
        TaskIdentity("prod", "dag", "run", "train", 3), "x", 2, 5, RUN_BEGAN
    )
    context["dag_run"].clear_number = 1
    assert Try.from_context(context, "prod").run_began is None
    ti.map_index = None
    assert Try.from_context({"ti": ti}, "prod").identity.map_index == -1


# -- looking back --------------------------------------------------------------------------------------------


def test_a_first_try_asks_nothing() -> None:
    jobs = Jobs(n1=owner())
    assert look_back(jobs, plan(), a_try(1), None) == (Begun(), 0)
    assert jobs.asked == []


def test_without_a_store_the_names_are_gone_through_until_one_is_free() -> None:
    jobs = Jobs(n1=owner(), n2=owner(submission=2))
    found, used = look_back(jobs, plan(), a_try(2), None)
    assert isinstance(found, Found)
    assert (found.submission, found.is_retry, used) == (2, True, 2)
    assert (found.first_submit, found.pending_spent) == (RUN_BEGAN + 10, 5.0)
    assert len(jobs.asked) == 3


def test_with_a_store_only_the_last_name_and_what_may_have_followed_is_asked_for() -> None:
    stored = plan().start(Limits(60.0)).but(submission=7, job_name=job_name(IDENTITY, "nightly", 7))
    jobs = Jobs(n7=owner(submission=7))
    found, used = look_back(jobs, plan(), a_try(2), stored)
    assert isinstance(found, Found)
    assert used == 7
    assert len(jobs.asked) == 2


def test_a_create_that_was_written_down_and_never_heard_of_is_found() -> None:
    stored = plan().start(Limits(60.0)).but(submission=6, job_name=job_name(IDENTITY, "nightly", 7))
    found, used = look_back(Jobs(n7=owner(submission=7)), plan(), a_try(2), stored)
    assert isinstance(found, Found)
    assert (found.submission, used) == (7, 7)


def test_a_create_that_never_reached_aws_leaves_its_number_free() -> None:
    stored = plan().start(Limits(60.0)).but(submission=6, job_name=job_name(IDENTITY, "nightly", 7))
    assert look_back(Jobs(), plan(), a_try(2), stored) == (Begun(), 6)


@pytest.mark.parametrize("of", [None, owner(task="someone/else")])
def test_a_job_that_is_not_ours_is_passed_over(of: Ownership | None) -> None:
    assert look_back(Jobs(n1=of), plan(), a_try(2), None) == (Begun(), 1)


def test_what_has_changed_is_named() -> None:
    changed = plan({**CONFIG, "AlgorithmSpecification": {"TrainingImage": "other"}})
    found, _ = look_back(Jobs(n1=owner()), changed, a_try(2), None)
    assert isinstance(found, Found)
    assert found.differs == ("image",)


def test_what_keeps_aws_from_answering_is_raised_and_nothing_is_created() -> None:
    class Denied(Jobs):
        def describe(self, name: str) -> dict[str, Any]:
            raise CallFailed(CallFailure(FailureKind.DENIED, "AccessDenied", "no", "DescribeTrainingJob"))

    with pytest.raises(CallFailed):
        look_back(Denied(), plan(), a_try(2), None)


@pytest.mark.parametrize(
    ("written", "resources", "wave"),
    [
        (1, {"InstancePreferences": [{"InstanceType": "ml.p4d.24xlarge"}]}, 1),
        (0, {"InstancePreferences": [{"InstanceType": "ml.p4d.24xlarge"}]}, 1),
        (2, {"InstanceType": "ml.g5.xlarge"}, 2),
        (0, {"InstanceType": "ml.g5.xlarge"}, 0),
        (7, {"InstanceType": "ml.g5.xlarge"}, 0),
        (1, {"InstanceType": "ml.x1.large"}, 0),
    ],
)
def test_a_job_is_found_again_in_the_wave_that_it_was_sent_for_though_the_list_has_changed(
    written: int, resources: dict[str, Any], wave: int
) -> None:
    listed = ["ml.g5.xlarge", spot("ml.p4d.24xlarge"), "ml.g5.xlarge"]
    several = make_plan(JobKind.TRAINING, CONFIG, listed, known=lambda _: True, allow_unknown_types=False, native=True)
    jobs = Jobs(n1=owner(wave=written, recoveries=2))
    described = {**jobs.describe(job_name(IDENTITY, "nightly", 1)), "ResourceConfig": resources}
    found = found_job(jobs, several, a_try(2), described)  # type: ignore[arg-type]
    assert found is not None
    assert (found.wave, found.recoveries, found.max_runtime) == (wave, 2, 86400.0)


def test_the_tags_of_an_earlier_version_name_no_wave() -> None:
    tags = {tag["Key"]: tag["Value"] for tag in owner(wave=3).to_tags()}
    assert Ownership.from_tags(tags) == owner(wave=3)
    del tags["sm-prefer:wave"]
    assert Ownership.from_tags(tags) == owner()
