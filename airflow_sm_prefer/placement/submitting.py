"""The machine's half that gets a job created: which wave, under which number, and what a refusal means."""

from __future__ import annotations

from dataclasses import replace

from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.model.words import span
from airflow_sm_prefer.placement import budget, telling
from airflow_sm_prefer.placement.events import (
    AskPlans,
    Command,
    Created,
    Fail,
    NameTaken,
    NoAnswer,
    Refused,
    Sleep,
    Submit,
    Tell,
    Watch,
)
from airflow_sm_prefer.placement.state import Entry, Phase, State

Step = tuple[State, tuple[Command, ...]]

#: Full jitter up to this many real seconds; two hundred clients against one create a second need 1.23 times what
#: the limit itself forces with it, and 1.62 times with a cap of a minute (simulated).
_THROTTLE_CAP = 20.0

#: A round that had nothing is followed by a pause of 1 to 15 minutes, in AWS's seconds.
_SHORTEST_PAUSE = 60.0
_LONGEST_PAUSE = 900.0

#: How long credentials or the network may be away at submission, in real seconds.
_UNREACHABLE_LIMIT = 600.0
_UNREACHABLE_PAUSE = 30.0


def submit(state: State, now: float, jitter: float) -> Step:
    """Submit the current wave, or the next one that has an entry left, unless the budget is over.

    AWS is asked about the wave's training plans first, once in a round.
    """
    state = state.but(phase=Phase.SUBMITTING, wait_began=now if state.wait_began is None else state.wait_began)
    if budget.left(state, now) < 1.0:
        return _out_of_budget(state, now)
    if budget.is_too_long(state, now):
        return fail(state, Judgement(Verdict.LIMIT_REACHED, telling.too_long(state)))
    if not state.remaining:
        return onward(state, now, jitter)
    planned = tuple(n for n in state.remaining if _is_on_plan(state.entries[n]))
    if planned and not state.asked:
        return state, (AskPlans(planned),)
    state = state.but(first_submit=state.first_submit or now, stop=None, stop_sent=None)
    return state, (Submit(state.submission + 1, state.wave, state.without),)


def answered(state: State, event: Created | NameTaken | Refused | NoAnswer, now: float, jitter: float) -> Step:
    """Go on from what AWS said to a create."""
    match event:
        case Created():
            return _created(state, event, now)
        case NameTaken():
            state = state.but(submission=state.submission + 1, looks=0)
            told = Tell(f"{event.name} was used before, and not by this try: taking the next number.")
            following, commands = submit(state, now, jitter)
            return following, (told, *commands)
        case NoAnswer():
            return _no_answer(state, event, now, jitter)
        case _:
            return _refused(state, event.judgement, now, jitter)


def passed_over(state: State, now: float, jitter: float) -> Step:
    """Go on though what was sent had no capacity: with the wave's next entry if they go one by one, else onward."""
    if state.one_by_one:
        state = state.but(left_out=state.left_out | set(state.in_flight), asked=False)
        if state.remaining:
            return submit(state, now, jitter)
    return onward(state, now, jitter)


def onward(state: State, now: float, jitter: float) -> Step:
    """Go on down the list: the next wave, or the next round after a pause."""
    state = state.but(asked=False, one_by_one=False)
    if state.wave + 1 < len(state.waves):
        return submit(state.but(wave=state.wave + 1), now, jitter)
    began = now if state.wait_began is None else state.wait_began
    pause = _pause(state.round, jitter) / state.limits.speed
    state = state.but(wave=0, round=state.round + 1, left_out=frozenset(), wait_began=began)
    if budget.left(state, now) < 1.0:
        return _out_of_budget(state, now)
    until = min(now + pause, budget.deadline(state, now))
    told = Tell(
        f"Nothing on the list could be had; the next round begins in {span((until - now) * state.limits.speed)}."
    )
    return state.but(phase=Phase.SLEEPING, wake_at=until), (told, Sleep(until))


def fail(state: State, judgement: Judgement) -> Step:
    """End the task without success."""
    return state.but(phase=Phase.OVER), (Fail(judgement),)


def _created(state: State, event: Created, now: float) -> Step:
    limits, since = state.limits, state.throttled_since
    state = state.without_job().but(
        phase=Phase.WATCHING,
        limits=replace(limits, max_runtime=event.max_runtime or limits.max_runtime),
        patience_more=0.0 if since is None else max(0.0, now - since) * limits.speed,
        throttled_since=None,
        submission=state.submission + 1,
        job_name=event.name,
        job_arn=event.arn,
        max_pending=event.max_pending,
        submitted=now,
        refusals=0,
        looks=0,
        unseen_since=None,
    )
    return state, (Tell(telling.submitted(state, now)), Watch(budget.next_deadline(state, now)))


def _no_answer(state: State, event: NoAnswer, now: float, jitter: float) -> Step:
    """Ask again under the same name: if the lost call did create the job, AWS will say that the name is in use."""
    state = state.but(refusals=state.refusals + 1, looks=state.looks + event.token_used)
    told = Tell(f"AWS gave no answer ({event.text}): asking again under the same name.", warning=True)
    return _sleep(state, told, now, _throttle_pause(state.refusals, jitter))


def _refused(state: State, judgement: Judgement, now: float, jitter: float) -> Step:
    match judgement.verdict:
        case Verdict.THROTTLED:
            since = now if state.throttled_since is None else state.throttled_since
            state = state.but(refusals=state.refusals + 1, throttled_since=since)
            told = Tell("AWS takes no more requests for now (throttled): trying again shortly.")
            return _sleep(state, told if state.refusals == 1 else None, now, _throttle_pause(state.refusals, jitter))
        case Verdict.CREDENTIALS | Verdict.UNREACHABLE:
            return _unreachable(state, judgement, now)
        case Verdict.CAPACITY:
            return passed_over(state.with_attempt(judgement.verdict, judgement.text, now), now, jitter)
        case _:
            return fail(state.with_attempt(judgement.verdict, judgement.text, now), judgement)


def _unreachable(state: State, judgement: Judgement, now: float) -> Step:
    since = now if state.unseen_since is None else state.unseen_since
    if now - since >= _UNREACHABLE_LIMIT:
        return fail(state, judgement)
    state = state.but(unseen_since=since)
    return _sleep(
        state,
        Tell(f"The job can't be submitted yet: {judgement.text}", warning=True),
        now,
        _UNREACHABLE_PAUSE,
    )


def _is_on_plan(entry: Entry) -> bool:
    """Whether AWS is asked about an entry's training plan; a queue shares its plan out by itself."""
    return entry.kind is CapacityKind.TRAINING_PLAN and not entry.queue


def _sleep(state: State, told: Tell | None, now: float, seconds: float) -> Step:
    """Pause, but never past the end of the budget."""
    until = min(now + seconds, max(now, budget.deadline(state, now)))
    commands: tuple[Command, ...] = (Sleep(until),)
    return state.but(phase=Phase.SLEEPING, wake_at=until), ((told, *commands) if told else commands)


def _out_of_budget(state: State, now: float) -> Step:
    last = state.attempts[-1] if state.attempts else None
    verdict = last.verdict if last and last.verdict is Verdict.QUOTA_BUSY else Verdict.CAPACITY
    return fail(state, Judgement(verdict, telling.out_of_budget(state, now)))


def _pause(rounds: int, jitter: float) -> float:
    """Double the pause with each round, and spread it evenly between the shortest and that."""
    longest = _doubled(2 * _SHORTEST_PAUSE, rounds, _LONGEST_PAUSE)
    return _SHORTEST_PAUSE + (longest - _SHORTEST_PAUSE) * jitter


def _throttle_pause(refusals: int, jitter: float) -> float:
    """Full jitter, in real seconds: AWS's rates don't run faster in a sandbox."""
    return max(0.2, _doubled(1.0, refusals, _THROTTLE_CAP) * jitter)


def _doubled(first: float, times: int, cap: float) -> float:
    """Double a number some times, up to a cap; a week has thousands of rounds, and powers of two run out before."""
    return float(min(cap, first * 2.0 ** min(times, 32)))
