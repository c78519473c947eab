"""Reading a scenario file: ``docs/sandbox.md`` describes it.

Every mistake is an :class:`~airflow_sm_prefer.errors.InvalidScenario` that names the file, the line and what was
expected there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from airflow_sm_prefer import catalog
from airflow_sm_prefer.errors import InvalidScenario
from airflow_sm_prefer.sandbox.batch_file import read_batch
from airflow_sm_prefer.sandbox.capacity import ANY_TYPE, Timeline
from airflow_sm_prefer.sandbox.faults import CallError, CallFault, JobFault
from airflow_sm_prefer.sandbox.plans import SETTLED, TARGETS, Block, PlanSpec
from airflow_sm_prefer.sandbox.quotas import known_quota
from airflow_sm_prefer.sandbox.rates import DEFAULT_RATES, RateChange
from airflow_sm_prefer.sandbox.scenario import Scenario
from airflow_sm_prefer.sandbox.settings import Settings
from airflow_sm_prefer.sandbox.shapes import service_model
from airflow_sm_prefer.sandbox.yaml_nodes import Node

INSTANCE_TYPES = catalog.TRAINING_TYPES | catalog.PROCESSING_TYPES


def _operations() -> list[str]:
    return [name for service in ("sagemaker", "batch") for name in service_model(service).operation_names]


def as_scenario(given: Scenario | Mapping[str, Any] | Path | str | None) -> Scenario:
    """Return a scenario, however it is given: ready, as a mapping, as a file's path, or not at all.

    Raises:
        InvalidScenario: it has a mistake, or there is no such file.
    """
    if isinstance(given, Scenario):
        return given
    if given is None:
        return Scenario()
    if isinstance(given, Mapping):
        return parse(as_text(given), "scenario")
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{given}: the scenario file can't be read: {error}"
        raise InvalidScenario(msg) from None
    return parse(text, str(given))


def as_text(sections: Mapping[str, Any]) -> str:
    """Return sections that were given as values in the way that a file has them.

    Raises:
        InvalidScenario: a value is of a kind that no file can have.
    """
    try:
        return yaml.safe_dump(dict(sections), sort_keys=False)
    except yaml.YAMLError as error:
        msg = f"scenario: {error}; expected texts, numbers, lists and mappings, as a file has them"
        raise InvalidScenario(msg) from None


def parse(text: str, source: str = "scenario") -> Scenario:
    """Return the scenario that a YAML text describes.

    Args:
        text: The YAML.
        source: What it is called in errors.

    Raises:
        InvalidScenario: it has a mistake.
    """
    root = Node.document(text, source)
    if root is None:
        return Scenario()
    return Scenario(**{name: SECTIONS[name](node) for name, node in root.members(SECTIONS).items()})


def read_capacity(node: Node) -> dict[str, Timeline]:
    """Read counts by instance type; ``*`` is every type that isn't named."""
    timelines = {}
    for key, value in node.items():
        if key.name != ANY_TYPE:
            key.one_of(INSTANCE_TYPES, "an instance type of SageMaker's")
        timelines[key.name] = _timeline(value)
    return timelines


def read_plans(node: Node) -> tuple[PlanSpec, ...]:
    """Read the training plans."""
    plans = [read_plan(entry) for entry in node.elements()]
    names = [plan.name for plan in plans]
    for name in names:
        if names.count(name) > 1:
            raise node.error(f"two plans are called {name}")
    return tuple(plans)


def read_plan(node: Node) -> PlanSpec:
    """Read one training plan."""
    known = ("name", "type", "count", "region", "zone", "target", "status", "blocks")
    members = node.members(known, ("name", "type", "count"))
    blocks = tuple(_block(entry) for entry in members["blocks"].elements()) if "blocks" in members else ()
    for before, after in pairwise(blocks):
        if after.starts < before.ends:
            raise members["blocks"].error("expected each block to begin after the one before has ended")
    return PlanSpec(
        name=members["name"].text(),
        instance_type=members["type"].one_of(catalog.RESERVABLE_TYPES, "a type that plans are sold for"),
        count=members["count"].integer(1),
        blocks=blocks or (Block(0, 86_400),),
        **_given(
            members,
            region=Node.text,
            zone=Node.text,
            target=lambda n: n.one_of(TARGETS, "what plans are for"),
            status=lambda n: n.one_of(SETTLED, "a status that doesn't come of its blocks"),
        ),
    )


def read_quotas(node: Node) -> dict[str, int]:
    """Read service quotas by name."""
    quotas = {}
    for key, value in node.items():
        if not known_quota(key.name):
            raise key.error(
                "expected a quota's name, as 'ml.p5.48xlarge for training job usage' or "
                "'Number of instances across all training jobs'"
            )
        quotas[key.name] = value.integer()
    return quotas


def read_rates(node: Node) -> dict[str, float]:
    """Read calls a second by operation, over AWS's own."""
    return read_rate_change(node).over(DEFAULT_RATES)


def read_rate_change(node: Node) -> RateChange:
    """Read calls a second by operation; ``off`` limits nothing, neither does ``off`` for one; ``aws`` is AWS's own."""
    if node.is_off():
        return RateChange({}, base={})
    if node.is_word("aws"):
        return RateChange({}, base=DEFAULT_RATES)
    named: dict[str, float | None] = {}
    for key, value in node.items():
        name = key.one_of(_operations(), "an operation of SageMaker's or Batch's")
        named[name] = None if value.is_off() else value.number()
    return RateChange(named)


def read_call_fault(node: Node) -> CallFault:
    """Read one fault of calls."""
    known = ("operation", "error", "after", "times", "job", "takes_effect")
    members = node.members(known, ("operation", "error"))
    operation = members["operation"]
    if "*" not in operation.text():
        operation.one_of(_operations(), "an operation of SageMaker's or Batch's")
    return CallFault(
        operation=operation.text(),
        error=members["error"].choice(CallError),
        **_given(
            members,
            after=Node.integer,
            times=lambda n: n.integer(1),
            job=Node.text,
            takes_effect=Node.boolean,
        ),
    )


def read_job_fault(node: Node) -> JobFault:
    """Read one fault of jobs."""
    members = node.members(("job", "reason", "after", "times"), ("job",))
    given = _given(members, reason=Node.text, after=Node.duration, times=lambda n: n.integer(1))
    return JobFault(job=members["job"].text(), **given)


def read_settings(node: Node) -> Settings:
    """Read the settings."""
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    values = {name: _setting(value, fields[name].default) for name, value in node.members(fields).items()}
    return Settings(**values)


def _setting(node: Node, default: Any) -> Any:
    """Read a setting in the way that its default shows."""
    if isinstance(default, StrEnum):
        return node.choice(type(default))
    if isinstance(default, bool):
        return node.boolean()
    if isinstance(default, str):
        return node.text()
    return node.integer() if isinstance(default, int) else node.duration()


def _given(members: Mapping[str, Node], **readers: Callable[[Node], Any]) -> dict[str, Any]:
    return {name: read(members[name]) for name, read in readers.items() if name in members}


def _timeline(node: Node) -> Timeline:
    if not node.is_sequence():
        return Timeline(((0, node.integer()),))
    steps = [_step(entry) for entry in node.elements()]
    instants = [after for after, _ in steps]
    if not steps or instants != sorted(instants):
        raise node.error("expected steps in the order of time, as [0, {after: 20m, count: 2}]")
    return Timeline(tuple(steps))


def _step(node: Node) -> tuple[float, int]:
    if not node.is_mapping():
        return 0.0, node.integer()
    members = node.members(("after", "count"), ("after", "count"))
    return members["after"].duration(), members["count"].integer()


def _block(node: Node) -> Block:
    members = node.members(("starts", "lasts"), ("lasts",))
    starts = members["starts"].duration() if "starts" in members else 0.0
    lasts = members["lasts"].duration()
    if lasts <= 0:
        raise members["lasts"].error("expected a duration above 0")
    return Block(starts, lasts)


def _tuple_of(read: Callable[[Node], Any]) -> Callable[[Node], tuple[Any, ...]]:
    return lambda node: tuple(read(entry) for entry in node.elements())


def _missing_types(node: Node) -> frozenset[str]:
    what = "an instance type of SageMaker's"
    return frozenset(entry.one_of(INSTANCE_TYPES, what) for entry in node.elements())


SECTIONS: Mapping[str, Callable[[Node], Any]] = {
    "capacity": read_capacity,
    "spot": read_capacity,
    "plans": read_plans,
    "quotas": read_quotas,
    "rates": read_rates,
    "call_faults": _tuple_of(read_call_fault),
    "job_faults": _tuple_of(read_job_fault),
    "missing_types": _missing_types,
    "algorithms": lambda node: node.mapping_of(_tuple_of(Node.text)),
    "images": lambda node: node.mapping_of(Node.text),
    "batch": read_batch,
    "settings": read_settings,
}
"""The sections of a file, named after the fields of :class:`Scenario`, and how each is read."""
