"""Whose a job is when the process that has it is told to end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.operators import handover
from airflow_sm_prefer.operators.handover import is_left
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.ownership import TRY_TAG, Ownership

IDENTITY = TaskIdentity("prod", "dag", "run", "train")
ARN = "arn:aws:batch:us-east-1:123456789012:service-job/one"


class Jobs:
    """One job, which is ours until another try takes it up."""

    def __init__(self) -> None:
        owner = Ownership(
            task=Ownership.task_tag(IDENTITY),
            deployment="prod",
            ti_id="mine",
            max_tries=2,
            fingerprint="",
            submission=1,
            first_submit=0.0,
        )
        self.written = {tag["Key"]: tag["Value"] for tag in owner.to_tags()}
        self.fails = False

    def tags(self, arn: str) -> dict[str, str]:
        assert arn == ARN
        if self.fails:
            raise CallFailed(CallFailure(FailureKind.NETWORK, "Timeout", "no answer", "ListTagsForResource"))
        return dict(self.written)

    def taken_up(self) -> None:
        self.written[TRY_TAG] = "the next one's"


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


def left(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, state: Callable[[], str | None]) -> bool:
    monkeypatch.setattr(handover, "task_state", lambda *_: state())
    return is_left(jobs, ARN, Try(IDENTITY, "mine", 1, 2))


def test_what_this_try_alone_has_is_not_left(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not left(jobs, monkeypatch, lambda: "failed")


def test_what_another_try_has_taken_up_is_left_to_it(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.taken_up()
    assert left(jobs, monkeypatch, lambda: "running")


def test_what_another_try_takes_up_while_airflow_is_asked_is_left_to_it(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer() -> str:
        jobs.taken_up()
        return "running"

    assert left(jobs, monkeypatch, answer)


def test_what_the_triggerer_watches_by_now_is_left_to_it(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert left(jobs, monkeypatch, lambda: "deferred")


def test_where_neither_airflow_nor_aws_answers_it_is_not_left(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent() -> None:
        raise ConnectionError

    jobs.fails = True
    assert not left(jobs, monkeypatch, silent)
