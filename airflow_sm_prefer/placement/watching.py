"""The machine's half that has a job: taking one up, watching it, stopping it, and what its end means."""

from __future__ import annotations

from dataclasses import replace

from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Judgement, Verdict, judge_end, judge_reason
from airflow_sm_prefer.placement import budget, quotas, recovery, submitting, telling
from airflow_sm_prefer.placement.events import Command, Fail, Finish, Found, Stop, Tell, Watch
from airflow_sm_prefer.placement.plans import END_MARGIN
from airflow_sm_prefer.placement.state import Phase, State, StopReason

Step = tuple[State, tuple[Command, ...]]

#: A stop that AWS acknowledged but that shows no effect is sent again after this many real seconds.
_STOP_AGAIN = 60.0

#: What the reasons of our stops begin with, where AWS shows them.
_OURS = "airflow_sm_prefer: "

#: How far a plan's end as AWS gives it, and that of a job on it, may be apart, in AWS's seconds.
_SKEW = 120.0

#: How long a running job may be unknown to AWS, or we without credentials, in real seconds.
_UNSEEN_LIMIT = 600.0

#: How often it is said that AWS can't be asked, in real seconds.
_TELL_EVERY = 60.0


def take_up(state: State, found: Found, now: float, jitter: float) -> Step:
    """Decide about the job that an earlier try of this task instance left: adopt it, end it, or leave it behind."""
    state = state.but(submission=max(state.submission, found.submission))
    if found.is_retry:
        state = state.but(first_submit=found.first_submit, recoveries=max(state.recoveries, found.recoveries))
    if not found.seen.is_terminal:
        return _take_up_live(state, found, now, jitter)
    if found.goes_on and found.seen.status == "Completed":
        state = _adopted(state, found, now)
        told = Tell(f"{found.seen.name} completed meanwhile: its result is taken, and no new job is created.")
        following, commands = seen(state, found.seen, now, jitter)
        return following, (told, *commands)
    return submitting.submit(state, now, jitter)


def seen(state: State, job: Observation, now: float, jitter: float) -> Step:
    """Go on from a look at the job."""
    told: list[Command] = [*_back(state, now), *telling.progress(state, job, now)]
    state = _noted(state.but(unseen_since=None, told_at=None), job, now)
    if job.is_terminal:
        following, commands = _ended(state, job, now, jitter)
    elif state.phase is Phase.STOPPING:
        following, commands = _still_stopping(state, job, now)
    else:
        following, commands = _still_running(state, job, now)
    return following, (*told, *commands)


def glimpsed(state: State, now: float) -> Step:
    """Go on from a sign that the job is there, which says no more about it."""
    told = _back(state, now)
    return state.but(unseen_since=None, told_at=None), (*told, Watch(next_look(state, now)))


def next_look(state: State, now: float) -> float:
    """Return when the job is to be looked at at the latest, though AWS says nothing new about it."""
    if state.phase is Phase.STOPPING:
        return (state.stop_sent or now) + _STOP_AGAIN
    return budget.next_deadline(state, now)


def unseen(state: State, judgement: Judgement, now: float) -> Step:
    """Go on though AWS can't be asked about the job: wait, say so now and then, and don't wait for ever."""
    since = now if state.unseen_since is None else state.unseen_since
    state = state.but(unseen_since=since)
    if _waited_enough(state, judgement.verdict, now, since):
        failed = state.with_attempt(judgement.verdict, judgement.text, now).but(phase=Phase.OVER)
        return failed, (Fail(judgement),)
    watch = Watch(next_look(state, now))
    if state.told_at is not None and now - state.told_at < _TELL_EVERY:
        return state, (watch,)
    return state.but(told_at=now), (Tell(telling.unseen(state, judgement, now), warning=True), watch)


def _take_up_live(state: State, found: Found, now: float, jitter: float) -> Step:
    if found.goes_on:
        state = _adopted(state, found, now)
        told = Tell(f"{found.seen.name} was submitted by an earlier try and is still there: watching it again.")
        following, commands = seen(state, found.seen, now, jitter)
        return following, (told, *commands)
    if not found.waits:
        told = Tell(f"{found.seen.name} was submitted without waiting and is left alone.")
        following, commands = submitting.submit(state, now, jitter)
        return following, (told, *commands)
    why = f"changed since: {', '.join(found.differs)}" if found.is_retry else "the task was cleared"
    told = Tell(f"{found.seen.name} is still there ({why}): it is stopped, and a new job follows when it has ended.")
    state = state.but(
        phase=Phase.STOPPING,
        stop=StopReason.SUPERSEDED,
        stop_sent=now,
        job_name=found.seen.name,
        job_arn=found.arn,
    )
    return state, (told, _stop_of(state), Watch(now + _STOP_AGAIN))


def _adopted(state: State, found: Found, now: float) -> State:
    submitted = found.seen.created or now
    return state.but(
        phase=Phase.WATCHING,
        submission=found.submission,
        job_name=found.seen.name,
        job_arn=found.arn,
        max_pending=found.max_pending,
        limits=replace(state.limits, max_runtime=found.max_runtime or state.limits.max_runtime),
        wave=found.wave,
        submitted=submitted,
        first_submit=found.first_submit or submitted,
        pending_spent=found.pending_spent,
        wait_began=submitted,
    )


def _noted(state: State, job: Observation, now: float) -> State:
    """Write down what the look has shown: the status, and the capacity once there is some."""
    state = state.but(status=telling.status_of(state, job), lost_at=None if job.is_terminal else job.lost_at)
    if state.is_queued:
        state = _of_queue(state, job, now)
    if not job.has_capacity or state.capacity_at is not None:
        return state
    at = job.capacity_at or now
    index = telling.chosen(state, job)
    chosen = None if index is None else state.entries[index]
    return budget.charged(state, at).but(
        capacity_at=at,
        selected=index,
        selected_type=job.selected_type or (chosen.instance_type if chosen else None),
        selected_count=job.selected_count or (chosen.count if chosen else None),
    )


def _of_queue(state: State, job: Observation, now: float) -> State:
    """Write down what only a service job has: its priority, and the wait of one that has lost its instances.

    Batch puts a job that was preempted, or is to be tried again, back into its queue. That wait is charged too.
    """
    if job.priority not in {None, state.priority or 0}:
        state = state.but(priority=job.priority)
    if state.capacity_at is None:
        return state
    if job.lost_at is not None and state.wait_began is None:
        return state.but(wait_began=job.lost_at)
    if job.lost_at is None and state.wait_began is not None:
        return budget.charged(state, now)
    return state


def _still_running(state: State, job: Observation, now: float) -> Step:
    due = _due(state, job, now)
    return _stop(state, *due, now) if due else (state, (Watch(budget.next_deadline(state, now)),))


def _due(state: State, job: Observation, now: float) -> tuple[StopReason, str] | None:
    """Return why the job is to be stopped now, if it is, and the same in words."""
    if budget.is_too_long(state, now):
        return StopReason.TOO_LONG, telling.too_long(state)
    if _is_past(budget.back_by(state), now):
        return StopReason.INTERRUPTED, telling.not_back(state)
    if state.wait_began is not None and now >= budget.wait_ends(state, now):
        return StopReason.BUDGET, telling.out_of_budget(state, now)
    return _due_without_capacity(state, job, now) if state.capacity_at is None else None


def _due_without_capacity(state: State, job: Observation, now: float) -> tuple[StopReason, str] | None:
    if judge_reason(job.held_up_by).verdict is Verdict.QUEUE_UNFIT:
        return StopReason.QUEUE_UNFIT, telling.queue_unfit(state, job.held_up_by)
    if _is_past(budget.patience_ends(state), now):
        return StopReason.PATIENCE, telling.out_of_patience(state)
    return None


def _stop(state: State, reason: StopReason, why: str, now: float) -> Step:
    state = state.but(phase=Phase.STOPPING, stop=reason, stop_sent=now)
    return state, (Tell(f"{why} Stopping {state.job_name}."), _stop_of(state, why), Watch(now + _STOP_AGAIN))


def _stop_of(state: State, why: str = "") -> Stop:
    """Return the stop of the current job, with a reason that tells the next worker what it was sent for."""
    return Stop(state.handle, f"{_OURS}{state.stop}. {why}".strip())


def _still_stopping(state: State, job: Observation, now: float) -> Step:
    due = next_look(state, now)
    if job.status == "Stopping" or now < due:
        return state, (Watch(max(due, now + _STOP_AGAIN) if job.status == "Stopping" else due),)
    return state.but(stop_sent=now), (_stop_of(state), Watch(now + _STOP_AGAIN))


def _ended(state: State, job: Observation, now: float, jitter: float) -> Step:
    reason = state.stop
    if reason is StopReason.SUPERSEDED:
        return submitting.submit(_left_behind(state), now, jitter)
    if job.status == "Completed":
        return state.with_attempt(Verdict.SUCCEEDED, "the job completed", now).but(phase=Phase.OVER), (Finish(),)
    judgement = _judged(state, job, now)
    if judgement.verdict in quotas.VERDICTS and state.capacity_at is None:
        return quotas.refused(_left_behind(state), judgement, now, jitter)
    state = state.with_attempt(judgement.verdict, judgement.text, now)
    if judgement.verdict is not Verdict.CAPACITY:
        return recovery.after(state, _left_behind(state), judgement, now, jitter)
    return submitting.passed_over(_left_behind(state), now, jitter)


def _judged(state: State, job: Observation, now: float) -> Judgement:
    """Judge an end, ours included.

    A trigger that has stopped the job may be gone before the job ends, and what it knew with it. So our own stops are
    recognised by when they were due as well.
    """
    if job.status == "Stopped":
        ours = _own_stop(state, job, now) or _end_of_plan(state, job, now)
        if ours is not None:
            return ours
    speed = state.limits.speed
    pending_limit = None if state.max_pending is None else state.max_pending / speed
    # A service job has had any number of runs: how long it was there says nothing about a limit.
    runtime_limit = None if state.is_queued else state.limits.max_runtime / speed
    judgement = judge_end(job, max_pending=pending_limit, max_runtime=runtime_limit)
    if judgement.verdict is Verdict.CAPACITY and state.capacity_at is not None and budget.is_on_plan(state):
        return Judgement(Verdict.INFRASTRUCTURE, telling.reservation_ended(judgement.text))
    return judgement


def _own_stop(state: State, job: Observation, now: float) -> Judgement | None:
    reason = state.stop or _written_reason(job) or _reason_by_time(state, job, now)
    match reason:
        case StopReason.TOO_LONG:
            return Judgement(Verdict.LIMIT_REACHED, telling.too_long(state))
        case StopReason.QUEUE_UNFIT:
            return Judgement(Verdict.QUEUE_UNFIT, job.failure_reason.removeprefix(f"{_OURS}{reason}. "))
        case StopReason.PATIENCE:
            return Judgement(Verdict.CAPACITY, telling.out_of_patience(state))
        case StopReason.BUDGET:
            return Judgement(Verdict.CAPACITY, telling.out_of_budget(state, job.ended or now))
        case StopReason.INTERRUPTED:
            return Judgement(Verdict.SPOT_INTERRUPTION, telling.not_back(state))
        case _:
            return None


def _written_reason(job: Observation) -> StopReason | None:
    """Read what a stop of ours was for, where AWS Batch shows the reason that it was given."""
    word = job.failure_reason.removeprefix(_OURS).partition(".")[0]
    is_ours = job.failure_reason.startswith(_OURS) and word in set(StopReason)
    return StopReason(word) if is_ours else None


def _reason_by_time(state: State, job: Observation, now: float) -> StopReason | None:
    """Say which stop of ours was due when the job ended."""
    ended, pending = job.ended or now, state.capacity_at is None
    if _is_past(budget.total_ends(state), ended):
        return StopReason.TOO_LONG
    if pending and _is_past(budget.patience_ends(state), ended):
        return StopReason.PATIENCE
    if pending and _is_past(budget.wait_ends(state, now), ended):
        return StopReason.BUDGET
    return StopReason.INTERRUPTED if _is_past(budget.back_by(state.but(lost_at=job.lost_at)), ended) else None


def _end_of_plan(state: State, job: Observation, now: float) -> Judgement | None:
    """Tell the end of a training plan from a person's stop: AWS doesn't, but for the time at which it comes."""
    if job.secondary not in {None, "Stopped"}:
        return None
    on = state.in_flight if state.selected is None else (state.selected,)
    ends = [state.entries[n].ends or float("inf") for n in on]
    if (job.ended or now) < max(ends) - (END_MARGIN + _SKEW) / state.limits.speed:
        return None
    if state.capacity_at is None:
        return Judgement(Verdict.CAPACITY, "The training plan ended before it had instances for the job.")
    return Judgement(Verdict.INFRASTRUCTURE, telling.reservation_ended("the job is Stopped"))


def _is_past(due: float | None, instant: float) -> bool:
    return due is not None and instant >= due


def _left_behind(state: State) -> State:
    """Forget a job that is over, and be ready for the next."""
    return state.without_job().but(phase=Phase.SUBMITTING)


def _back(state: State, now: float) -> list[Command]:
    if state.unseen_since is None or state.told_at is None:
        return []
    return [Tell(telling.seen_again(state, now))]


def _waited_enough(state: State, verdict: Verdict, now: float, since: float) -> bool:
    """Whether it is time to fail: a job that waits has its budget, one that runs ten minutes or its own limit."""
    if state.capacity_at is None and state.phase is Phase.WATCHING:
        return now >= budget.wait_ends(state, now) + _TELL_EVERY
    if verdict in {Verdict.LOST, Verdict.CREDENTIALS}:
        return now - since >= _UNSEEN_LIMIT
    return now >= budget.run_ends(state, since)
