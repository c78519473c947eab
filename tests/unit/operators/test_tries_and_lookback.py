from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_sm_prefer import queued, spot
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.operators.lookback import found_job, look_back
from airflow_sm_prefer.operators.plan import Plan, make_plan
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement.events import Begun, Found
from airflow_sm_prefer.placement.naming import TaskIdentity, job_name
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.state import Limits, State

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


def test_the_number_of_a_job_that_was_found_is_used_though_its_name_has_changed_since() -> None:
    stored = plan().start(Limits(60.0)).but(submission=6, job_name=job_name(IDENTITY, "nightly", 7))
    renamed = plan({**CONFIG, "TrainingJobName": "weekly"})
    found, used = look_back(Jobs(n7=owner(submission=7)), renamed, a_try(2), stored)
    assert isinstance(found, Found)
    assert (found.seen.name, used) == (stored.job_name, 7)


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


# -- looking back through queues -----------------------------------------------------------------------------


class Places(Jobs):
    """Jobs by the queue that they are in, None for SageMaker itself."""

    def __init__(self, *, status: dict[str | None, str] | None = None, **jobs: Ownership | None) -> None:
        super().__init__(**jobs)
        self.status = status or {}
        self.places: list[str | None] = []

    def find(self, name: str, queue: str | None = None) -> dict[str, Any] | None:
        self.places.append(queue)
        exact = {known.lower() if queue else known: known for known in self.jobs}
        known = exact.get(name.lower() if queue else name)
        if queue not in self.status or known is None:
            return None
        if queue is None:
            return {**self.describe(known), "TrainingJobStatus": self.status[queue]}
        return self._service_job(known, queue)

    def queues(self) -> list[str]:
        return ["elsewhere", "p5"]

    def describe(self, name: str) -> dict[str, Any]:
        if ":service-job/" in name:
            return self._service_job(next(iter(self.jobs)), name.rpartition("/")[2])
        return super().describe(name)

    def _service_job(self, name: str, queue: str) -> dict[str, Any]:
        if queue not in self.status:
            raise CallFailed(CallFailure(FailureKind.NOT_FOUND, "ClientException", "no", "DescribeServiceJob"))
        return {
            "jobName": name.lower(),
            "jobArn": f"arn:aws:batch:us-east-1:1:service-job/{queue}",
            "jobQueue": queue,
            "serviceJobType": "SAGEMAKER_TRAINING",
            "serviceRequestPayload": "{}",
            "status": self.status[queue],
            "createdAt": (RUN_BEGAN + 20) * 1000,
        }

    def tags(self, arn: str) -> dict[str, str]:
        found = next(iter(self.jobs.values()))
        return {tag["Key"]: tag["Value"] for tag in found.to_tags()} if found else {}


def through(*entries: Any) -> Plan:
    return make_plan(
        JobKind.TRAINING,
        CONFIG,
        list(entries),
        known=lambda _: True,
        allow_unknown_types=False,
        native=True,
        queues=Queues(),
    )


P5, G5 = queued("ml.p5.48xlarge", "p5"), queued("ml.g5.xlarge", "g5")


def looked(jobs: Places, of: Plan, stored: State | None = None) -> Begun | Found:
    event, _ = look_back(jobs, of, a_try(2), stored)  # type: ignore[arg-type]
    return event


@pytest.mark.parametrize("place", ["p5", "g5", "elsewhere", None])
def test_a_job_is_found_wherever_the_list_may_have_sent_it(place: str | None) -> None:
    jobs = Places(n1=owner(), status={place: "RUNNABLE" if place else "InProgress"})
    event = looked(jobs, through(P5, G5))
    assert isinstance(event, Found)
    assert event.submission == 1


def test_of_two_jobs_of_a_number_the_one_that_lives_is_found() -> None:
    jobs = Places(n1=owner(), status={"p5": "FAILED", "g5": "RUNNABLE"})
    event = looked(jobs, through(P5, G5))
    assert isinstance(event, Found)
    assert event.arn.endswith("/g5")
    ended = looked(Places(n1=owner(), status={"p5": "FAILED", "g5": "SUCCEEDED"}), through(P5, G5))
    assert isinstance(ended, Found)
    assert ended.arn.endswith("/p5")


@pytest.mark.parametrize(
    ("before", "now", "place"),
    [
        ((P5, "ml.g5.xlarge"), (P5,), None),
        (("ml.g5.xlarge",), (P5,), None),
        ((P5, G5), (P5,), "g5"),
        ((G5,), (P5, "ml.g5.xlarge"), "g5"),
    ],
    ids=["the entry for SageMaker is gone", "all of it is", "a queue is gone", "the queue was changed"],
)
def test_a_job_is_found_where_the_list_of_the_try_before_had_sent_it(before: Any, now: Any, place: str | None) -> None:
    name = job_name(IDENTITY, "nightly", 1)
    stored = through(*before).start(Limits(60.0)).but(submission=1, job_name=name if place is None else name.lower())
    jobs = Places(n1=owner(), status={place: "RUNNABLE" if place else "InProgress"})
    assert isinstance(looked(jobs, through(*now), stored), Found)


def test_a_service_job_that_was_written_down_is_looked_at_by_its_arn() -> None:
    arn = "arn:aws:batch:us-east-1:1:service-job/gone-from-the-list"
    stored = through(P5).start(Limits(60.0)).but(submission=1, job_name="nightly-1", job_arn=arn)
    jobs = Places(n1=owner(), status={"gone-from-the-list": "RUNNABLE"})
    event = looked(jobs, through(P5), stored)
    assert isinstance(event, Found)
    assert event.arn == arn
    assert isinstance(looked(Places(n1=owner()), through(P5), stored), Begun), "Batch has forgotten it"


@pytest.mark.parametrize(
    ("queue", "wave"), [("p5", 0), ("arn:aws:batch:us-east-1:1:job-queue/p5", 0), ("g5", 1), ("other", 0)]
)
def test_a_service_job_is_found_again_in_the_wave_of_its_queue(queue: str, wave: int) -> None:
    described = {**Places(n1=owner(), status={"p5": "RUNNABLE"})._service_job("nightly", "p5"), "jobQueue": queue}
    kind = "ml.g5.xlarge" if queue == "g5" else "ml.p5.48xlarge"
    described["serviceRequestPayload"] = json.dumps({"ResourceConfig": {"InstanceType": kind, "InstanceCount": 1}})
    found = found_job(Places(n1=owner(wave=9)), through(P5, G5, "ml.g5.xlarge"), a_try(2), described)  # type: ignore[arg-type]
    assert found is not None
    assert found.wave == wave
