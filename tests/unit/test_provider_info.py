import json
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from airflow_sm_prefer.aws.pacing import DEFAULT_RATES
from airflow_sm_prefer.get_provider_info import get_provider_info
from airflow_sm_prefer.model.priority import DEFAULT_PRIORITIES, parse_priorities

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
INFO = get_provider_info()
OPTIONS = INFO["config"]["sm_prefer"]["options"]


def test_it_is_valid_by_airflows_own_schema():
    schema = json.loads(files("airflow").joinpath("provider_info.schema.json").read_text())
    jsonschema.validate(INFO, schema)


def test_it_has_the_name_of_the_distribution():
    assert INFO["package-name"] == PROJECT["name"]
    entry_point = PROJECT["entry-points"]["apache_airflow_provider"]["provider_info"]
    assert entry_point == f"{get_provider_info.__module__}:{get_provider_info.__name__}"


@pytest.mark.parametrize("part", ["operators", "hooks", "triggers"])
def test_the_modules_that_it_names_are_there(part):
    for entry in INFO[part]:
        assert entry["integration-name"] in {it["integration-name"] for it in INFO["integrations"]}
        for module in entry["python-modules"]:
            import_module(module)


def test_the_links_that_it_names_are_there():
    for path in INFO["extra-links"]:
        module, _, name = path.rpartition(".")
        assert hasattr(import_module(module), name)


def test_the_rates_that_it_shows_are_those_that_hold():
    assert {verb: float(OPTIONS[f"{verb}_rate"]["default"]) for verb in DEFAULT_RATES} == DEFAULT_RATES


def test_the_priorities_that_it_shows_are_those_that_hold():
    assert parse_priorities(OPTIONS["priorities"]["default"]) == DEFAULT_PRIORITIES


@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_every_option_is_described_and_has_a_version(option):
    assert OPTIONS[option]["description"].strip()
    assert OPTIONS[option]["version_added"] == "0.1.0"


def test_looking_for_providers_imports_nothing():
    code = (
        "import sys; before = set(sys.modules);"
        "from airflow_sm_prefer.get_provider_info import get_provider_info; get_provider_info();"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(new & {'airflow', 'boto3', 'botocore', 'typer', 'rich', 'moto'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
