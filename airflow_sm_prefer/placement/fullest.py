"""The largest that a list's state may become, so that a list whose state would not fit is refused before it runs."""

from __future__ import annotations

from dataclasses import replace

from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement.naming import NAME_LIMIT
from airflow_sm_prefer.placement.state import State

#: An instant, or a span in seconds, as long as they come.
_LONG = 1_800_000_000.123456

_INSTANTS = (
    "submitted",
    "first_submit",
    "wait_began",
    "wake_at",
    "capacity_at",
    "stop_sent",
    "unseen_since",
    "told_at",
    "throttled_since",
    "lost_at",
    "pending_spent",
    "patience_more",
    "max_pending",
)


def fullest(state: State) -> State:
    """Return what a list's first state may grow to: every wave tried, every plan asked about, every field set."""
    for number in range(len(state.waves)):
        state = state.but(wave=number).with_attempt(Verdict.SPOT_INTERRUPTION, "w" * 80, _LONG)
    for number, entry in enumerate(state.entries):
        if entry.plan is not None:
            state = state.with_entry(number, ends=_LONG)
    everything = frozenset(range(len(state.entries)))
    return state.but(
        dropped=everything,
        left_out=everything,
        job_name="n" * NAME_LIMIT,
        job_arn="a" * 2 * NAME_LIMIT,
        selected_type="t" * NAME_LIMIT,
        status="s" * NAME_LIMIT,
        limits=replace(state.limits, start_by=_LONG, total=_LONG),
        **dict.fromkeys(_INSTANTS, _LONG),
    )
