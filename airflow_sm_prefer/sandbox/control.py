"""The control API: change what there is while the sandbox runs, and ask what has happened.

Every request needs the header ``X-Sm-Prefer-Sandbox: control``. Answers are JSON; what is sent is a piece of a
scenario file, in JSON or YAML.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.batch.shown import overview
from airflow_sm_prefer.sandbox.changes import read_change
from airflow_sm_prefer.sandbox.plans import snapshot
from airflow_sm_prefer.sandbox.record import KINDS, JobTest, busiest, carries, live_at, state_entry
from airflow_sm_prefer.sandbox.sandbox import Sandbox

Arguments = Mapping[str, str]
Question = Callable[[Arguments], Any]


class Control:
    """Answers requests under ``/_sandbox/``.

    Args:
        sandbox: What is controlled.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._questions: dict[str, Question] = {
            "state": self.state,
            "jobs": self.jobs,
            "record": self.record,
            "most-live": self.most_live,
            "live": self.live,
        }

    def respond(self, request: Request) -> Response:
        """Answer one request."""
        action = self._action(request)
        if action is None:
            known = ", ".join([*(f"GET {name}" for name in self._questions), "PUT scenario", "DELETE faults"])
            return _json({"error": f"there is no {request.method} {request.path}; there are: {known}"}, 404)
        try:
            return _json(action())
        except ValueError as error:
            return _json({"error": str(error)}, 400)

    def _action(self, request: Request) -> Callable[[], Any] | None:
        name = request.path.rpartition("/")[2]
        arguments = request.args.to_dict()
        if request.method == "GET" and name in self._questions:
            return lambda: self._questions[name](arguments)
        if (request.method, name) == ("PUT", "scenario"):
            return lambda: self.change(request.get_data(as_text=True), arguments)
        if (request.method, name) == ("DELETE", "faults"):
            return self.clear_faults
        return None

    def state(self, _given: Arguments) -> dict[str, Any]:
        """Return the time, and everything that can be changed as it is now."""
        engine = self._sandbox.engine
        with engine.locked() as now:
            return {
                "now": now.instant,
                "elapsed": now.elapsed,
                "speed": engine.time.pace.speed,
                "capacity": engine.capacity.snapshot(now.elapsed),
                "plans": snapshot(engine.plan_specs, now.elapsed),
                "quotas": dict(engine.quotas),
                "rates": self._sandbox.rates.rates(),
                "batch": [overview(estate) for estate in self._sandbox.dispatcher.estates.values() if estate.queues],
                **engine.faults.to_come(),
            }

    def jobs(self, _given: Arguments) -> list[dict[str, Any]]:
        """Return every job's present state."""
        engine = self._sandbox.engine
        with engine.locked():
            return [state_entry(job) for a in engine.accounts.values() for job in a.jobs.values()]

    def record(self, given: Arguments) -> list[dict[str, Any]]:
        """Return the record: ``what`` chooses a sort of line, ``since`` a position."""
        what, since = given.get("what"), given.get("since", "0")
        if what is not None and what not in KINDS:
            msg = f"what={what}: there are no such lines in the record; expected one of {', '.join(KINDS)}"
            raise InvalidSetting(msg)
        if not since.isdecimal():
            msg = f"since={since}: expected how many lines of the record to pass over, a whole number"
            raise InvalidSetting(msg)
        return self._sandbox.engine.record.entries(what, int(since))

    def most_live(self, given: Arguments) -> dict[str, Any]:
        """Return how many jobs with that ``tag`` (KEY=VALUE) or name ``prefix`` were ever live at once, and which."""
        most = busiest(self._sandbox.engine.record.entries("state"), _wanted(given))
        return {"most": len(most.jobs), "at": most.at, "jobs": most.jobs}

    def live(self, given: Arguments) -> dict[str, Any]:
        """Return such jobs that were live ``at`` an instant: epoch seconds or ISO 8601, now if it isn't given."""
        wanted = _wanted(given)
        self._sandbox.tick()
        at = _instant(given["at"]) if "at" in given else self._sandbox.clock.time()
        jobs = live_at(self._sandbox.engine.record.entries("state"), wanted, at)
        return {"count": len(jobs), "at": at, "jobs": jobs}

    def change(self, given: str, arguments: Arguments) -> dict[str, Any]:
        """Change what there is from now on, all of it or nothing; ``source`` is what errors call the text."""
        self._sandbox.apply(read_change(given, arguments.get("source", "the request")))
        return self.state({})

    def clear_faults(self) -> dict[str, Any]:
        """Forget every fault that is still to come."""
        self._sandbox.clear_faults()
        return {}


def _wanted(given: Arguments) -> JobTest:
    tag = given.get("tag", "")
    key, is_pair, value = tag.partition("=")
    if tag and not (key and is_pair):
        msg = f"tag={tag}: expected KEY=VALUE, as tag=task=train"
        raise InvalidSetting(msg)
    return carries({key: value} if tag else {}, given.get("prefix", ""))


def _instant(text: str) -> float:
    try:
        instant = float(text)
    except ValueError:
        instant = _iso_instant(text)
    if not math.isfinite(instant):
        raise _no_instant(text)
    return instant


def _iso_instant(text: str) -> float:
    try:
        # A plus sign that wasn't quoted in an address has become a space.
        found = datetime.fromisoformat(text.strip().replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise _no_instant(text) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _no_instant(text: str) -> InvalidSetting:
    return InvalidSetting(f"at={text}: expected an instant, as 2026-11-30T09:00:00Z or in epoch seconds")


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value), status, {"Content-Type": "application/json"})
