"""The package root gives every public name, and costs nothing until it is asked for one."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import airflow_sm_prefer
from airflow_sm_prefer import errors


def test_importing_it_imports_nothing_of_weight():
    code = (
        "import sys, airflow_sm_prefer\n"
        "heavy = {'airflow', 'boto3', 'botocore', 'json', 'dataclasses', 'typing_extensions', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)), [m for m in sys.modules if m.startswith('airflow_sm_prefer.')])"
    )
    # -S keeps out what the site's .pth files import.
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


def test_helpers_and_errors_come_without_airflow_and_boto():
    code = (
        "import sys\n"
        "from airflow_sm_prefer import on_demand, queued, training_plan, spot, InvalidPreference, FakeClock\n"
        "print(sorted({'airflow', 'boto3', 'botocore'} & set(sys.modules)))"
    )
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", airflow_sm_prefer.__all__)
def test_every_public_name_is_there(name):
    assert getattr(airflow_sm_prefer, name)
    assert name in dir(airflow_sm_prefer)


def test_every_error_is_public():
    raised = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert raised <= set(airflow_sm_prefer.__all__)


def test_the_version_is_that_of_the_distribution():
    assert airflow_sm_prefer.__version__ == version("airflow-sm-prefer")


def test_another_name_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        airflow_sm_prefer.nonsense  # noqa: B018
