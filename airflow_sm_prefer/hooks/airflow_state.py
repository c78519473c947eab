"""What state Airflow has a task instance in, asked through the Task SDK: no database, and no AWS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any, Final

from airflow_sm_prefer.errors import TaskStatesUnavailable
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.task_states import NO_STATUS, NOT_TAKEN_UP, TERMINAL

__all__ = ["NOT_TAKEN_UP", "NO_STATUS", "TERMINAL", "SdkTaskStates", "task_state"]

#: Runs that one question names: they go into a URL.
_RUNS_AT_ONCE: Final = 50


def task_state(dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> str | None:
    """Return a task instance's state, :data:`NO_STATUS` if it has none, or None if it is gone.

    Works in a task and, from a thread, in a trigger. Whatever keeps Airflow from answering is raised as it is.
    """
    return _state_in(_ask(dag_id, task_id, [run_id], map_index), run_id, task_id, map_index)


class SdkTaskStates:
    """The states of any number of task instances, asked in a task: one question for a task and fifty of its runs."""

    def read(self, tasks: Collection[TaskIdentity]) -> dict[TaskIdentity, str | None]:
        """Return each one's state; see :class:`~airflow_sm_prefer.placement.reconcile.TaskStates`.

        Raises:
            TaskStatesUnavailable: Airflow can't be asked.
        """
        by_task: defaultdict[tuple[str, str], list[TaskIdentity]] = defaultdict(list)
        for task in tasks:
            by_task[task.dag_id, task.task_id].append(task)
        found: dict[TaskIdentity, str | None] = {}
        for (dag_id, task_id), asked in by_task.items():
            runs = sorted({task.run_id for task in asked})
            answer: dict[str, Any] = {}
            for at in range(0, len(runs), _RUNS_AT_ONCE):
                answer |= _answered(dag_id, task_id, runs[at : at + _RUNS_AT_ONCE])
            found |= {task: _state_in(answer, task.run_id, task_id, task.map_index) for task in asked}
        return found


def _answered(dag_id: str, task_id: str, runs: list[str]) -> dict[str, Any]:
    try:
        # Of one task only: an answer for several can't tell index 3 of "train" from a task named "train_3".
        return _ask(dag_id, task_id, runs, None)
    except Exception as error:
        msg = f"Airflow doesn't say what state the tasks of {dag_id} are in: {type(error).__name__}: {error}"
        raise TaskStatesUnavailable(msg) from error


def _ask(dag_id: str, task_id: str, runs: list[str], map_index: int | None) -> dict[str, Any]:
    # Heavy, and there already in every process that runs tasks or triggers; a DAG file needn't pay for it.
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance  # noqa: PLC0415

    answer: dict[str, Any] = RuntimeTaskInstance.get_task_states(
        dag_id=dag_id, task_ids=[task_id], run_ids=runs, map_index=map_index
    )
    return answer


def _state_in(answer: dict[str, Any], run_id: str, task_id: str, map_index: int) -> str | None:
    states = answer.get(run_id) or {}
    key = task_id if map_index < 0 else f"{task_id}_{map_index}"
    if key not in states:
        return None
    return str(states[key]) if states[key] else NO_STATUS
