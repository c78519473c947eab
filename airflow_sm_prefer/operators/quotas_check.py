"""Whether the account's quotas let a job in at all, asked of Service Quotas before it is created.

AWS checks every entry of a list at its own count before it looks at capacity, and refuses the whole request for one
that is short (https://docs.aws.amazon.com/sagemaker/latest/dg/train-instance-preferences.html).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from airflow_sm_prefer.aws.quotas import Quota
from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.preference import CapacityKind, InstancePreference, PreferenceList
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement.state import State

#: How many quotas an error names; a message takes five lines at most.
_NAMED = 3


def find_short(
    kind: JobKind, preferences: PreferenceList, quotas: Callable[[Collection[str]], Mapping[str, Quota]]
) -> dict[int, str]:
    """Return the entries that a quota never lets in, by their indices, and why not.

    Args:
        kind: Training or processing.
        preferences: The list; one that stands in the request in a way of its own is not looked at.
        quotas: Says what quotas of some names are; what it leaves out isn't known, and AWS's answer to the job tells.

    Raises:
        InvalidPreference: no entry is left.
    """
    wanted = [_quota_names(kind, entry) for entry in preferences]
    known = quotas({name for names in wanted for name in names}) if wanted else {}
    short: dict[int, Quota] = {}
    for index, names in enumerate(wanted):
        limits = [known[name] for name in names if name in known]
        lowest = min(limits, key=lambda quota: quota.value, default=None)
        if lowest is not None and lowest.value < preferences.count_of(index):
            short[index] = lowest
    if short and len(short) == len(wanted):
        raise _nothing_left(preferences, short)
    return {index: _why(preferences, index, quota) for index, quota in short.items()}


def leave_out(state: State, short: Mapping[int, str], now: float) -> State:
    """Return the first state of a task without some entries of its list, as if AWS had refused them for good.

    Raises:
        InvalidPreference: nothing is left of it.
    """
    if short and len(short) == len(state.entries):
        named = [why for _, why in sorted(short.items())[:_NAMED]]
        msg = "No entry of the list can run as things stand.\n" + "\n".join(named)
        raise InvalidPreference(msg)
    for index, why in sorted(short.items()):
        wave = next(n for n, indices in enumerate(state.waves) if index in indices)
        verdict = Verdict.QUEUE_UNFIT if state.entries[index].queue else Verdict.QUOTA_ZERO
        state = state.but(wave=wave).with_attempt(verdict, why, now)
    return state.but(wave=0, dropped=state.dropped.union(short))


def _quota_names(kind: JobKind, entry: InstancePreference) -> list[str]:
    """Return the names of the quotas that an entry counts against; a training plan's count as On-Demand's do."""
    jobs = f"{'spot ' if entry.kind is CapacityKind.SPOT else ''}{kind.value} job"
    names = [f"{entry.instance_type} for {jobs} usage", f"Number of instances across all {jobs}s"]
    return [*names, f"Maximum number of instances per {jobs}"] if kind is JobKind.TRAINING else names


def _why(preferences: PreferenceList, index: int, quota: Quota) -> str:
    entry, count = preferences.preferences[index], preferences.count_of(index)
    return (
        f"entry {index + 1} asks for {count} x {entry.instance_type}, and the quota '{quota.name}' is {quota.value:g}"
    )


def _nothing_left(preferences: PreferenceList, short: Mapping[int, Quota]) -> InvalidPreference:
    first: dict[str, str] = {}
    for index, quota in short.items():
        first.setdefault(quota.name, f"{_why(preferences, index, quota)} ({quota.code})")
    lines = "\n".join(list(first.values())[:_NAMED])
    more = f"; {len(first) - _NAMED} more quotas are too small" if len(first) > _NAMED else ""
    remedy = "Raise them in the Service Quotas console under Amazon SageMaker, or name types that the account may use."
    return InvalidPreference(f"prefer: the account's quotas let no entry in.\n{lines}{more}.\n{remedy}")
