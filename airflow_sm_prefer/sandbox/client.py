"""A client of the control API, for tests, demonstrations and the command line."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.guards import CONTROL_HEADER, CONTROL_PATH, CONTROL_VALUE

TIMEOUT_SECONDS = 300
"""How long an answer may take: time that passes at once is full of work."""


class SandboxControl:
    """Talks to a running sandbox.

    Args:
        endpoint_url: Where it serves.

    Every method raises:
        InvalidSetting: the sandbox doesn't take it, and the message is its own; or what answers isn't a sandbox.
        OSError: nobody serves there.
    """

    def __init__(self, endpoint_url: str) -> None:
        self._endpoint_url = endpoint_url
        self._address = urlsplit(endpoint_url)

    def state(self) -> dict[str, Any]:
        """Return the time, and everything that can be changed as it is now.

        Keys: ``now`` (epoch seconds), ``elapsed`` (the scenario's seconds), ``speed``, ``capacity`` (counts that
        aren't ample, by kind and type), ``plans``, ``quotas``, ``rates``, ``call_faults`` and ``job_faults``.
        """
        return cast("dict[str, Any]", self._ask("GET", "state"))

    def jobs(self) -> list[dict[str, Any]]:
        """Return every job's present state."""
        return cast("list[dict[str, Any]]", self._ask("GET", "jobs"))

    def record(self, what: str | None = None, since: int = 0) -> list[dict[str, Any]]:
        """Return the record's lines, all or of one sort (``call``, ``state``, ``control``), from a position on."""
        query = {"since": since} if what is None else {"since": since, "what": what}
        return cast("list[dict[str, Any]]", self._ask("GET", f"record?{urlencode(query)}"))

    def most_live(self, *, tag: tuple[str, str] | None = None, prefix: str = "") -> int:
        """Return how many jobs with that tag and name prefix were ever live at one instant."""
        return int(self.busiest(tag=tag, prefix=prefix)["most"])

    def busiest(self, *, tag: tuple[str, str] | None = None, prefix: str = "") -> dict[str, Any]:
        """Return how many of those jobs were ever live at one instant (``most``), when (``at``), which (``jobs``)."""
        return cast("dict[str, Any]", self._ask("GET", f"most-live?{_chosen(tag, prefix)}"))

    def live(
        self, *, tag: tuple[str, str] | None = None, prefix: str = "", at: float | str | None = None
    ) -> list[dict[str, str]]:
        """Return the jobs with that tag and name prefix that were live at an instant.

        Args:
            tag: Its key and value.
            prefix: How the names begin.
            at: Epoch seconds or ISO 8601; now if it isn't given.

        Returns:
            Each job's ``account``, ``region``, ``kind`` and ``name``.
        """
        instant = "" if at is None else f"&{urlencode({'at': at})}"
        return cast("list[dict[str, str]]", self._ask("GET", f"live?{_chosen(tag, prefix)}{instant}")["jobs"])

    def set_capacity(self, counts: dict[str, int], *, kind: str = "on_demand") -> None:
        """Fix how many instances of each type there are from now on; ``kind`` may be ``spot``."""
        self.change(**{"capacity" if kind == "on_demand" else kind: counts})

    def change(self, **sections: Any) -> None:
        """Change what there is from now on: sections of a scenario file, ``speed`` and ``advance``, spelt as there.

        ``capacity``, ``spot``, ``plans``, ``quotas`` and ``rates`` replace what they name; ``call_faults`` and
        ``job_faults`` are added to those that are still to come. Instants count from now. ``advance`` lets that much
        time pass at once, after all else. With a mistake anywhere, nothing is changed.
        """
        self._ask("PUT", "scenario", json.dumps(sections))

    def apply(self, text: str, source: str = "the request") -> None:
        """Make a change that is written as in a scenario file, in YAML or JSON; errors call it by its source."""
        self._ask("PUT", f"scenario?{urlencode({'source': source})}", text)

    def set_speed(self, speed: float) -> None:
        """Let the scenario's seconds pass at another speed from now on."""
        self.change(speed=speed)

    def advance(self, duration: float | str) -> None:
        """Let time pass at once: seconds, or a text as ``1h 30m``; returns when all that was due is done."""
        self.change(advance=duration)

    def clear_faults(self) -> None:
        """Forget every fault that is still to come."""
        self._ask("DELETE", "faults")

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        connection = HTTPConnection(self._address.hostname or "", self._address.port, timeout=TIMEOUT_SECONDS)
        try:
            content = None if body is None else body.encode()
            headers = {CONTROL_HEADER: CONTROL_VALUE, "Content-Type": "application/json"}
            connection.request(method, f"{CONTROL_PATH}{path}", content, headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (ValueError, HTTPException):
            msg = f"what answers at {self._endpoint_url} is not a sandbox; start one with: sm-prefer sandbox"
            raise InvalidSetting(msg) from None
        finally:
            connection.close()
        if response.status >= 400:  # noqa: PLR2004, RUF100
            raise InvalidSetting(str(answer.get("error") or answer.get("message")))
        return answer


def _chosen(tag: tuple[str, str] | None, prefix: str) -> str:
    return urlencode({"prefix": prefix} | ({"tag": "=".join(tag)} if tag else {}))
