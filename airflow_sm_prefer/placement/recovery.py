"""Starting a job again that did not come to a good end by no fault of its script, or on another type."""

from __future__ import annotations

from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement import submitting, telling
from airflow_sm_prefer.placement.events import Command, Fail, Tell
from airflow_sm_prefer.placement.state import Phase, State

Step = tuple[State, tuple[Command, ...]]

#: What a job may be started again after: AWS failed it or took its instances, or they were unfit for it.
_NOT_ITS_FAULT = frozenset({Verdict.INFRASTRUCTURE, Verdict.SPOT_INTERRUPTION, Verdict.UNFIT_TYPE})


def after(ended: State, left: State, judgement: Judgement, now: float, jitter: float) -> Step:
    """Start the job again if it may be, else fail.

    Args:
        ended: The state with the job that is over.
        left: The same without it, ready to submit.
        judgement: What its end means.
        now: The instant.
        jitter: Drawn by the caller.
    """
    allowed = _NOT_ITS_FAULT | ({Verdict.USER_ERROR} if ended.recover_any else frozenset())
    if judgement.verdict not in allowed or not ended.recover:
        return ended.but(phase=Phase.OVER), (Fail(judgement),)
    if ended.recoveries >= ended.recover:
        return ended.but(phase=Phase.OVER), (Tell(telling.no_more_recoveries(ended), warning=True), Fail(judgement))
    again = _next_start(ended, left, judgement.verdict)
    if not again.anything_left:
        told = Tell(telling.nothing_fits(ended), warning=True)
        return ended.but(phase=Phase.OVER, dropped=again.dropped), (told, Fail(judgement))
    again = again.but(recoveries=ended.recoveries + 1, asked=False)
    following, commands = submitting.submit(again, now, jitter)
    return following, (Tell(telling.started_again(ended, judgement), warning=True), *commands)


def _next_start(ended: State, left: State, verdict: Verdict) -> State:
    """Say where on the list the job is started again."""
    used = _used(ended)
    if verdict is Verdict.UNFIT_TYPE:
        return left.but(dropped=left.dropped | used)
    if used and (verdict is Verdict.USER_ERROR or ended.is_queued):
        tried = frozenset(range(max(used) + 1))
        if frozenset(range(len(left.entries))) - left.dropped - tried:
            return left.but(left_out=left.left_out | tried)
    return left.but(wave=0, left_out=frozenset(), one_by_one=False)


def _used(ended: State) -> frozenset[int]:
    """Return the entry that the job ran on; none if AWS didn't say which of several it was."""
    if ended.selected is not None:
        return frozenset({ended.selected})
    return frozenset(ended.in_flight if len(ended.in_flight) == 1 else ())
