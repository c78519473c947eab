"""What a quota's refusal means for the list: entries are left out for a round, dropped for good, or sent one by one.

AWS checks the quota of every entry at its own count, and one that is short refuses the whole request
(https://docs.aws.amazon.com/sagemaker/latest/dg/train-instance-preferences.html). Its text names an instance type, or a
limit on the whole account; then only sending the entries one by one can tell which of them would pass.
"""

from __future__ import annotations

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement import submitting, telling
from airflow_sm_prefer.placement.events import Command, Tell
from airflow_sm_prefer.placement.state import State

Step = tuple[State, tuple[Command, ...]]

#: The verdicts that are for here.
VERDICTS = frozenset(
    {
        Verdict.QUOTA_BUSY,
        Verdict.QUOTA_ZERO,
        Verdict.TYPE_UNAVAILABLE,
        Verdict.QUEUE_UNFIT,
        Verdict.QUEUE_REFUSED,
    }
)


def refused(state: State, judgement: Judgement, now: float, jitter: float) -> Step:
    """Go on though a quota, a type that the Region lacks or a queue that doesn't take the job has refused the wave."""
    state = state.with_attempt(judgement.verdict, judgement.text, now)
    out = {n for n in state.in_flight if state.entries[n].instance_type == judgement.instance_type}
    if not out and _is_of_other_jobs(state.kind, judgement.text):
        return _not_for_the_list(state, judgement, now, jitter)
    if not out and len(state.in_flight) > 1:
        told = Tell(telling.one_by_one(judgement), warning=True)
        following, commands = submitting.submit(state.but(one_by_one=True), now, jitter)
        return following, (told, *commands)
    return _leave_out(state, out or set(state.in_flight), judgement, now, jitter)


def _leave_out(state: State, out: set[int], judgement: Judgement, now: float, jitter: float) -> Step:
    """Leave entries out: for this round if the quota is used up, for good if it will never do."""
    told = Tell(telling.left_out(state, out, judgement), warning=True)
    if judgement.verdict is Verdict.QUOTA_BUSY:
        state = state.but(left_out=state.left_out | out)
    else:
        state = state.but(dropped=state.dropped | out)
        if not state.anything_left:
            return submitting.fail(state, judgement)
    following, commands = submitting.submit(state, now, jitter)
    return following, (told, *commands)


def _not_for_the_list(state: State, judgement: Judgement, now: float, jitter: float) -> Step:
    """Blame no entry for a limit on jobs of another kind, as those that debugger rules start: no entry would pass."""
    if judgement.verdict is Verdict.QUOTA_BUSY:
        return submitting.onward(state, now, jitter)
    return submitting.fail(state, judgement)


def _is_of_other_jobs(kind: JobKind, text: str) -> bool:
    other = JobKind.PROCESSING if kind is JobKind.TRAINING else JobKind.TRAINING
    return f"{other.value} job" in text and f"{kind.value} job" not in text
