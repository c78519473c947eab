"""The fixtures that other projects' tests use, in a project of such tests, with a pytest of its own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUEST = """
def request(name):
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "AlgorithmSpecification": {"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {
            "InstancePreferences": [{"InstanceType": "ml.p5.48xlarge"}, {"InstanceType": "ml.g5.xlarge"}],
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200},
    }
"""


class Project:
    """A project whose tests use the fixtures; the package is installed as its metadata says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
        metadata = folder / "installed" / "fixtures_of_the_sandbox-1.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fixtures-of-the-sandbox\nVersion: 1\n")
        lines = [f"{name} = {value}\n" for name, value in entry_points.items()]
        (metadata / "entry_points.txt").write_text("".join(["[pytest11]\n", *lines]))

    def run(self, tests: str, *arguments: str, conftest: str = "", **environment: str) -> str:
        (self.folder / "test_pipeline.py").write_text(REQUEST + tests)
        (self.folder / "conftest.py").write_text(conftest)
        (self.folder / "pytest.ini").write_text("[pytest]\n")
        path = os.pathsep.join([str(self.folder / "installed"), str(ROOT)])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_pipeline_is_tested_through_hours_on_a_fake_clock(project: Project) -> None:
    said = project.run(
        """
import pytest

SCENARIO = {"capacity": {"ml.p5.48xlarge": 0, "ml.g5.xlarge": [0, {"after": "1h", "count": 1}]}}


@pytest.mark.sandbox(**SCENARIO)
def test_a_job_waits_for_capacity(sm_prefer_sandbox):
    def job():
        return sm_prefer_sandbox.call("DescribeTrainingJob", {"TrainingJobName": "job"})

    before = sm_prefer_sandbox.clock.time()
    sm_prefer_sandbox.call("CreateTrainingJob", request("job"))
    sm_prefer_sandbox.advance(3590)
    assert job()["SecondaryStatus"] == "Pending"
    sm_prefer_sandbox.advance(20)
    assert job()["ResourceConfig"]["SelectedInstanceType"] == "ml.g5.xlarge"
    assert sm_prefer_sandbox.clock.time() == before + 3610


@pytest.mark.sandbox(capacity={"*": 0}, settings={"pending_expiry": "failed"})
def test_a_job_gives_up(sm_prefer_sandbox):
    sm_prefer_sandbox.call("CreateTrainingJob", request("job"))
    sm_prefer_sandbox.advance(7200)
    job = sm_prefer_sandbox.call("DescribeTrainingJob", {"TrainingJobName": "job"})
    assert job["TrainingJobStatus"] == "Failed"
    assert "CapacityError" in job["FailureReason"]


def test_a_sandbox_is_new_for_each_test(sm_prefer_sandbox):
    assert sm_prefer_sandbox.call("ListTrainingJobs")["TrainingJobSummaries"] == []
"""
    )
    assert "3 passed" in said, said


def test_clients_of_a_test_find_the_server_whatever_the_developer_has_set(project: Project) -> None:
    config = project.folder / "config"
    config.write_text("[profile prod]\nregion = eu-west-1\nendpoint_url = http://127.0.0.1:2\n")
    said = project.run(
        """
import os

import boto3
import pytest

before = dict(os.environ)
boto3.setup_default_session(aws_access_key_id="real", aws_secret_access_key="real", region_name="eu-west-1")
ours = boto3.DEFAULT_SESSION


@pytest.mark.sandbox(capacity={"ml.p5.48xlarge": 0})
def test_a_sandbox_that_clients_find_by_themselves(sm_prefer_sandbox_server):
    sagemaker = boto3.client("sagemaker")
    sagemaker.create_training_job(**request("job"))
    found = sagemaker.describe_training_job(TrainingJobName="job")
    assert found["ResourceConfig"]["SelectedInstanceType"] == "ml.g5.xlarge"
    assert found["TrainingJobArn"].split(":")[3:5] == ["us-east-1", "123456789012"]
    assert sagemaker.search(Resource="TrainingJob")["Results"]
    assert boto3.client("service-quotas").list_service_quotas(ServiceCode="sagemaker")["Quotas"]
    assert boto3.client("s3").list_buckets()["Buckets"] == []


def test_what_was_set_is_set_again():
    changed = {name for name in before.keys() | os.environ.keys() if before.get(name) != os.environ.get(name)}
    assert changed == {"PYTEST_CURRENT_TEST"}
    assert boto3.DEFAULT_SESSION is ours
""",
        AWS_PROFILE="prod",
        AWS_CONFIG_FILE=str(config),
        AWS_ENDPOINT_URL_S3="http://127.0.0.1:1",
        AWS_ENDPOINT_URL_SAGEMAKER="http://127.0.0.1:1",
        AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="true",
        AWS_SESSION_TOKEN="real",
        HTTP_PROXY="http://127.0.0.1:1",
        NO_PROXY="",
        no_proxy="",
    )
    assert "2 passed" in said, said


def test_a_scenario_with_a_mistake_fails_the_test_with_where_it_is(project: Project) -> None:
    said = project.run(
        """
import pytest


@pytest.mark.sandbox(capacty={"ml.g5.xlarge": 0})
def test_misspelt(sm_prefer_sandbox): ...


@pytest.mark.sandbox({"capacity": {"ml.g5.xlarge": 0}})
def test_unnamed(sm_prefer_sandbox_server): ...
"""
    )
    assert "2 errors" in said
    assert "@pytest.mark.sandbox: " in said
    assert "capacty" in said
    assert "sections go by their names" in said
    assert "Traceback" not in said


def test_a_project_without_the_extra_runs_and_is_told_what_to_install(project: Project) -> None:
    said = project.run(
        """
def test_of_something_else(): ...
def test_of_a_pipeline(sm_prefer_sandbox_server): ...
""",
        conftest="import sys\nsys.modules['moto'] = None\n",
    )
    assert "1 passed, 1 error" in said, said
    assert "the sandbox needs moto; install it with: pip install 'airflow-sm-prefer[sandbox]'" in said


def test_a_project_that_uses_no_fixture_pays_for_none(project: Project) -> None:
    said = project.run(
        """
import sys


def test_nothing_is_imported():
    assert "airflow_sm_prefer.sandbox.pytest_plugin" in sys.modules
    dear = {"moto", "werkzeug", "boto3", "botocore", "yaml", "airflow", "airflow_sm_prefer.sandbox.sandbox"}
    assert not dear & sys.modules.keys()
""",
    )
    assert "1 passed" in said, said


def test_a_project_may_name_the_plugin_besides(project: Project) -> None:
    tests = "def test_it(sm_prefer_sandbox): ...\n"
    assert "1 passed" in project.run(tests, "-p", "airflow_sm_prefer.sandbox.pytest_plugin")
    assert "1 passed" in project.run(tests, conftest="pytest_plugins = ['airflow_sm_prefer.sandbox.pytest_plugin']\n")
    by_hand = ("-p", "airflow_sm_prefer.sandbox.pytest_plugin")
    assert "1 passed" in project.run(tests, *by_hand, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
