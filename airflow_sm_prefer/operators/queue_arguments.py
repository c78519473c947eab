"""What the arguments of an operator about queues mean, and whether they can work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.hooks import settings
from airflow_sm_prefer.model.preference import Queue
from airflow_sm_prefer.model.priority import parse_priority
from airflow_sm_prefer.model.queue_entries import Queues, check_queue
from airflow_sm_prefer.model.rendered import has_template
from airflow_sm_prefer.model.written import did_you_mean, joined, shown
from airflow_sm_prefer.placement.queueing import TAGS_LIMIT, Terms

if TYPE_CHECKING:
    from airflow_sm_prefer.operators.batch import BatchPreferTrainingOperator

#: By argument, the keys of AWS's structure with the least and the most that AWS takes of each
#: (https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitServiceJob.html).
_SHAPES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "retry_strategy": {"attempts": (1, 10)},
    "timeout_config": {"attemptDurationSeconds": (1, 2_419_200)},
    "preemption_configuration": {"preemptionRetriesBeforeTermination": (0, 9999)},
}

#: The most rules of ``evaluateOnExit``, and how long the pattern of one may be.
_MOST_RULES = 5
_PATTERN_LENGTH = 512


def queues_of(operator: BatchPreferTrainingOperator) -> Queues:
    """Return what an operator says about queues beside its list; what is still a template counts as a name.

    Raises:
        InvalidInput: it can't work.
    """
    name: Any = operator.job_queue
    shares: tuple[Any, Any] = (operator.share_identifier, operator.quota_share)
    if name is None:
        if any(shares):
            msg = "share_identifier and quota_share are of job_queue, which isn't given; queued(…) takes its own."
            raise InvalidSetting(msg)
        return Queues()
    if has_template(name) or has_template(shares):
        return Queues(Queue("rendered-later"))
    for key, value in (("job_queue", name), ("share_identifier", shares[0]), ("quota_share", shares[1])):
        if value is not None and not isinstance(value, str):
            msg = f"{key}={shown(value)}: it has to be a string."
            raise InvalidSetting(msg)
    # What a template renders to nothing stands for none.
    return Queues(check_queue(Queue(name.strip(), shares[0] or None, shares[1] or None), "job_queue"))


def terms_of(operator: BatchPreferTrainingOperator, *, rendered: bool) -> Terms:
    """Return what an operator's service jobs are submitted with.

    Args:
        operator: The operator.
        rendered: Whether its templates are rendered; what is still one is left out otherwise.

    Raises:
        InvalidInput: it can't work.
    """
    priority = operator.scheduling_priority
    return Terms(
        priority=None
        if has_template(priority)
        else parse_priority(priority, settings.priorities(), rendered=rendered, place="scheduling_priority"),
        retry_strategy=_retry_strategy(operator.retry_strategy),
        timeout=_structure("timeout_config", operator.timeout_config),
        preemption=_structure("preemption_configuration", operator.preemption_configuration),
        tags={} if has_template(operator.tags) else _tags(operator.tags),
    )


def _structure(name: str, written: Any, *more: str) -> Mapping[str, Any] | None:
    """Check one of AWS's structures of numbers."""
    if written is None:
        return None
    ranges = _SHAPES[name]
    known = (*ranges, *more)
    if not isinstance(written, Mapping) or not set(ranges) <= set(written):
        msg = f"{name}={shown(written)}: it has to be a dict with {joined(ranges)}, in AWS's shape."
        raise InvalidSetting(msg)
    for key in written:
        if key not in known:
            msg = f"{name}: there is no key {key!r}. {did_you_mean(str(key), known)} There are {joined(known)}."
            raise InvalidSetting(msg)
    for key, (least, most) in ranges.items():
        number = written[key]
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            msg = f"{name}: {key} is {shown(number)}, and AWS takes {least} to {most}."
            raise InvalidSetting(msg)
    return dict(written)


def _retry_strategy(written: Any) -> Mapping[str, Any] | None:
    strategy = _structure("retry_strategy", written, "evaluateOnExit")
    rules = (strategy or {}).get("evaluateOnExit", [])
    if not isinstance(rules, list | tuple) or len(rules) > _MOST_RULES:
        msg = f"retry_strategy: evaluateOnExit has to be a list of at most {_MOST_RULES} rules, and is {shown(rules)}."
        raise InvalidSetting(msg)
    for problem in (problem for number, rule in enumerate(rules, 1) for problem in _problems(number, rule)):
        msg = f'{problem}.\nWrite a rule as {{"action": "RETRY", "onStatusReason": "…*"}}, and the last as EXIT on "*".'
        raise InvalidSetting(msg)
    return strategy


def _problems(number: int, rule: Any) -> Iterator[str]:
    place = f"retry_strategy: rule {number} of evaluateOnExit"
    if not isinstance(rule, Mapping) or not set(rule) <= {"action", "onStatusReason"}:
        yield f"{place} is {shown(rule)}"
    elif rule.get("action") not in ("RETRY", "EXIT"):  # it may be anything, lists among it
        yield f"{place} has the action {shown(rule.get('action'))}, and there are RETRY and EXIT"
    elif "onStatusReason" in rule and not _is_pattern(rule["onStatusReason"]):
        yield f"{place} has an onStatusReason that isn't a text of 1 to {_PATTERN_LENGTH} characters"


def _is_pattern(pattern: Any) -> bool:
    return isinstance(pattern, str) and 1 <= len(pattern) <= _PATTERN_LENGTH


def _tags(written: Any) -> dict[str, str]:
    if written is None:
        return {}
    if not isinstance(written, Mapping) or not all(isinstance(item, str) for pair in written.items() for item in pair):
        msg = f"tags={shown(written)}: it has to be a dict of strings."
        raise InvalidSetting(msg)
    if len(written) > TAGS_LIMIT:
        msg = f"tags: there are {len(written)}, and a service job takes {TAGS_LIMIT}, some of them ours."
        raise InvalidSetting(msg)
    return dict(written)
