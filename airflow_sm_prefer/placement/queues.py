"""What is known of job queues before a job is sent to one: whether they can take it at all.

The rules are AWS's: https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitServiceJob.html,
https://docs.aws.amazon.com/batch/latest/APIReference/API_CapacityLimit.html and
https://docs.aws.amazon.com/batch/latest/userguide/quota-shares.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.preference import InstancePreference, PreferenceList, Queue
from airflow_sm_prefer.model.written import did_you_mean, joined, refused

#: The unit of environments that count instances of every type alike.
INSTANCES = "NUM_INSTANCES"


class Policy(StrEnum):
    """How a queue decides who is next."""

    FIFO = "FIFO"
    FAIR_SHARE = "fair share"
    QUOTA_SHARES = "quota shares"


@dataclass(frozen=True, slots=True)
class QuotaShare:
    """One quota share of a queue.

    Attributes:
        name: Its name.
        limits: Its own instances, by type.
        most: What it may have with what it borrows, by type; a type that it may borrow without limit is left out.
            A part of an instance counts for none.
        is_open: Whether it takes jobs.
    """

    name: str
    limits: Mapping[str, int]
    most: Mapping[str, int]
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """How a job queue stands.

    Attributes:
        name: Its name.
        is_for_training: Whether it takes SageMaker training jobs.
        closed: Why it takes no jobs now; empty if it does.
        policy: How it decides who is next; None where AWS doesn't say.
        limits: The limits of its service environment, by unit; None where AWS doesn't say.
        shares: Its quota shares, by name; None where it has none or AWS doesn't say.
        paused: Why no job in it begins now, though it takes them; empty if they do or AWS doesn't say.
    """

    name: str
    is_for_training: bool = True
    closed: str = ""
    policy: Policy | None = None
    limits: Mapping[str, int] | None = None
    shares: Mapping[str, QuotaShare] | None = field(default=None)
    paused: str = ""


def unfit_entries(preferences: PreferenceList, known: Mapping[str, QueueStatus | None]) -> dict[int, str]:
    """Return the entries whose queue can't take them as things stand, by their indices, and why not.

    Args:
        preferences: The list.
        known: The queues on it, by the name that it gives them; None for one that doesn't exist. One that is left out
            could not be asked about, and Batch's answer to the job will tell.

    Raises:
        InvalidPreference: an entry can never work, or none is left of the list.
    """
    unfit: dict[int, str] = {}
    for index, entry in enumerate(preferences):
        if entry.queue is None or entry.queue.name not in known:
            continue
        place = f"entry {index + 1} ({entry.instance_type})"
        status = _existing(entry.queue, known[entry.queue.name], place)
        _check_share(entry.queue, status, place)
        if why := next(_obstacles(entry, preferences.count_of(index), status), None):
            unfit[index] = f"{place}: {why}"
    if unfit and len(unfit) == len(preferences.preferences):
        msg = "No entry of the list can run as its queue is set up.\n" + "\n".join(list(unfit.values())[:3])
        raise InvalidPreference(msg)
    return unfit


def without_effect(preferences: PreferenceList, known: Mapping[str, QueueStatus | None]) -> list[str]:
    """Return the queues on a list in which a scheduling priority changes nothing: those that go by arrival alone."""
    found = [known.get(entry.queue.name) for entry in preferences if entry.queue is not None]
    return sorted({status.name for status in found if status is not None and status.policy is Policy.FIFO})


def paused(preferences: PreferenceList, known: Mapping[str, QueueStatus | None]) -> list[str]:
    """Return which queues on a list take jobs and begin none now, each with why and what to do about it."""
    found = [known.get(entry.queue.name) for entry in preferences if entry.queue is not None]
    return sorted({f"{status.name!r}: {status.paused}" for status in found if status is not None and status.paused})


def _existing(queue: Queue, status: QueueStatus | None, place: str) -> QueueStatus:
    if status is None:
        problem = f"there is no job queue {queue.name!r} in this account and Region"
        raise refused(place, problem, "Check its name, and the Region that the task asks.")
    if not status.is_for_training:
        problem = f"the job queue {status.name!r} isn't for SageMaker training jobs"
        raise refused(place, problem, "Name a queue of type SAGEMAKER_TRAINING.")
    return status


def _check_share(queue: Queue, status: QueueStatus, place: str) -> None:
    """Check that an entry says what the queue's policy wants, and nothing else."""
    match status.policy:
        case Policy.FIFO if queue.share:
            problem = f"the job queue {status.name!r} has no shares, and the entry names {queue.share!r}"
            raise refused(place, problem, "Take the share away: this queue goes by arrival.")
        case Policy.FAIR_SHARE if queue.share_identifier is None:
            problem = f"the job queue {status.name!r} shares by share identifiers, and the entry names none"
            raise refused(place, problem, "Give it one: queued(…, share_identifier=…), without a quota share.")
        case Policy.QUOTA_SHARES if queue.quota_share is None:
            problem = f"the job queue {status.name!r} has quota shares, and the entry names none"
            raise refused(place, problem, f"Give it one: queued(…, quota_share=…).{_known(status)}")
        case Policy.QUOTA_SHARES if status.shares is not None and queue.quota_share not in status.shares:
            problem = f"the job queue {status.name!r} has no quota share {queue.quota_share!r}"
            hint = did_you_mean(queue.quota_share or "", status.shares)
            raise refused(place, problem, f"{hint}{_known(status)}".strip())


def _known(status: QueueStatus) -> str:
    return f" There are {joined(sorted(status.shares))}." if status.shares else ""


def _obstacles(entry: InstancePreference, count: int, status: QueueStatus) -> Iterator[str]:
    """Give what keeps an entry out of its queue as things stand, with what to do about it."""
    if status.closed:
        yield f"the job queue {status.name!r} takes no jobs: {status.closed}"
    yield from _beyond_environment(entry.instance_type, count, status)
    share = (status.shares or {}).get(entry.queue.quota_share or "") if entry.queue else None
    if share is not None:
        yield from _beyond_share(entry.instance_type, count, status, share)


def _beyond_environment(instance_type: str, count: int, status: QueueStatus) -> Iterator[str]:
    if status.limits is None:
        return
    unit = INSTANCES if INSTANCES in status.limits else instance_type
    limit = status.limits.get(unit)
    if limit is None:
        yield f"the service environment of {status.name!r} has no {instance_type}. Give it a limit for that type"
    elif count > limit:
        yield (
            f"it asks for {count} instances, and the service environment of {status.name!r} has {limit}. "
            "Ask for fewer, or raise its capacity limit"
        )


def _beyond_share(instance_type: str, count: int, status: QueueStatus, share: QuotaShare) -> Iterator[str]:
    where = f"the quota share {share.name!r} of {status.name!r}"
    if not share.is_open:
        yield f"{where} is disabled. Enable it"
    elif instance_type not in share.limits:
        yield f"{where} has no {instance_type}. Give it a limit for that type"
    elif count > share.most.get(instance_type, float("inf")):
        yield (
            f"it asks for {count} instances, and {where} can have {share.most[instance_type]} with what it borrows. "
            "Ask for fewer, or raise its limit"
        )
