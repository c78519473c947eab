"""One Airflow for all clicks: it takes half a minute to come up."""

from __future__ import annotations

import os
from collections.abc import Iterator

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
