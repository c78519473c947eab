"""Which Python stands for an image, and what a container runs with it."""

from __future__ import annotations

import sys

import pytest

from airflow_sm_prefer.sandbox.runner.failures import NO_IMAGE, RunFailed
from airflow_sm_prefer.sandbox.runner.images import ImageTable

TABLE = ImageTable({"*sklearn:1*": "/one/python", "*sklearn*": "/any/python", "missing:*": ""})


@pytest.mark.parametrize(
    ("image", "python"),
    [
        ("1.dkr.ecr.us-east-1.amazonaws.com/sklearn:1.2", "/one/python"),
        ("sklearn:2", "/any/python"),
        ("other", sys.executable),
    ],
)
def test_the_first_pattern_that_fits_is_taken(image: str, python: str) -> None:
    assert TABLE.python_for(image) == python


def test_without_a_table_every_image_is_our_own_python() -> None:
    assert ImageTable().python_for("any") == sys.executable


def test_an_image_without_a_python_can_not_be_pulled() -> None:
    with pytest.raises(RunFailed) as failed:
        TABLE.python_for("missing:1")
    assert str(failed.value) == NO_IMAGE


@pytest.mark.parametrize(
    ("entrypoint", "command"),
    [
        (["python3", "a.py", "-x"], ["/any/python", "a.py", "-x", "y"]),
        (["python", "a.py"], ["/any/python", "a.py", "y"]),
        (["/opt/ml/a.py", "-x"], ["/any/python", "/opt/ml/a.py", "-x", "y"]),
        (["bash", "run.sh"], ["bash", "run.sh", "y"]),
    ],
)
def test_a_python_in_the_entrypoint_is_the_images(entrypoint: list[str], command: list[str]) -> None:
    assert TABLE.command("sklearn", entrypoint, ["y"]) == command


def test_what_an_image_runs_by_itself_is_not_known() -> None:
    with pytest.raises(RunFailed, match="ContainerEntrypoint"):
        TABLE.command("sklearn", [], ["y"])
