"""Builders for the machine's states and looks at jobs, with what matters in a test as arguments."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.model.job import JobKind, Observation
from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import Begun, Command, Created, Event, Refused, Seen, Tell
from airflow_sm_prefer.placement.machine import step
from airflow_sm_prefer.placement.plans import PlanStatus
from airflow_sm_prefer.placement.state import Entry, Limits, State

NOW = 1_800_000_000.0
HOUR = 3600.0
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/december"


def new_state(
    *types: str,
    waves: tuple[tuple[int, ...], ...] | None = None,
    kind: JobKind = JobKind.TRAINING,
    budget: float = 6 * HOUR,
    **limits: Any,
) -> State:
    entries = tuple(Entry(name, 1, CapacityKind.ON_DEMAND) for name in types or ("ml.p5.48xlarge", "ml.p4d.24xlarge"))
    return State(
        kind=kind,
        entries=entries,
        waves=waves or (tuple(range(len(entries))),),
        limits=Limits(budget=budget, **limits),
    )


class Driver:
    """Drives the machine and remembers what it said."""

    def __init__(self, state: State, now: float = NOW) -> None:
        self.state = state
        self.now = now
        self.told: list[str] = []
        self.asked: tuple[Command, ...] = ()

    def hears(self, event: Event, *, after: float = 0.0, jitter: float = 0.5) -> tuple[Command, ...]:
        """Feed an event; returns the commands but for what is told."""
        self.now += after
        self.state, commands = step(self.state, event, self.now, jitter)
        self.told += [command.text for command in commands if isinstance(command, Tell)]
        self.asked = tuple(command for command in commands if not isinstance(command, Tell))
        return self.asked

    def watching(self, *, max_pending: float | None = None) -> Driver:
        """Go on until a job is watched."""
        self.hears(Begun())
        self.hears(Created("job-1", "arn:job-1", max_pending))
        return self

    def sees(self, *, after: float = 0.0, **look: Any) -> tuple[Command, ...]:
        return self.hears(Seen(job(**look)), after=after)

    def is_refused(
        self, verdict: Verdict, text: str = "AWS's words", instance_type: str | None = None, **kw: Any
    ) -> Any:
        return self.hears(Refused(Judgement(verdict, text, instance_type)), **kw)


def job(status: str = "InProgress", **fields: Any) -> Observation:
    return Observation(**{"name": "job-1", "status": status, "created": NOW, **fields})


def planned_state(*entries: Entry, waves: tuple[tuple[int, ...], ...] | None = None, **fields: Any) -> State:
    """A state whose entries are given; all of them in one wave unless told."""
    limits = Limits(budget=fields.pop("budget", 6 * HOUR), **fields.pop("limits", {}))
    return State(
        kind=JobKind.TRAINING,
        entries=entries,
        waves=waves or (tuple(range(len(entries))),),
        limits=limits,
        **fields,
    )


def reserved(instance_type: str = "ml.p5.48xlarge", count: int = 2, *, wait_for_plan: bool = False) -> Entry:
    return Entry(instance_type, count, CapacityKind.TRAINING_PLAN, plan=PLAN, wait_for_plan=wait_for_plan)


def a_plan(status: str = "Active", **fields: Any) -> PlanStatus:
    """A plan of two p5, on for long, with all of it free."""
    values = {
        "arn": PLAN,
        "status": status,
        "instance_types": frozenset({"ml.p5.48xlarge"}),
        "available": 2,
        "in_use": 0,
        "total": 2,
        "start": NOW - HOUR,
        "end": NOW + 48 * HOUR,
        "targets": frozenset({"training-job"}),
        "blocks": ((NOW - HOUR, NOW + 48 * HOUR),),
    }
    return PlanStatus(**{**values, **fields})


SERVICE_JOB = "arn:aws:batch:us-east-1:123456789012:service-job/{}"


def in_queue(instance_type: str = "ml.p5.48xlarge", queue: str = "p5", count: int = 1, **fields: Any) -> Entry:
    return Entry(instance_type, count, CapacityKind.ON_DEMAND, queue=queue, **fields)


def queued_driver(*entries: Entry, **fields: Any) -> Driver:
    """Watch a service job; each entry is a wave of its own, as through queues it is."""
    waves = tuple((number,) for number in range(len(entries)))
    driver = Driver(planned_state(*entries, **{"waves": waves, **fields}))
    driver.hears(Begun())
    driver.hears(Created("job-1", SERVICE_JOB.format(1)))
    return driver
