"""The events of service jobs, as EventBridge gets them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.sandbox.batch.bench import BatchBench
from tests.unit.sandbox.builders import CPU, single, training

Events = list[tuple[str, dict[str, Any]]]
STATE = "Batch Service Job State Change"
BLOCKED = "Batch Service Job Queue Blocked"
STARTED = "Batch Service Job Preemption Started"
COMPLETED = "Batch Service Job Preemption Completed"


class Listening(BatchBench):
    """A bench that hears the events of its sandbox."""

    def __init__(self, **scenario: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        choices = {"double_events_every": 0, **scenario.pop("settings", {})}
        super().__init__(emit=lambda _account, _region, event: self.sent.append(event), settings=choices, **scenario)

    def events(self) -> Events:
        """The events of Batch: title and detail of each."""
        ours = [event for event in self.sent if event["Source"] == "aws.batch"]
        return [(event["DetailType"], json.loads(event["Detail"])) for event in ours]


def test_every_status_but_the_submission_is_told():
    bench = Listening()
    bench.fifo()
    job = bench.submit(tags={"a": "1"})
    bench.advance(200)
    events = bench.events()
    assert {title for title, _ in events} == {STATE}
    assert [detail["status"] for _, detail in events] == ["RUNNABLE", "SCHEDULED", "STARTING", "RUNNING", "SUCCEEDED"]
    last = events[-1][1]
    shown = bench.describe(job)
    assert last == {name: value for name, value in shown.items() if name not in {"tags", "serviceRequestPayload"}}
    assert bench.sent[-1]["Resources"] == [shown["jobArn"]]


def test_a_blocked_queue_is_told_once():
    bench = Listening()
    bench.fifo()
    bench.submit("large", count=2)
    bench.submit("behind")
    bench.advance(100)
    ((_, detail),) = [event for event in bench.events() if event[0] == BLOCKED]
    assert (detail["jobName"], detail["status"]) == ("large", "RUNNABLE")
    assert detail["statusReason"].startswith("MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE")


def test_a_shortage_blocks_the_queue_and_is_told_once():
    bench = Listening(capacity={CPU: 0}, settings={"batch_retry_seconds": 10})
    bench.fifo()
    bench.submit(payload=training("job", single(CPU)))
    bench.advance(100)
    ((_, detail),) = [event for event in bench.events() if event[0] == BLOCKED]
    assert detail["statusReason"].startswith("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY")
    statuses = [detail["status"] for title, detail in bench.events() if title == STATE]
    assert statuses[:4] == ["RUNNABLE", "SCHEDULED", "RUNNABLE", "SCHEDULED"]


def test_a_preemption_is_told_when_it_begins_and_when_it_is_over():
    bench = Listening()
    bench.managed(2)
    bench.share("red", 1)
    bench.share("blue", 1)
    for share in ("red", "red"):
        bench.submit(share, "managed", quotaShareName=share)
    bench.advance(10)
    bench.submit("blue", "managed", quotaShareName="blue")
    bench.advance(1)
    events = [event for event in bench.events() if event[0] in {STARTED, COMPLETED}]
    assert [title for title, _ in events] == [STARTED, COMPLETED]
    (_, began), (_, ended) = events
    assert began == {
        "statusReason": "PREEMPTION_IN_PROGRESS: Cross-share preemption triggered to reclaim borrowed capacity",
        "preemptedJobArn": began["preemptedJobArn"],
        "status": "RUNNING",
    }
    assert (ended["preemptedJobArn"], ended["status"]) == (began["preemptedJobArn"], "RUNNABLE")
    assert ended["preemptionSummary"]["preemptedAttemptCount"] == 1


@pytest.mark.parametrize(("setting", "count"), [({"lose_events_every": 1}, 0), ({"double_events_every": 1}, 10)])
def test_events_are_lost_and_doubled_as_those_of_sagemaker(setting, count):
    bench = Listening(settings=setting)
    bench.fifo()
    bench.submit()
    bench.advance(200)
    assert len(bench.events()) == count


def test_late_events_come_late():
    bench = Listening(settings={"event_delay_seconds": 30})
    bench.fifo()
    bench.submit()
    bench.advance(29)
    assert bench.events() == []
    bench.advance(2)
    assert len(bench.events()) == 4
