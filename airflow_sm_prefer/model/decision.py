"""The decision record: the stored account of one task, for people and for downstream tasks."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.model.verdict import Verdict

#: Goes up when a reader of the old form would go wrong with the new one.
VERSION = 1


@dataclass(frozen=True, slots=True)
class WaveRecord:
    """What came of one wave, all its attempts with the same verdict together.

    Attributes:
        preferences: What the wave asked for, in order: ``2 x ml.p4d.24xlarge (On-Demand)``.
        verdict: What the attempts came to; None while one is on.
        count: How many attempts there were.
        first: When the first of them ended, ISO 8601 in UTC.
        last: When the last of them ended.
        reason: AWS's words for the last one.
    """

    preferences: list[str]
    verdict: Verdict | None
    count: int
    first: str | None
    last: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """Every wave, when, on what, why it ended, and what was chosen.

    Attributes:
        job_name: The job that the task ended with.
        job_arn: Its ARN.
        selected_instance_type: What it ran on; None if nothing had capacity.
        selected_instance_count: How many of them.
        preference_index: Which entry of the list that was; 0 is the first choice.
        capacity_kind: ``training_plan``, ``on_demand`` or ``spot``.
        job_queue: The AWS Batch queue that it went through; None for SageMaker itself.
        share: Whose share of the queue it took; None where that has none.
        pending_seconds: How long the list waited for capacity, in AWS's seconds.
        submissions: The number of the last job: how many the task instance had in its life.
        rounds: How many times the whole list was gone through without success.
        recoveries: How often the job was started again after a failure.
        first_submit: When the first job was submitted, ISO 8601 in UTC.
        capacity_at: When the last one had its instances.
        verdict: What the task came to; None while it waits.
        reason: Why, in a sentence.
        waves: What was tried.
    """

    job_name: str
    job_arn: str
    selected_instance_type: str | None
    selected_instance_count: int | None
    preference_index: int | None
    capacity_kind: str | None
    job_queue: str | None
    share: str | None
    pending_seconds: float
    submissions: int
    rounds: int
    recoveries: int
    first_submit: str | None
    capacity_at: str | None
    verdict: Verdict | None
    reason: str
    waves: list[WaveRecord]

    def to_json(self) -> dict[str, Any]:
        """Return the record in plain JSON types, with the version of its form."""
        return {"version": VERSION, **dataclasses.asdict(self)}
