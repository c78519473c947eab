import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

from airflow.providers.common.compat.sdk import AirflowPlugin

from airflow_sm_prefer.links import JobLink, JobLogLink
from airflow_sm_prefer.plugin import SmPreferPlugin

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]


def test_airflow_takes_it_for_a_plugin():
    assert issubclass(SmPreferPlugin, AirflowPlugin)
    assert SmPreferPlugin.name
    SmPreferPlugin.validate()


def test_it_is_the_one_that_the_package_announces():
    module, _, name = PROJECT["entry-points"]["airflow.plugins"]["sm_prefer"].partition(":")
    assert getattr(import_module(module), name) is SmPreferPlugin


def test_both_links_are_registered():
    assert {type(link) for link in SmPreferPlugin.operator_extra_links} == {JobLink, JobLogLink}


def test_loading_it_brings_in_no_client_and_no_sandbox():
    code = (
        "import sys, airflow_sm_prefer.plugin;"
        "print({'boto3', 'botocore', 'moto', 'airflow_sm_prefer.operators.sagemaker'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "set()"
