"""What of Airflow answers about task instances: the REST API, served on loopback, and the Task SDK's call."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from werkzeug import Request, Response
from werkzeug.serving import WSGIRequestHandler, make_server

Key = tuple[str, str, str, int]


@dataclass
class FakeAirflow:
    """Task instances by DAG, run, task and index, with their states.

    Attributes:
        states: What there is.
        unreadable: DAGs that the user may not read.
        users: Who may log in, with their passwords; None lets everybody in.
        page_limit: The most rows of a page.
        refuses: The status that every question is answered with, instead of an answer.
        settings: What ``[sm_prefer] deployment`` is; None where settings aren't shown.
        asked: Every question, as its method and path.
        before: Called before each question about states is answered.
    """

    states: dict[Key, str | None] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    users: dict[str, str] | None = None
    page_limit: int = 100
    refuses: int = 0
    settings: str | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    url: str = ""

    def get_task_states(
        self, *, dag_id: str, task_ids: list[str], run_ids: list[str], map_index: int | None
    ) -> dict[str, dict[str, Any]]:
        """Answer as the Task SDK does: an index below zero is no filter, and a mapped task has it behind its name."""
        self.before()
        self.asked.append(("SDK", dag_id))
        if self.refuses:
            raise RuntimeError(f"Server returned error {self.refuses}")
        found: dict[str, dict[str, Any]] = {}
        for (dag, run, task, index), state in self.states.items():
            if dag == dag_id and task in task_ids and run in run_ids and (map_index or -1) in {-1, index}:
                found.setdefault(run, {})[task if index < 0 else f"{task}_{index}"] = state
        return found

    def answer(self, request: Request) -> Response:
        """Answer as the REST API does."""
        self.asked.append((request.method, request.path))
        if self.refuses:
            headers = {"Location": "https://login.example.com/"} if 300 <= self.refuses < 400 else {}
            return Response('{"detail": "no"}', self.refuses, headers)
        if request.path == "/auth/token":
            return self._token(request)
        if request.headers.get("Authorization") != "Bearer opens-it":
            return _said(401, detail="Invalid JWT token")
        if request.path == "/api/v2/config/section/sm_prefer/option/deployment":
            option = {"key": "deployment", "value": self.settings}
            section = {"name": "sm_prefer", "options": [option]}
            return _said(200, sections=[section]) if self.settings else _said(403, detail="not exposed")
        if request.path == "/api/v2/dags/~/dagRuns/~/taskInstances/list":
            self.before()
            return self._listed(**request.get_json())
        dag_id = request.path.split("/")[4]
        if dag_id in self.unreadable:
            return _said(403, detail="Forbidden")
        known = any(key[0] == dag_id for key in self.states)
        return _said(200, task_instances=[], total_entries=0) if known else _said(404, detail="not found")

    def _token(self, request: Request) -> Response:
        given = request.get_json() if request.method == "POST" else None
        if self.users is None and given is None:
            return _said(201, access_token="opens-it")
        if given and (self.users or {}).get(given["username"]) == given["password"]:
            return _said(201, access_token="opens-it")
        return _said(401, detail="Invalid credentials")

    def _listed(
        self,
        *,
        dag_ids: list[str],
        dag_run_ids: list[str],
        task_ids: list[str],
        order_by: str,
        page_limit: int,
        page_offset: int,
    ) -> Response:
        rows = [
            {"dag_id": dag, "dag_run_id": run, "task_id": task, "map_index": index, "state": state}
            for (dag, run, task, index), state in self.states.items()
            if dag in dag_ids and run in dag_run_ids and task in task_ids and dag not in self.unreadable
        ]
        page = rows[page_offset : page_offset + min(page_limit, self.page_limit)]
        return _said(200, task_instances=page, total_entries=len(rows))


def _said(status: int, **answer: Any) -> Response:
    return Response(json.dumps(answer), status, content_type="application/json")


class _Silent(WSGIRequestHandler):
    def log(self, *_: Any, **__: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(airflow: FakeAirflow) -> Iterator[str]:
    """Serve the REST API; gives its address."""

    @Request.application
    def app(request: Request) -> Response:
        return airflow.answer(request)

    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        airflow.url = f"http://127.0.0.1:{server.server_port}"
        yield airflow.url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
