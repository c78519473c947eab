"""One Airflow for all clicks, which takes half a minute to come up, and what comes of a module's cases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future

import pytest

from tests.e2e.reruns.databases import database
from tests.e2e.reruns.world import World

DATABASE = os.environ.get("RERUNS_DATABASE", "postgresql")
"""What the tests' Airflow keeps its metadata in: ``postgresql`` or ``sqlite``."""


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("reruns")
    with World(folder, database(DATABASE, folder)) as made:
        yield made


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, world: World) -> Iterator[Mapping[str, Future[None]]]:
    """What comes of each of the module's ``cases``, all of which are begun when the first is asked for."""
    with request.module.cases.begun(request, world) as begun:
        yield begun
