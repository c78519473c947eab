"""The control API: change what there is while the sandbox runs, and ask what has happened.

Every request needs the header ``X-Sm-Prefer-Sandbox: control``. Bodies are JSON; sections of a scenario are spelt as in
the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.sandbox.demand import CapacityKind
from airflow_sm_prefer.sandbox.record import carries, most_live, state_entry
from airflow_sm_prefer.sandbox.sandbox import Sandbox

Action = Callable[[dict[str, Any]], Any]


class Control:
    """Answers requests under ``/_sandbox/``.

    Args:
        sandbox: What is controlled.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._actions: dict[tuple[str, str], Action] = {
            ("GET", "state"): self.state,
            ("GET", "jobs"): self.jobs,
            ("GET", "record"): self.record,
            ("GET", "most-live"): self.most_live,
            ("PUT", "capacity"): self.set_capacity,
        }

    def respond(self, request: Request) -> Response:
        """Answer one request."""
        name = request.path.rpartition("/")[2]
        action = self._actions.get((request.method, name))
        if action is None:
            known = ", ".join(f"{method} {path}" for method, path in self._actions)
            return _json({"error": f"there is no {request.method} {request.path}; there are: {known}"}, 404)
        try:
            given = request.args.to_dict() if request.method == "GET" else json.loads(request.get_data() or b"{}")
            return _json(action(given))
        except (ValueError, KeyError, TypeError) as error:
            return _json({"error": str(error)}, 400)

    def state(self, _given: dict[str, Any]) -> dict[str, Any]:
        """Return the time and the counts that aren't ample."""
        engine = self._sandbox.engine
        with engine.locked() as now:
            elapsed = engine.elapsed(now)
            return {"elapsed": elapsed, "speed": engine.speed, "capacity": engine.capacity.snapshot(elapsed)}

    def jobs(self, _given: dict[str, Any]) -> list[dict[str, Any]]:
        """Return every job's present state."""
        engine = self._sandbox.engine
        with engine.locked():
            return [state_entry(job) for a in engine.accounts.values() for job in a.jobs.values()]

    def record(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the record: ``what`` chooses a sort of line, ``since`` a position."""
        return self._sandbox.engine.record.entries(given.get("what"), int(given.get("since", 0)))

    def most_live(self, given: dict[str, Any]) -> dict[str, int]:
        """Return how many jobs with that tag (``tag=key=value``) or name ``prefix`` were ever live at once."""
        key, _, value = given.get("tag", "").partition("=")
        wanted = carries({key: value} if key else {}, given.get("prefix", ""))
        return {"most": most_live(self._sandbox.engine.record.entries("state"), wanted)}

    def set_capacity(self, given: dict[str, Any]) -> dict[str, Any]:
        """Fix counts from now on: ``{"on_demand": {type: count}, "spot": {type: count}}``."""
        changes = [(CapacityKind(kind), name, int(count)) for kind, by in given.items() for name, count in by.items()]
        for kind, name, count in changes:
            self._sandbox.engine.set_capacity(kind, name, count)
        return self.state({})


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, {"Content-Type": "application/json"})
