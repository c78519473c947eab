"""What state Airflow has a task instance in, asked through the Task SDK: no database, and no AWS."""

from __future__ import annotations

from typing import Any, Final

#: What a task instance is in that has no state: cleared, and not yet scheduled again.
NO_STATUS: Final = "no_status"

#: States that a task instance leaves only when a person has it run again.
TERMINAL: Final = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})

#: States in which no try of the task instance runs, or waits for a job, though one will.
NOT_TAKEN_UP: Final = frozenset({NO_STATUS, "scheduled", "queued", "up_for_retry", "restarting"})


def task_state(dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> str | None:
    """Return a task instance's state, :data:`NO_STATUS` if it has none, or None if it is gone.

    Works in a task and, from a thread, in a trigger. Whatever keeps Airflow from answering is raised as it is.
    """
    # Heavy, and there already in every process that runs tasks or triggers; a DAG file needn't pay for it.
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance  # noqa: PLC0415

    answer: dict[str, dict[str, Any]] = RuntimeTaskInstance.get_task_states(
        dag_id=dag_id, task_ids=[task_id], run_ids=[run_id], map_index=map_index
    )
    states = answer.get(run_id) or {}
    key = task_id if map_index < 0 else f"{task_id}_{map_index}"
    if key not in states:
        return None
    return str(states[key]) if states[key] else NO_STATUS
