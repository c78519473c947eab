"""A job comes to be exactly once, whatever becomes of calls and answers."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from airflow_sm_prefer import on_demand, queued
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.aws.patience import PatientJobs
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.operators.creation import Creation, Killed
from airflow_sm_prefer.operators.plan import Plan, envelope, make_plan
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement.events import Created, Event, NameTaken, NoAnswer, Refused
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.ownership import TRY_TAG, Ownership
from airflow_sm_prefer.placement.queueing import client_token
from airflow_sm_prefer.placement.state import Limits

BEGAN = 1_800_000_000.0
IDENTITY = TaskIdentity("prod", "dag", "run", "train")
P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
CONFIG = {
    "TrainingJobName": "Nightly",
    "AlgorithmSpecification": {"TrainingImage": "i"},
    "ResourceConfig": {"VolumeSizeInGB": 1},
}
REPEATS = ["refused", "first_job"]


def a_plan(*entries: Any, image: str = "i") -> Plan:
    return make_plan(
        JobKind.TRAINING,
        {**CONFIG, "AlgorithmSpecification": {"TrainingImage": image}},
        list(entries or (queued(P5, "p5"),)),
        known=lambda _: True,
        allow_unknown_types=False,
        native=True,
        queues=Queues(),
    )


ONE = a_plan()
TWO = a_plan(queued(P5, "p5"), queued(G5, "g5"))
MIXED = a_plan(queued(P5, "p5"), on_demand(G5))


def a_try(ti_id: str = "2-mine", *, number: int = 2, began: float | None = BEGAN) -> Try:
    return Try(IDENTITY, ti_id, number, 3, None, began)


def owner(ti_id: str, submission: int = 1, plan: Plan = ONE, **more: Any) -> Ownership:
    values = {
        "task": Ownership.task_tag(IDENTITY),
        "deployment": "prod",
        "ti_id": ti_id,
        "max_tries": 3,
        "fingerprint": plan.fingerprint,
        "submission": submission,
        "first_submit": BEGAN,
    }
    return Ownership(**{**values, **more})


def failed(kind: FailureKind, words: str, code: str = "ClientException", **more: Any) -> CallFailed:
    return CallFailed(CallFailure(kind, code, words, "SubmitServiceJob", **more))


class Aws:
    """SageMaker and Batch, as far as creating a job goes: names and tokens are taken once.

    Args:
        repeat: What Batch answers to a token that comes again.
        refuses: What it answers to everything else that is new.
        loses: Whether the answer to what it does take gets lost.
    """

    kind = JobKind.TRAINING

    def __init__(
        self, repeat: str = "refused", refuses: CallFailed | None = None, loses: CallFailed | None = None
    ) -> None:
        self.repeat, self.refuses, self.loses = repeat, refuses, loses
        self.jobs: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, str] = {}
        self.stopped: list[str] = []
        self.unreadable: set[str] = set()
        self.unlisted: set[str | None] = set()
        self.behind = 0

    # -- what a test prepares --

    def has(
        self,
        of: Ownership | None,
        *,
        queue: str | None = "p5",
        name: str | None = None,
        created: float = BEGAN + 5,
        status: str = "RUNNABLE",
        token: str = "",
    ) -> str:
        """Have a job; returns its ARN."""
        name = name or ONE.job_name(a_try(), of.submission if of else 1)
        number = len(self.jobs) + 1
        tags = {tag["Key"]: tag["Value"] for tag in of.to_tags()} if of else {}
        if queue is None:
            arn = f"arn:aws:sagemaker:us-east-1:123456789012:training-job/{name}"
            described = {"TrainingJobName": name, "TrainingJobArn": arn, "TrainingJobStatus": status}
            described["CreationTime"] = created
        else:
            arn = f"arn:aws:batch:us-east-1:123456789012:service-job/{number}"
            described = {"jobName": name.lower(), "jobArn": arn, "serviceJobType": "SAGEMAKER_TRAINING"}
            described |= {
                "status": status,
                "jobQueue": queue,
                "createdAt": created * 1000,
                "serviceRequestPayload": "{}",
            }
        self.jobs[arn] = {"queue": queue, "described": described, "tags": tags, "name": name}
        if token:
            self.tokens[token] = arn
        return arn

    # -- what is called --

    def create(self, request: dict[str, Any]) -> str:
        queue, token = request.get("jobQueue"), request.get("clientToken", "")
        if token in self.tokens:
            if self.repeat == "first_job":
                return self.tokens[token]
            raise failed(FailureKind.INVALID, "The client token was used before")
        if queue is None and any(
            job["queue"] is None and job["name"] == request["TrainingJobName"] for job in self.jobs.values()
        ):
            raise failed(FailureKind.IN_USE, "in use", "ResourceInUse")
        if self.refuses is not None:
            raise self.refuses
        written = request["tags"] if queue else {tag["Key"]: tag["Value"] for tag in request["Tags"]}
        name = request["jobName"] if queue else request["TrainingJobName"]
        arn = self.has(None, queue=queue, name=name, created=BEGAN + 10, token=token)
        self.jobs[arn]["tags"] = dict(written)
        if self.loses is not None:
            raise self.loses
        return arn

    def find(self, name: str, queue: str | None = None) -> dict[str, Any] | None:
        if queue in self.unlisted:
            raise failed(FailureKind.DENIED, "no listing", "AccessDeniedException")
        if self.behind:
            self.behind -= 1
            return None
        alike = [
            job["described"]
            for job in self.jobs.values()
            if job["queue"] == queue and (job["name"] == name or (queue and job["name"].lower() == name.lower()))
        ]
        return alike[-1] if alike else None

    def describe(self, handle: str) -> dict[str, Any]:
        found: dict[str, Any] = self.jobs[handle]["described"]
        return found

    def tags(self, arn: str) -> dict[str, str]:
        if arn in self.unreadable:
            raise failed(FailureKind.DENIED, "no tags", "AccessDeniedException")
        tags: dict[str, str] = self.jobs[arn]["tags"]
        return tags

    def add_tags(self, arn: str, tags: dict[str, str]) -> None:
        self.jobs[arn]["tags"] |= tags

    def stop(self, handle: str, why: str = "") -> bool:
        assert why.startswith("airflow_sm_prefer: ")
        direct = (arn for arn, job in self.jobs.items() if job["queue"] is None and job["name"] == handle)
        arn = handle if handle in self.jobs else next(direct)
        self.stopped.append(arn)
        return True

    def live(self) -> list[str]:
        return [arn for arn in self.jobs if arn not in self.stopped]


def create(
    aws: Aws, plan: Plan = ONE, *, wave: int = 0, number: int = 1, looks: int = 0, this: Try | None = None
) -> Event:
    """Create a job as a worker does."""
    of = this or a_try()
    state = plan.start(Limits(3600.0)).but(wave=wave, submission=number - 1)
    sent = envelope(plan, of, state, owner(of.ti_id, number, plan), BEGAN)
    clock = FakeClock(BEGAN)
    creation = Creation(
        PatientJobs(aws, clock, lambda: 0.5),  # type: ignore[arg-type]
        plan,
        of,
        logging.getLogger("creation"),
    )
    return creation.create(plan.request(sent, wave, frozenset()), sent.name, number, looks)


def token_of(number: int = 1) -> str:
    return client_token(IDENTITY, number)


# -- a token that nobody has used ----------------------------------------------------------------------------


@pytest.mark.parametrize("repeat", REPEATS)
def test_a_job_is_submitted_and_known_by_its_arn(repeat: str) -> None:
    aws = Aws(repeat)
    event = create(aws)
    assert isinstance(event, Created)
    assert aws.live() == [event.arn]
    assert event.name == ONE.job_name(a_try(), 1).lower()


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("kind", [FailureKind.NETWORK, FailureKind.SERVER, FailureKind.THROTTLED])
def test_a_job_whose_answer_was_lost_is_taken_for_what_it_is(repeat: str, kind: FailureKind) -> None:
    aws = Aws(repeat, loses=failed(kind, "timeout", "ReadTimeoutError", no_answer=True))
    event = create(aws)
    assert isinstance(event, Created)
    assert aws.live() == [event.arn]


@pytest.mark.parametrize("repeat", REPEATS)
def test_a_job_whose_answer_was_lost_and_that_no_listing_shows_yet_is_asked_for_again_and_comes_once(
    repeat: str,
) -> None:
    aws = Aws(repeat, loses=failed(FailureKind.NETWORK, "timeout", "ReadTimeoutError", no_answer=True))
    aws.behind = 3
    events = [create(aws, looks=looks) for looks in range(4)]
    if repeat == "refused":
        assert [type(event) for event in events] == [NoAnswer, NoAnswer, NoAnswer, Created]
    assert isinstance(events[-1], Created)
    assert aws.live() == [events[-1].arn]


def test_a_call_that_never_arrived_is_made_again_under_the_same_name() -> None:
    aws = Aws(refuses=failed(FailureKind.NETWORK, "timeout", "ReadTimeoutError", no_answer=True))
    assert isinstance(create(aws), NoAnswer)
    assert aws.jobs == {}


@pytest.mark.parametrize(
    ("refusal", "verdict"),
    [
        (failed(FailureKind.INVALID, "JobQueue p5 is DISABLED and doesn't accept jobs"), Verdict.QUEUE_REFUSED),
        (failed(FailureKind.DENIED, "not authorized", "AccessDeniedException"), Verdict.REQUEST_INVALID),
        (failed(FailureKind.THROTTLED, "Rate exceeded", "ThrottlingException"), Verdict.THROTTLED),
        (failed(FailureKind.INVALID, "Parameter validation failed", "ParamValidationError"), Verdict.REQUEST_INVALID),
    ],
)
def test_a_refusal_with_nothing_behind_it_is_one_and_has_batchs_words(refusal: CallFailed, verdict: Verdict) -> None:
    event = create(Aws(refuses=refusal))
    assert isinstance(event, Refused)
    assert event.judgement.verdict is verdict
    assert refusal.failure.message in event.judgement.text


# -- a token that was used before ----------------------------------------------------------------------------


@pytest.mark.parametrize("repeat", REPEATS)
def test_a_token_that_this_try_used_leads_to_its_job(repeat: str) -> None:
    aws = Aws(repeat)
    ours = aws.has(owner("2-mine"), token=token_of())
    event = create(aws)
    assert isinstance(event, Created)
    assert event.arn == ours
    assert aws.live() == [ours]


@pytest.mark.parametrize("words", ["JobQueue p5 is DISABLED", "Something else altogether"])
def test_whatever_batch_says_its_refusal_is_looked_behind(words: str) -> None:
    aws = Aws(refuses=failed(FailureKind.INVALID, words))
    ours = aws.has(owner("2-mine"))
    event = create(aws)
    assert isinstance(event, Created)
    assert event.arn == ours


def test_a_used_token_without_a_job_is_asked_about_a_few_times_and_then_left_for_the_next_number() -> None:
    aws = Aws(refuses=failed(FailureKind.INVALID, "Duplicate clientToken"))
    events = [create(aws, looks=looks) for looks in range(5)]
    assert [type(event) for event in events] == [NoAnswer] * 4 + [NameTaken]


@pytest.mark.parametrize("repeat", REPEATS)
def test_a_later_trys_job_ends_this_one_and_stays(repeat: str) -> None:
    aws = Aws(repeat)
    later = aws.has(owner("3-later"), token=token_of())
    with pytest.raises(Killed, match="Another try of this task has submitted"):
        create(aws)
    assert aws.live() == [later]


@pytest.mark.parametrize(("plan", "place"), [(TWO, "g5"), (MIXED, None)])
def test_a_token_that_a_later_try_used_in_another_place_of_the_list_ends_this_one(
    plan: Plan, place: str | None
) -> None:
    aws = Aws("refused")
    later = aws.has(owner("3-later", plan=plan), queue=place, token=token_of())
    with pytest.raises(Killed, match="Another try of this task has submitted"):
        create(aws, plan)
    assert aws.live() == [later]


@pytest.mark.parametrize("repeat", REPEATS)
def test_the_job_that_the_try_before_left_is_taken_over_where_no_listing_had_shown_it(repeat: str) -> None:
    aws = Aws(repeat)
    left = aws.has(owner("1-before"), created=BEGAN - 60, token=token_of())
    event = create(aws)
    assert isinstance(event, Created)
    assert event.arn == left
    assert aws.live() == [left]
    assert aws.jobs[left]["tags"][TRY_TAG] == "2-mine", "or the worker of the try before may stop it"


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize(
    "left",
    [owner("1-before", fingerprint=a_plan(image="other").fingerprint), owner("1-before", max_tries=2)],
    ids=["another request", "before a clear"],
)
def test_a_job_that_was_left_and_does_not_do_is_stopped_before_the_next_number_is_taken(
    repeat: str, left: Ownership
) -> None:
    aws = Aws(repeat)
    arn = aws.has(left, created=BEGAN - 60, token=token_of())
    assert isinstance(create(aws), NameTaken)
    assert aws.stopped == [arn]


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize(
    ("of", "this", "status"),
    [
        (owner("1-before"), {}, "FAILED"),
        (owner("1-before", waits=False), {}, "RUNNABLE"),
        (owner("0-gone"), {"number": 1}, "RUNNABLE"),
        (owner("1-before", task="dag/run/other"), {}, "RUNNABLE"),
        (None, {}, "RUNNABLE"),
    ],
    ids=["over", "submitted without waiting", "of a run made anew", "of another task", "without our tags"],
)
def test_any_other_job_is_left_alone_and_the_next_number_taken(
    repeat: str, of: Ownership | None, this: dict[str, Any], status: str
) -> None:
    aws = Aws(repeat)
    aws.has(of, created=BEGAN - 60, status=status, token=token_of())
    assert isinstance(create(aws, this=a_try(**this)), NameTaken)
    assert aws.stopped == []


def test_an_answer_whose_tags_cannot_be_read_is_taken_for_the_job_just_submitted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    aws = Aws("first_job")
    ours = aws.has(owner("2-mine"), token=token_of())
    aws.unreadable = {ours}
    event = create(aws)
    assert isinstance(event, Created)
    assert aws.live() == [event.arn]
    assert "can't be read" in caplog.text


def test_a_refusal_behind_which_is_a_job_that_cannot_be_read_creates_nothing() -> None:
    aws = Aws("refused")
    aws.unreadable = {aws.has(owner("2-mine"), token=token_of())}
    with pytest.raises(CallFailed, match="no tags"):
        create(aws)
    assert len(aws.jobs) == 1


def test_a_refusal_that_cannot_be_looked_behind_creates_nothing() -> None:
    aws = Aws("refused")
    aws.has(owner("2-mine"), token=token_of())
    aws.unlisted = {"p5"}
    with pytest.raises(CallFailed, match="no listing"):
        create(aws)
    assert len(aws.jobs) == 1


# -- another try's job in another place of the list ----------------------------------------------------------


@pytest.mark.parametrize(("plan", "place"), [(TWO, "g5"), (MIXED, None)])
def test_an_earlier_trys_job_elsewhere_on_the_list_is_stopped(plan: Plan, place: str | None) -> None:
    aws = Aws()
    earlier = aws.has(owner("1-thawed", plan=plan), queue=place)
    event = create(aws, plan)
    assert isinstance(event, Created)
    assert aws.stopped == [earlier]
    assert aws.live() == [event.arn]


@pytest.mark.parametrize(("plan", "place"), [(TWO, "g5"), (MIXED, None)])
def test_a_later_trys_job_elsewhere_on_the_list_stays_and_this_trys_is_stopped(plan: Plan, place: str | None) -> None:
    aws = Aws()
    later = aws.has(owner("3-later", plan=plan), queue=place)
    with pytest.raises(Killed, match="A later try of this task"):
        create(aws, plan)
    assert aws.live() == [later]


def test_a_job_at_sagemaker_itself_is_settled_with_one_in_a_queue() -> None:
    aws = Aws()
    earlier = aws.has(owner("1-thawed", plan=MIXED), queue="p5")
    event = create(aws, MIXED, wave=1)
    assert isinstance(event, Created)
    assert aws.live() == [event.arn]
    assert aws.stopped == [earlier]


def test_a_later_trys_job_in_a_queue_ends_the_one_at_sagemaker_itself() -> None:
    aws = Aws()
    later = aws.has(owner("3-later", plan=MIXED), queue="p5")
    with pytest.raises(Killed):
        create(aws, MIXED, wave=1)
    assert aws.live() == [later]


@pytest.mark.parametrize(
    ("of", "more"),
    [
        (owner("1-thawed"), {"status": "FAILED"}),
        (owner("1-thawed"), {"created": BEGAN - 60}),
        (owner("2-mine"), {}),
        (owner("1-thawed", task="dag/run/other"), {}),
        (None, {}),
    ],
    ids=["over", "from before this try", "this try's own", "another task's", "without our tags"],
)
def test_another_job_elsewhere_on_the_list_is_left_alone(of: Ownership | None, more: dict[str, Any]) -> None:
    aws = Aws()
    aws.has(of, queue="g5", **more)
    assert isinstance(create(aws, TWO), Created)
    assert aws.stopped == []


def test_where_another_place_cannot_be_looked_at_it_is_said_and_the_job_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    aws = Aws()
    aws.unlisted = {"g5"}
    event = create(aws, TWO)
    assert isinstance(event, Created)
    assert aws.live() == [event.arn]
    assert "can't be seen whether another try has submitted" in caplog.text


def test_a_name_in_use_at_sagemaker_itself_is_looked_behind_too() -> None:
    aws = Aws()
    ours = aws.has(owner("2-mine", plan=MIXED), queue=None, name=MIXED.job_name(a_try(), 1))
    event = create(aws, MIXED, wave=1)
    assert isinstance(event, Created)
    assert event.arn == ours
