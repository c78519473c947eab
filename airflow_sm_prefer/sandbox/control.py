"""The control API: change what there is while the sandbox runs, and ask what has happened.

Every request needs the header ``X-Sm-Prefer-Sandbox: control``. Answers are JSON; what is sent is a piece of a
scenario file, in JSON or YAML.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.errors import InvalidScenario
from airflow_sm_prefer.sandbox import scenario_file
from airflow_sm_prefer.sandbox.capacity import Timeline
from airflow_sm_prefer.sandbox.demand import CapacityKind
from airflow_sm_prefer.sandbox.faults import CallFault, JobFault
from airflow_sm_prefer.sandbox.plans import PlanSpec
from airflow_sm_prefer.sandbox.record import carries, most_live, state_entry
from airflow_sm_prefer.sandbox.sandbox import Sandbox

CHANGEABLE = frozenset({"capacity", "spot", "plans", "quotas", "rates", "call_faults", "job_faults"})
"""The sections of a scenario that can change while the sandbox runs."""

Action = Callable[[Any], Any]


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
            ("PUT", "scenario"): self.change,
            ("DELETE", "faults"): self.clear_faults,
        }

    def respond(self, request: Request) -> Response:
        """Answer one request."""
        name = request.path.rpartition("/")[2]
        action = self._actions.get((request.method, name))
        if action is None:
            known = ", ".join(f"{method} {path}" for method, path in self._actions)
            return _json({"error": f"there is no {request.method} {request.path}; there are: {known}"}, 404)
        try:
            is_question = request.method == "GET"
            return _json(action(request.args.to_dict() if is_question else request.get_data(as_text=True)))
        except ValueError as error:
            return _json({"error": str(error)}, 400)

    def state(self, _given: dict[str, Any]) -> dict[str, Any]:
        """Return the time and the counts that aren't ample."""
        engine = self._sandbox.engine
        with engine.locked() as now:
            return {
                "elapsed": now.elapsed,
                "speed": engine.time.pace.speed,
                "capacity": engine.capacity.snapshot(now.elapsed),
            }

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

    def change(self, given: str) -> dict[str, Any]:
        """Change what there is from now on: some sections of a scenario, whose instants count from now.

        Faults are added to those that are still to come.
        """
        found = scenario_file.sections(given, "the request")
        fixed = sorted(found.keys() - CHANGEABLE)
        if fixed:
            msg = f"{', '.join(fixed)}: not to be changed while the sandbox runs; there are {sorted(CHANGEABLE)}"
            raise InvalidScenario(msg)
        for section, value in found.items():
            getattr(self, f"_change_{section}")(value)
        engine = self._sandbox.engine
        engine.record.add(engine.clock.time(), "control", {"sections": sorted(found)})
        return self.state({})

    def clear_faults(self, _given: str) -> dict[str, Any]:
        """Forget every fault that is still to come."""
        with self._sandbox.engine.locked():
            self._sandbox.engine.faults.clear()
        return {}

    def _change_capacity(self, timelines: dict[str, Timeline]) -> None:
        self._sandbox.engine.set_capacity(CapacityKind.ON_DEMAND, timelines)

    def _change_spot(self, timelines: dict[str, Timeline]) -> None:
        self._sandbox.engine.set_capacity(CapacityKind.SPOT, timelines)

    def _change_plans(self, plans: tuple[PlanSpec, ...]) -> None:
        self._sandbox.engine.set_plans(plans)

    def _change_quotas(self, quotas: dict[str, int]) -> None:
        with self._sandbox.engine.locked():
            self._sandbox.engine.quotas.update(quotas)

    def _change_rates(self, rates: dict[str, float]) -> None:
        self._sandbox.rates.set(rates)

    def _change_call_faults(self, faults: tuple[CallFault, ...]) -> None:
        with self._sandbox.engine.locked():
            for fault in faults:
                self._sandbox.engine.faults.add_call(fault)

    def _change_job_faults(self, faults: tuple[JobFault, ...]) -> None:
        with self._sandbox.engine.locked():
            for fault in faults:
                self._sandbox.engine.faults.add_job(fault)


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, {"Content-Type": "application/json"})
