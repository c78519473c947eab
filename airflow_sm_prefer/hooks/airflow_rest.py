"""What state Airflow has its task instances in, asked through its REST API from outside.

A missing task instance is believed only from Airflow itself: an answer that isn't its own, a user who may not read the
DAG, a redirect to a login page say nothing, and end in an error.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote, urlsplit

from airflow_sm_prefer.errors import InvalidSetting, TaskStatesUnavailable
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.task_states import NO_STATUS

_TIMEOUT_SECONDS: Final = 30.0
_PAGE: Final = 100  # [api] maximum_page_limit, unless an Airflow has another
_RUNS_AT_ONCE: Final = 50


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes no redirect: it would carry the token elsewhere, or turn a question into another."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Leave the redirect as the error that it is."""


_open = urllib.request.build_opener(_NoRedirects).open


@dataclass(frozen=True, slots=True)
class Login:
    """Who asks: a token, or a user with a password. With neither, an Airflow that lets everybody in gives a token."""

    token: str = ""
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return "Login(…)"


class RestTaskStates:
    """The states of any number of task instances, asked of one Airflow: fifty runs of a DAG at once."""

    def __init__(self, address: str, login: Login) -> None:
        """Take where Airflow is and who asks.

        Args:
            address: What ``[api] base_url`` says: ``https://airflow.example.com``, and a path if there is one.
            login: Who asks.

        Raises:
            InvalidSetting: that is no http address, or has a user in it.
        """
        self._address = _checked(address)
        self._login = login
        self._token = login.token.strip()
        self._readable: set[str] = set()

    def read(self, tasks: Collection[TaskIdentity]) -> dict[TaskIdentity, str | None]:
        """Return each one's state; see :class:`~airflow_sm_prefer.placement.reconcile.TaskStates`.

        Raises:
            TaskStatesUnavailable: Airflow can't be asked, or not by this user.
        """
        found = self._found(tasks)
        absent = [task for task in tasks if task not in found]
        for dag_id in sorted({task.dag_id for task in absent}):
            self._require_readable(dag_id)
        # Asked once more by themselves: rows may shift between the pages of a long answer.
        found |= self._found(absent)
        return {task: found.get(task) for task in tasks}

    def deployment(self) -> str | None:
        """Return ``[sm_prefer] deployment`` of that Airflow; None if it has none, or doesn't show its settings."""
        try:
            answer = self._ask("GET", "/config/section/sm_prefer/option/deployment")
        except _Refused:
            return None
        options = [option for section in answer.get("sections", ()) for option in section.get("options", ())]
        return next((str(option["value"]) for option in options if option.get("key") == "deployment"), None)

    def _found(self, tasks: Collection[TaskIdentity]) -> dict[TaskIdentity, str]:
        by_dag: defaultdict[str, list[TaskIdentity]] = defaultdict(list)
        for task in tasks:
            by_dag[task.dag_id].append(task)
        wanted, found = {_key(task): task for task in tasks}, {}
        for dag_id, asked in by_dag.items():
            runs = sorted({task.run_id for task in asked})
            for at in range(0, len(runs), _RUNS_AT_ONCE):
                some = runs[at : at + _RUNS_AT_ONCE]
                names = sorted({task.task_id for task in asked if task.run_id in some})
                for key, state in self._rows(dag_id, some, names):
                    if key in wanted:
                        found[wanted[key]] = state
        return found

    def _rows(self, dag_id: str, runs: Sequence[str], names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], str]]:
        body = {"dag_ids": [dag_id], "dag_run_ids": runs, "task_ids": names, "order_by": "id", "page_limit": _PAGE}
        seen = 0
        while True:
            answer = self._ask("POST", "/dags/~/dagRuns/~/taskInstances/list", {**body, "page_offset": seen})
            try:
                rows, total = answer["task_instances"], int(answer["total_entries"])
                for row in rows:
                    key = (row["dag_id"], row["dag_run_id"], row["task_id"], row["map_index"])
                    yield key, row["state"] or NO_STATUS
            except (KeyError, TypeError, ValueError) as error:
                raise self._not_airflows() from error
            seen += len(rows)
            if not rows or seen >= total:
                return

    def _require_readable(self, dag_id: str) -> None:
        """Tell a DAG that isn't there from one that this user may not see: a listing leaves out both."""
        if dag_id in self._readable:
            return
        try:
            self._ask("GET", f"/dags/{quote(dag_id, safe='')}/dagRuns/~/taskInstances?limit=1")
        except _Refused as refused:
            if refused.status != 404:
                msg = f"This user may not read the DAG {dag_id} of {self._address} (HTTP {refused.status})."
                raise TaskStatesUnavailable(msg) from refused
        self._readable.add(dag_id)

    # -- the wire ----------------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if not self._token:
            self._token = self._new_token()
        return self._send(method, f"/api/v2{path}", body, {"Authorization": f"Bearer {self._token}"})

    def _new_token(self) -> str:
        login = self._login
        if not login.user:
            answer = self._send("GET", "/auth/token", None, {})
        else:
            answer = self._send("POST", "/auth/token", {"username": login.user, "password": login.password}, {})
        try:
            return str(answer["access_token"])
        except KeyError as error:
            raise self._not_airflows() from error

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, content, dict(headers), method=method)  # noqa: S310
        request.add_header("Content-Type", "application/json")
        request.add_header("Accept", "application/json")
        try:
            with _open(request, timeout=_TIMEOUT_SECONDS) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            raise self._refused(error, path) from None
        except (OSError, HTTPException) as error:
            msg = f"Airflow doesn't answer at {self._address}: {getattr(error, 'reason', error)}"
            raise TaskStatesUnavailable(msg) from error
        except ValueError as error:
            raise self._not_airflows() from error
        if not isinstance(answer, dict):
            raise self._not_airflows()
        return answer

    def _refused(self, error: urllib.error.HTTPError, path: str) -> _Refused:
        with error:
            said = error.read(500).decode(errors="replace").strip()
        where = f"{self._address}{path.partition('?')[0]}"
        if error.code in {401, 403}:
            msg = f"Airflow lets this user not in, or not see that (HTTP {error.code} from {where})."
        elif 300 <= error.code < 400:
            msg = f"{where} redirects to {error.headers.get('Location')}. Give the address of Airflow itself."
        else:
            msg = f"Airflow's answer is HTTP {error.code} from {where}: {said}"
        return _Refused(msg, error.code)

    def _not_airflows(self) -> TaskStatesUnavailable:
        return TaskStatesUnavailable(f"What answers at {self._address} isn't the API of an Airflow 3.")


class _Refused(TaskStatesUnavailable):
    """An answer with an error's status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def _key(task: TaskIdentity) -> tuple[str, str, str, int]:
    return task.dag_id, task.run_id, task.task_id, task.map_index


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        msg = f"{address!r} is no address of an Airflow. Write it as [api] base_url: https://airflow.example.com"
        raise InvalidSetting(msg)
    if "@" in parts.netloc:
        msg = "The address of Airflow has a user in it. Give the user apart from it: an address is shown and logged."
        raise InvalidSetting(msg)
    return address.rstrip("/")
