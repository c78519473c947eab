"""From the machine's state to the decision record."""

from __future__ import annotations

from airflow_sm_prefer.clock import utc
from airflow_sm_prefer.model.decision import DecisionRecord, WaveRecord
from airflow_sm_prefer.model.verdict import Judgement
from airflow_sm_prefer.placement import budget
from airflow_sm_prefer.placement.state import Attempts, State


def decision_record(state: State, judgement: Judgement | None, now: float) -> DecisionRecord:
    """Write the account of a task; ``judgement`` is what it came to, None while it waits."""
    chosen = None if state.selected is None else state.entries[state.selected]
    return DecisionRecord(
        job_name=state.job_name,
        job_arn=state.job_arn,
        selected_instance_type=state.selected_type,
        selected_instance_count=state.selected_count,
        preference_index=state.selected,
        capacity_kind=chosen.kind.value if chosen else None,
        job_queue=chosen.queue if chosen else None,
        share=chosen.share if chosen else None,
        pending_seconds=round(budget.spent(state, now), 1),
        submissions=state.submission,
        rounds=state.round,
        recoveries=state.recoveries,
        first_submit=_written(state.first_submit),
        capacity_at=_written(state.capacity_at),
        verdict=judgement.verdict if judgement else None,
        reason=judgement.text if judgement else "",
        waves=[_wave(state, past) for past in state.attempts],
    )


def _wave(state: State, past: Attempts) -> WaveRecord:
    asked = [str(state.entries[n]) for n in state.waves[past.wave]]
    return WaveRecord(asked, past.verdict, past.count, _written(past.first), _written(past.last), past.reason)


def _written(instant: float | None) -> str | None:
    return None if instant is None else utc(instant).isoformat(timespec="seconds")
