"""Airflow's states of a task instance, sorted by what they mean for its job."""

from __future__ import annotations

from typing import Final

#: What a task instance is in that has no state: cleared, and not yet scheduled again.
NO_STATUS: Final = "no_status"

#: States that a task instance leaves only when a person has it run again.
TERMINAL: Final = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})

#: States in which no try of the task instance runs, or waits for a job, though one will.
NOT_TAKEN_UP: Final = frozenset({NO_STATUS, "scheduled", "queued", "up_for_retry", "restarting"})

#: The state in which the triggerer watches the job on the task's behalf.
DEFERRED: Final = "deferred"
