"""Things that are done to task instances, each a test, a few at once where the database can take that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from tests.e2e.reruns.runs import TaskRun
from tests.e2e.reruns.world import World

Act = Callable[..., None]


class Cases:
    """The cases of one test module."""

    def __init__(self) -> None:
        self._acts: dict[str, tuple[Act, str]] = {}

    @property
    def names(self) -> list[str]:
        """What the tests are called."""
        return list(self._acts)

    def on(self, *dag_ids: str, at: Sequence[str] = ()) -> Callable[[Act], Act]:
        """Have something done to a run of each DAG, and at each gate if there are any."""

        def note(act: Act) -> Act:
            for dag_id in dag_ids:
                self._acts |= {f"{act.__name__}-{dag_id}-{gate}": (partial(act, gate=gate), dag_id) for gate in at}
                if not at:
                    self._acts[f"{act.__name__}-{dag_id}"] = act, dag_id
            return act

        return note

    @contextmanager
    def begun(self, request: pytest.FixtureRequest, world: World) -> Iterator[Mapping[str, Future[Any]]]:
        """Do all that this run of pytest wants, and give what comes of each."""
        wanted = [item.callspec.params["name"] for item in request.session.items if item.path == request.path]
        with ThreadPoolExecutor(world.database.at_once) as pool:
            yield {name: pool.submit(self._do, world, name) for name in wanted}
            pool.shutdown(cancel_futures=True)

    def _do(self, world: World, name: str) -> None:
        act, dag_id = self._acts[name]
        act(TaskRun(world, dag_id, name))
