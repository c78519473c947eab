from __future__ import annotations

import re

import pytest

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.naming import (
    TaskIdentity,
    deployment_marker,
    differing_parts,
    encode_tag,
    fingerprint,
    job_name,
    marker_of,
    task_marker,
)
from airflow_sm_prefer.placement.ownership import Ownership

PATTERN = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
IDENTITY = TaskIdentity("prod", "nightly", "scheduled__2026-11-30T00:00:00+00:00", "train")
TAG_VALUE = re.compile(r"[A-Za-z0-9 _.:/=+@-]{0,256}")


def test_a_name_begins_with_the_users_and_ends_with_the_number() -> None:
    name = job_name(IDENTITY, "my_job.v2", 3)
    assert name.startswith("my-job-v2-smp")
    assert name.endswith("-3")
    assert task_marker(IDENTITY) in name
    assert deployment_marker("prod") in name


@pytest.mark.parametrize("limit", [63, 23])
@pytest.mark.parametrize("prefix", ["", "x", "x" * 200, "---", "ends-with-a-hyphen-at-the-cut-here------------", "äöü"])
def test_a_name_never_passes_its_limit(prefix: str, limit: int) -> None:
    name = job_name(IDENTITY, prefix, 12, limit=limit)
    assert len(name) <= limit
    assert PATTERN.fullmatch(name)


def test_through_batch_a_name_is_lower_case() -> None:
    name = job_name(IDENTITY, "Nightly", 7, limit=23)
    assert name == name.lower()


@pytest.mark.parametrize(
    "other",
    [
        TaskIdentity("test", "nightly", IDENTITY.run_id, "train"),
        TaskIdentity("prod", "nightly2", IDENTITY.run_id, "train"),
        TaskIdentity("prod", "nightly", "manual__1", "train"),
        TaskIdentity("prod", "nightly", IDENTITY.run_id, "train2"),
        TaskIdentity("prod", "nightly", IDENTITY.run_id, "train", 0),
    ],
)
def test_every_part_of_a_task_instance_makes_another_name(other: TaskIdentity) -> None:
    assert other.digest != IDENTITY.digest


def test_a_task_instance_is_written_as_people_read_it() -> None:
    assert str(TaskIdentity("d", "dag", "run", "task")) == "dag/run/task"
    assert str(TaskIdentity("d", "dag", "run", "task", 3)) == "dag/run/task[3]"


REQUEST = {
    "AlgorithmSpecification": {"TrainingImage": "i"},
    "RoleArn": "r",
    "HyperParameters": {"b": "1", "a": "2"},
    "Environment": {"PASSWORD": "hunter2"},
}


def test_a_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint(JobKind.TRAINING, REQUEST) == fingerprint(
        JobKind.TRAINING, {**REQUEST, "HyperParameters": {"a": "2", "b": "1"}}
    )


def test_a_fingerprint_leaves_out_the_list_the_limits_and_the_tags() -> None:
    more = {"ResourceConfig": {"InstanceCount": 2}, "StoppingCondition": {}, "Tags": [], "TrainingJobName": "x"}
    assert fingerprint(JobKind.TRAINING, REQUEST) == fingerprint(JobKind.TRAINING, {**REQUEST, **more})


def test_the_differing_parts_are_named() -> None:
    changed = {**REQUEST, "RoleArn": "other", "Environment": {}, "InputDataConfig": [{"ChannelName": "x"}]}
    ours, theirs = fingerprint(JobKind.TRAINING, REQUEST), fingerprint(JobKind.TRAINING, changed)
    assert differing_parts(ours, theirs) == ["role", "inputs", "environment"]
    assert differing_parts(ours, "") == ["image", "role", "inputs", "outputs", "hyperparameters", "environment"]


def test_a_fingerprint_gives_no_secret_away_and_fits_a_tag() -> None:
    printed = fingerprint(JobKind.TRAINING, REQUEST)
    assert "hunter2" not in printed
    assert TAG_VALUE.fullmatch(printed)
    assert "environment:" in fingerprint(JobKind.PROCESSING, {"Environment": {"a": "b"}})


@pytest.mark.parametrize("text", ["dag/scheduled__2026-11-30T00:00:00+00:00/train", "~'\"[3]*?", "ä" * 200, "x" * 300])
def test_any_text_becomes_a_tags_value(text: str) -> None:
    assert TAG_VALUE.fullmatch(encode_tag(text))


def test_long_texts_that_differ_at_their_ends_have_different_tags() -> None:
    assert encode_tag("x" * 300 + "a") != encode_tag("x" * 300 + "b")


OWNER = Ownership(
    task=Ownership.task_tag(IDENTITY),
    deployment="prod",
    ti_id="0199",
    max_tries=2,
    fingerprint=fingerprint(JobKind.TRAINING, REQUEST),
    submission=4,
    first_submit=1_800_000_000.5,
    pending_spent=17.0,
    recoveries=1,
    waits=False,
)


def test_ownership_survives_its_tags() -> None:
    tags = {tag["Key"]: tag["Value"] for tag in OWNER.to_tags()}
    assert Ownership.from_tags({**tags, "team": "ml"}) == OWNER
    assert all(TAG_VALUE.fullmatch(value) and len(key) <= 128 for key, value in tags.items())
    assert len(tags) <= 15


@pytest.mark.parametrize("change", [{}, {"sm-prefer:max-tries": "many"}, {"sm-prefer:submission": ""}])
def test_tags_that_are_missing_or_damaged_are_nobodys(change: dict[str, str]) -> None:
    tags = {tag["Key"]: tag["Value"] for tag in OWNER.to_tags()}
    assert Ownership.from_tags({**tags, **change} if change else {"team": "ml"}) is None


@pytest.mark.parametrize("prefix", ["nightly", "", "smpabcd"])
def test_a_job_carries_the_marker_of_its_deployment(prefix: str) -> None:
    assert marker_of(job_name(IDENTITY, prefix, 3)) == deployment_marker("prod")


@pytest.mark.parametrize("name", ["", "nightly-1", "smpabcd", "smpabcd-short-1", "smpABCD-abcdefghijkl-1"])
def test_a_job_of_somebody_else_carries_none(name: str) -> None:
    assert marker_of(name) == ""
