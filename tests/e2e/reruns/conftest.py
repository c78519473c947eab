"""One Airflow for all clicks: it takes half a minute to come up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.reruns.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("reruns")) as made:
        yield made
