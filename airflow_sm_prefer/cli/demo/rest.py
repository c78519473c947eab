"""The few calls of Airflow's REST API that a demo makes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from airflow_sm_prefer.cli.demo.errors import DemoError

TIMEOUT_SECONDS = 20
ANSWERS = (urllib.error.URLError, ConnectionError, TimeoutError, ValueError)
"""How a server that isn't up yet, or is busy, shows."""

_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class AirflowApi:
    """Airflow's REST API, at one address, as the administrator that a demo's UI makes of everybody."""

    timeout = TIMEOUT_SECONDS

    def __init__(self, address: str) -> None:
        self._address = address
        self._token: str | None = None

    def unhealthy(self) -> list[str]:
        """Return the components that aren't healthy yet, all of them while nobody answers."""
        try:
            health = self._request("GET", "/api/v2/monitor/health", authorized=False)
        except ANSWERS:
            return ["api-server"]
        return [name for name, component in health.items() if component["status"] != "healthy"]

    def has_dag(self, dag_id: str) -> bool:
        """Return whether the DAG has been read."""
        return self._get(f"/dags/{quote(dag_id)}") is not None

    def import_errors(self) -> list[str]:
        """Return what went wrong in reading DAG files."""
        errors = (self._get("/importErrors") or {}).get("import_errors", [])
        return [f"{error['filename']}: {error['stack_trace']}" for error in errors]

    def unpause(self, dag_id: str) -> None:
        """Let the DAG's runs start."""
        self._request("PATCH", f"/api/v2/dags/{quote(dag_id)}", {"is_paused": False})

    def trigger(self, dag_id: str) -> str:
        """Start a run and return its id."""
        run = self._request("POST", f"/api/v2/dags/{quote(dag_id)}/dagRuns", {"logical_date": None})
        return str(run["dag_run_id"])

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """Return the DAG run."""
        return self._get(f"/dags/{quote(dag_id)}/dagRuns/{quote(run_id)}") or {}

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Return the task instances of a run."""
        answer = self._get(f"/dags/{quote(dag_id)}/dagRuns/{quote(run_id)}/taskInstances") or {}
        return list(answer.get("task_instances", []))

    def log(self, dag_id: str, run_id: str, task_id: str, try_number: int) -> list[dict[str, Any]]:
        """Return a task's log so far, the triggerer's part included; empty if there is none."""
        path = f"/dags/{quote(dag_id)}/dagRuns/{quote(run_id)}/taskInstances/{quote(task_id)}/logs/{try_number}"
        content = (self._get(path) or {}).get("content", [])
        return [entry for entry in content if isinstance(entry, dict)]

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """Return what a task has returned, or None."""
        path = f"/dags/{quote(dag_id)}/dagRuns/{quote(run_id)}/taskInstances/{quote(task_id)}/xcomEntries/return_value"
        return (self._get(path, deserialize="true") or {}).get("value")

    def events(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Return Airflow's own record of what the tasks of a run went through, oldest first."""
        events: list[dict[str, Any]] = []
        while True:
            answer = self._get("/eventLogs", dag_id=dag_id, run_id=run_id, order_by="when", offset=len(events)) or {}
            page = answer.get("event_logs", [])
            events.extend(page)
            if not page or len(events) >= answer["total_entries"]:
                return events

    def _get(self, path: str, **query: object) -> dict[str, Any] | None:
        """Return the answer, or None for what isn't there."""
        try:
            return self._request("GET", f"/api/v2{path}{'?' + urlencode(query) if query else ''}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, authorized: bool = True
    ) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - always our own http address
            self._address + path, None if body is None else json.dumps(body).encode(), method=method
        )
        request.add_header("Content-Type", "application/json")
        if authorized:
            request.add_header("Authorization", f"Bearer {self._authorize()}")
        with _open(request, timeout=self.timeout) as response:
            answer = json.load(response)
        if not isinstance(answer, dict):
            msg = f"Airflow's answer to {method} {path} can't be understood."
            raise DemoError(msg)
        return answer

    def _authorize(self) -> str:
        if self._token is None:
            self._token = str(self._request("GET", "/auth/token", authorized=False)["access_token"])
        return self._token
