"""What people click in Airflow's UI, as the REST calls that the UI makes."""

from __future__ import annotations

import urllib.error
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from airflow_sm_prefer.cli.demo.rest import AirflowApi

CLICKS = 3
"""How often a person clicks at what doesn't answer."""


class Clicks(AirflowApi):
    """Airflow's REST API, as far as a person at three in the morning uses it."""

    timeout = 90

    def _request(self, method: str, path: str, *arguments: Any, **how: Any) -> dict[str, Any]:
        """Click again where Airflow has tripped over itself: its transactions deadlock now and then."""
        for _ in range(CLICKS):
            try:
                return super()._request(method, path, *arguments, **how)
            except urllib.error.HTTPError as error:
                if error.code != 500:
                    raise
        return super()._request(method, path, *arguments, **how)

    def begin(self, dag_id: str, run_id: str, conf: dict[str, Any] | None = None) -> None:
        """Start a run under a chosen id."""
        body = {"logical_date": None, "dag_run_id": run_id, "conf": conf or {}}
        self._request("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)

    def mark(self, dag_id: str, run_id: str, task_id: str, state: str, map_index: int = -1) -> None:
        """Mark a task instance."""
        mapped = "" if map_index < 0 else f"/{map_index}"
        path = f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}{mapped}"
        self._request("PATCH", path, {"new_state": state})

    def mark_run(self, dag_id: str, run_id: str, state: str) -> None:
        """Mark a DAG run."""
        self._request("PATCH", f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}", {"state": state})

    def clear(
        self, dag_id: str, run_id: str, task_id: str, *, reset_run: bool = True, map_index: int = -1, after: bool = True
    ) -> None:
        """Clear a task instance, and by default what comes after it."""
        body = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": [task_id if map_index < 0 else [task_id, map_index]],
            "only_failed": False,
            "reset_dag_runs": reset_run,
            "include_downstream": after,
        }
        self._request("POST", f"/api/v2/dags/{dag_id}/clearTaskInstances", body)

    def clear_run(self, dag_id: str, run_id: str) -> None:
        """Clear every task of a run."""
        body = {"dry_run": False, "only_failed": False}
        self._request("POST", f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}/clear", body)

    def delete_run(self, dag_id: str, run_id: str) -> None:
        """Delete a run and everything that Airflow knows of it."""
        # It answers with nothing, which isn't JSON.
        with suppress(ValueError):
            self._request("DELETE", f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}")

    def running_jobs(self, job_type: str) -> list[str]:
        """Return the hosts of the components of a type that have a heartbeat."""
        answer = self._get("/jobs", job_type=job_type, is_alive="true") or {}
        return [str(job["hostname"]) for job in answer.get("jobs", [])]

    def run_states(self, dag_id: str) -> dict[str, str]:
        """Return the states of a DAG's runs by their ids, of a hundred at most."""
        answer = self._get(f"/dags/{dag_id}/dagRuns", limit=100) or {}
        return {run["dag_run_id"]: run["state"] for run in answer.get("dag_runs", [])}

    def all_instances(self, dag_id: str, *, state: str) -> list[dict[str, Any]]:
        """Return the task instances of all of a DAG's runs that are in a state, a hundred at most."""
        answer = self._get(f"/dags/{dag_id}/dagRuns/~/taskInstances", state=state, limit=100) or {}
        return list(answer.get("task_instances", []))

    def count_instances(self, dag_id: str, state: str) -> int:
        """Return how many task instances of all of a DAG's runs are in a state."""
        answer = self._get(f"/dags/{dag_id}/dagRuns/~/taskInstances", state=state, limit=1) or {}
        return int(answer["total_entries"])

    def state(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> str | None:
        """Return a task instance's state; None while it has none."""
        found = self.instance(dag_id, run_id, task_id, map_index)
        return found.get("state") if found else None

    def instance(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> dict[str, Any] | None:
        """Return a task instance."""
        for found in self.task_instances(dag_id, run_id):
            if (found["task_id"], found["map_index"]) == (task_id, map_index):
                return found
        return None
