"""What the training plans of a wave mean for it, before it is sent.

A plan without free capacity isn't waited for unless the author says so. Where the request has other entries, SageMaker
passes it over, and looks at it again whenever it sweeps the list. A wave of nothing but such plans would wait for them,
so that it isn't sent in this round.
"""

from __future__ import annotations

from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement import budget, submitting, telling
from airflow_sm_prefer.placement.events import Command, PlansSeen, Sleep, Tell
from airflow_sm_prefer.placement.plans import Standing, Use, standing
from airflow_sm_prefer.placement.state import Phase, State

Step = tuple[State, tuple[Command, ...]]


def seen(state: State, event: PlansSeen, now: float, jitter: float) -> Step:
    """Go on from how the plans of the current wave stand; one that AWS says nothing about is simply tried."""
    state, found = _noted(state.but(asked=True), event, now)
    waited_for = next((n for n in found if state.entries[n].wait_for_plan), None)
    if waited_for is not None and found[waited_for].use is not Use.NEVER:
        return _wait_for(state, waited_for, found[waited_for], now, jitter)
    never = {n for n, how in found.items() if how.use is Use.NEVER}
    closed = {n for n, how in found.items() if how.use is Use.CLOSED}
    absent = {n for n, how in found.items() if how.use in {Use.TAKEN, Use.LATER}}
    state = state.but(dropped=state.dropped | never, left_out=state.left_out | closed)
    told = [Tell(telling.plan(state, n, found[n], "is dropped"), warning=True) for n in sorted(never)]
    told += [Tell(telling.plan(state, n, found[n], "is passed over in this round")) for n in sorted(closed)]
    if absent and absent.issuperset(state.remaining):
        state = state.but(left_out=state.left_out | absent)
        told += [Tell(telling.plan(state, n, found[n], "is passed over in this round")) for n in sorted(absent)]
    else:
        told += [Tell(telling.plan(state, n, found[n], "is passed over by SageMaker for now")) for n in sorted(absent)]
    return _after(state, found, told, now, jitter)


def _noted(state: State, event: PlansSeen, now: float) -> tuple[State, dict[int, Standing]]:
    """Write down when the plans end, and say how those stand that AWS has told of and that aren't simply ready."""
    found = {}
    for n, plan in event.plans.items():
        if plan is None:
            continue
        entry = state.entries[n]
        how = standing(plan, entry.instance_type, entry.count, now, state.limits.speed)
        state = state.with_entry(n, ends=plan.end)
        if how.use is not Use.READY:
            found[n] = how
    return state, found


def _after(state: State, found: dict[int, Standing], told: list[Tell], now: float, jitter: float) -> Step:
    if not state.remaining:
        why = "; ".join(telling.plan_why(state, n, found[n]) for n in sorted(found))
        if not state.anything_left:
            judgement = Judgement(Verdict.REQUEST_INVALID, f"Nothing is left on the list: {why}.")
            return submitting.fail(state.with_attempt(judgement.verdict, why, now), judgement)
        state = state.with_attempt(Verdict.CAPACITY, why, now)
    following, commands = submitting.submit(state, now, jitter)
    return following, (*told, *commands)


def _wait_for(state: State, n: int, how: Standing, now: float, jitter: float) -> Step:
    """Sleep until the plan begins, which no budget is charged for; or have AWS wait for its instances.

    A task that only submits doesn't sleep: AWS waits for the plan's begin as well.
    """
    if how.use is not Use.CLOSED and state.submits_only:
        return submitting.submit(state, now, jitter)
    if how.use is Use.CLOSED or not _may_be_waited_for(state, how):
        state = state.but(left_out=state.left_out | {n})
        told = [Tell(telling.plan(state, n, how, "is passed over in this round"), warning=True)]
        return _after(state, {n: how}, told, now, jitter)
    if how.begins is None:
        return submitting.submit(state, now, jitter)
    state = budget.charged(state, now).but(phase=Phase.SLEEPING, wake_at=how.begins, asked=False)
    return state, (Tell(telling.waits_for_plan(state, n, how, now)), Sleep(how.begins))


def _may_be_waited_for(state: State, how: Standing) -> bool:
    """Whether the plan begins before the time that the author has set for everything."""
    limits = [budget.start_by(state), budget.total_ends(state)]
    return all(how.begins is None or limit is None or how.begins < limit for limit in limits)
