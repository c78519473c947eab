"""Changing a sandbox while it runs: pieces of a scenario, the speed, and leaps ahead.

A change is read as a whole before any of it is applied, and applied at one moment, so that one with a mistake changes
nothing and two at once don't mix.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from airflow_sm_prefer.sandbox import scenario_file
from airflow_sm_prefer.sandbox.batch.dispatcher import Dispatcher
from airflow_sm_prefer.sandbox.batch_file import read_batch_change
from airflow_sm_prefer.sandbox.capacity import Timeline
from airflow_sm_prefer.sandbox.demand import CapacityKind
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.pace import FASTEST, Moment
from airflow_sm_prefer.sandbox.plans import PlanSpec
from airflow_sm_prefer.sandbox.rates import RateLimits
from airflow_sm_prefer.sandbox.yaml_nodes import Node

LONGEST_LEAP = 3650 * 86_400
"""How many of the scenario's seconds may pass at once."""


@dataclass(frozen=True, slots=True)
class Change:
    """What changes at one moment.

    Attributes:
        sections: Sections of a scenario as they were read, and ``speed``, by name.
        advance: How many of the scenario's seconds pass at once, after everything else.
        written: The same as it was written, JSON-clean, for the record.
    """

    sections: Mapping[str, Any]
    advance: float
    written: Mapping[str, Any]


def read_change(text: str, source: str) -> Change:
    """Read a change.

    Args:
        text: A mapping in YAML or JSON: sections of a scenario file, ``speed``, ``advance``.
        source: What the text is called in errors.

    Raises:
        InvalidScenario: it has a mistake, or a section that is fixed when a sandbox begins.
    """
    root = Node.document(text, source)
    if root is None:
        return Change({}, 0.0, {})
    given = root.members({**_READERS, **scenario_file.SECTIONS})
    for name, node in given.items():
        if name not in _READERS:
            known = ", ".join(_READERS)
            raise node.error(f"not to be changed while the sandbox runs; start one with it, or change {known}")
    found = {name: _READERS[name](node) for name, node in given.items()}
    advance = found.pop("advance", 0.0)
    return Change(found, advance, json.loads(json.dumps(yaml.safe_load(text), default=str)))


def apply_change(change: Change, engine: Engine, rates: RateLimits, dispatcher: Dispatcher, now: Moment) -> None:
    """Apply a change but for its leap, and note it; the caller holds the engine's lock.

    ``capacity``, ``spot``, ``plans``, ``quotas``, ``rates`` and Batch's limits replace what they name, faults are added
    to those that are still to come; instants count from now.
    """
    appliers: dict[str, Callable[[Any], None]] = {
        "capacity": lambda given: _set_capacity(engine, CapacityKind.ON_DEMAND, given, now),
        "spot": lambda given: _set_capacity(engine, CapacityKind.SPOT, given, now),
        "plans": lambda given: _set_plans(engine, given, now),
        "quotas": engine.quotas.update,
        "rates": rates.change,
        "batch": dispatcher.set_limits,
        "call_faults": engine.faults.add_calls,
        "job_faults": engine.faults.add_jobs,
        "speed": lambda given: _set_speed(engine, given, now),
    }
    for name, value in change.sections.items():
        appliers[name](value)
    engine.keeper.world_changed()
    engine.record.add(now.instant, "control", {"sections": sorted(change.written), "change": dict(change.written)})


def clear_faults(engine: Engine) -> None:
    """Forget every fault that is still to come, of runs that go on too; the caller holds the engine's lock."""
    engine.faults.clear()
    engine.keeper.world_changed()
    jobs = [job for account in engine.accounts.values() for job in account.jobs.values()]
    for job in jobs:
        if job.doom is not None and job.stopping is None:
            job.doom = None
            engine.keeper.job_changed(job)


def _set_speed(engine: Engine, speed: float, now: Moment) -> None:
    """Let the scenario's seconds pass at another speed from now on."""
    engine.time.pace = engine.time.pace.at_speed(speed, now)


def _set_capacity(engine: Engine, kind: CapacityKind, timelines: Mapping[str, Timeline], now: Moment) -> None:
    """Replace counts by type; their instants count from now."""
    for instance_type, timeline in timelines.items():
        engine.capacity.set(kind, instance_type, timeline.later(now.elapsed))
    engine.agenda.add_all(engine.capacity.changes())
    engine.floor.stir()


def _set_plans(engine: Engine, specs: Iterable[PlanSpec], now: Moment) -> None:
    """Give every account more plans, or others of the same names; their instants count from now."""
    for spec in specs:
        given = spec.later(now.elapsed)
        engine.plan_specs = [s for s in engine.plan_specs if s.name != spec.name] + [given]
        for account in engine.accounts.values():
            engine.give_plan(account, given)
    engine.floor.stir()


def _speed(node: Node) -> float:
    speed = node.number()
    if speed > FASTEST:
        raise node.error(f"expected {FASTEST:,} at most")
    return speed


def _advance(node: Node) -> float:
    seconds = node.duration()
    if seconds > LONGEST_LEAP:
        raise node.error(f"expected {LONGEST_LEAP // 86_400} days at most")
    return seconds


_READERS: Mapping[str, Callable[[Node], Any]] = {
    **{
        name: scenario_file.SECTIONS[name]
        for name in ("capacity", "spot", "plans", "quotas", "call_faults", "job_faults")
    },
    "rates": scenario_file.read_rate_change,
    "batch": read_batch_change,
    "speed": _speed,
    "advance": _advance,
}
"""What can change while a sandbox runs, and how each is read."""
