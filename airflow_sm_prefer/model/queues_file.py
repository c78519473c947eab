"""Reading a file of queues: what ``sm-prefer queues apply`` is given. The README shows one.

Every mistake is told with its line, its place in the file and what was expected there; keys that aren't known are
mistakes. The limits are AWS's (see :mod:`airflow_sm_prefer.model.queues`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from airflow_sm_prefer.errors import InvalidQueues
from airflow_sm_prefer.model.queues import (
    FairShare,
    Fleet,
    JobQueue,
    QuotaShare,
    SchedulingPolicy,
    ServiceEnvironment,
    quota_policy,
)
from airflow_sm_prefer.model.queues_rules import Mistake, mistakes
from airflow_sm_prefer.model.queues_sections import TOLD_BY_US, QueueSection, QueuesFile
from airflow_sm_prefer.model.written import shown
from airflow_sm_prefer.model.yaml_lines import Document, NotYaml, read

#: So many mistakes are told at once.
_TOLD = 4

#: What pydantic calls a mapping, as a whole or a section of ours.
_NOT_A_MAPPING = frozenset({"dict_type", "model_type"})

#: How pydantic begins most of its messages.
_PREAMBLE = "Input should be "


def parse_queues(text: str, source: str = "queues") -> Fleet:
    """Return what a YAML text asks for.

    Args:
        text: The YAML.
        source: What it is called in errors.

    Raises:
        InvalidQueues: it has mistakes; the first few are told.
    """
    try:
        document = read(text)
        parsed = QueuesFile.model_validate(document.data)
    except NotYaml as error:
        msg = f"{source}, line {error.line}: {error}."
        raise InvalidQueues(msg) from None
    except ValidationError as error:
        raise _refused(source, document, [_mistake(detail) for detail in error.errors()]) from None
    fleet = _fleet(parsed)
    if found := list(mistakes(fleet)):
        raise _refused(source, document, found)
    return fleet


def _refused(source: str, document: Document, found: list[Mistake]) -> InvalidQueues:
    told = [f"{source}, line {document.line(m.path)}: {m}" for m in found[:_TOLD]]
    if len(found) > _TOLD:
        told.append(f"… and {len(found) - _TOLD} more.")
    return InvalidQueues("\n".join(told))


def _mistake(detail: Mapping[str, Any]) -> Mistake:
    """Read one of pydantic's errors."""
    path = tuple(part for part in detail["loc"] if part != "[key]")
    if detail["type"] == TOLD_BY_US:
        return Mistake((*path, *detail["ctx"]["below"]), detail["ctx"]["text"])
    if detail["type"] == "missing":
        return Mistake(path[:-1], f"{path[-1]} is missing.")
    if detail["msg"].startswith(_PREAMBLE):
        expected = "a mapping" if detail["type"] in _NOT_A_MAPPING else detail["msg"].removeprefix(_PREAMBLE)
        return Mistake(path, f"expected {expected}, not {shown(detail['input'])}.")
    return Mistake(path, f"{detail['msg']}.")


def _fleet(parsed: QueuesFile) -> Fleet:
    """Return the pieces that a file describes; a queue's quota shares bring the policy that AWS wants for them."""
    common = parsed.tags
    environments = (
        ServiceEnvironment(name, e.instances, e.enabled, e.training_plan, common | e.tags)
        for name, e in parsed.environments.items()
    )
    policies = (
        SchedulingPolicy(name, FairShare(p.weights, p.decay, p.reservation), common | p.tags)
        for name, p in parsed.policies.items()
    )
    quotas = (
        SchedulingPolicy(quota_policy(name), None, common | q.tags)
        for name, q in parsed.queues.items()
        if q.quota_shares
    )
    return Fleet(
        environments=tuple(environments),
        policies=(*policies, *quotas),
        queues=tuple(_queue(name, q, common) for name, q in parsed.queues.items()),
        shares=tuple(share for name, q in parsed.queues.items() for share in _shares(name, q, common)),
    )


def _queue(name: str, section: QueueSection, common: Mapping[str, str]) -> JobQueue:
    return JobQueue(
        name=name,
        environment=section.environment,
        priority=section.priority,
        policy=quota_policy(name) if section.quota_shares else section.policy,
        time_limits={reason.value: seconds for reason, seconds in section.time_limits.items()},
        enabled=section.enabled,
        tags={**common, **section.tags},
    )


def _shares(queue: str, section: QueueSection, common: Mapping[str, str]) -> Iterator[QuotaShare]:
    for name, share in (section.quota_shares or {}).items():
        yield QuotaShare(
            queue=queue,
            name=name,
            instances=share.instances,
            sharing=share.sharing.value,
            borrow_limit=share.borrow_limit,
            in_share_preemption=share.in_share_preemption,
            enabled=share.enabled,
            tags={**common, **share.tags},
        )
