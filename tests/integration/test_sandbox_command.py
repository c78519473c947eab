"""``sm-prefer sandbox`` as a process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration import aws
from tests.unit.sandbox.builders import G5, training

SM_PREFER = (sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()")


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", **env}
    return subprocess.run(
        [*SM_PREFER, *arguments], capture_output=True, text=True, timeout=60, env=environment, check=False
    )


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    pytest.importorskip("airflow_sm_prefer.sandbox.runner")
    process = subprocess.Popen([*SM_PREFER, "sandbox", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert "ready" in line
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.communicate()


def test_it_says_when_it_is_ready_and_ends_on_sigterm(tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("capacity: {ml.g5.xlarge: 0}")
    with serving("--scenario", str(scenario), "--speed", "60") as (process, url):
        sagemaker = aws.client(url)
        sagemaker.create_training_job(**training())
        assert sagemaker.describe_training_job(TrainingJobName="job")["SecondaryStatus"] == "Pending"
        listed = run("sandbox", "jobs", AWS_ENDPOINT_URL=url)
        assert listed.stdout.split() == ["training", "job", "InProgress/Pending", "-"]
        assert run("sandbox", "set", "ml.p5.48xlarge=3", AWS_ENDPOINT_URL=url).returncode == 0
        assert run("sandbox", "set", "--spot", f"{G5}=3", AWS_ENDPOINT_URL=url).returncode == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_a_sandbox_is_looked_for_where_boto3_looks_for_sagemaker():
    """The address of SageMaker alone comes before the one of everything."""
    alone, everything = "http://127.0.0.1:9", "http://127.0.0.1:11"
    done = run("sandbox", "jobs", AWS_ENDPOINT_URL=everything, AWS_ENDPOINT_URL_SAGEMAKER=alone)
    assert f"no sandbox answers at {alone} " in done.stderr
    done = run("sandbox", "jobs", AWS_ENDPOINT_URL=everything, AWS_ENDPOINT_URL_SAGEMAKER="")
    assert f"no sandbox answers at {everything} " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--scenario", "{scenario}"), "scenario.yaml, line 2: ml.g5.xlrge: "),
        (("--scenario", "{scenario}.none"), "the scenario file can't be read"),
        (("--speed", "0"), "--speed is 0; it says how many seconds pass in one"),
        (("--scenario", "{images}"), "images: '*' is to run on '/not/there', which is no program here; give the path"),
    ],
)
def test_a_mistake_is_told_without_a_traceback(tmp_path, arguments, words):
    pytest.importorskip("airflow_sm_prefer.sandbox.runner")
    scenario, images = tmp_path / "scenario.yaml", tmp_path / "images.yaml"
    scenario.write_text("capacity:\n  ml.g5.xlrge: 0")
    images.write_text("images: {'*': /not/there}")
    done = run("sandbox", "--port", "0", *(a.format(scenario=scenario, images=images) for a in arguments))
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_image_that_can_not_run_is_told_before_a_state_begins_with_it(tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("images: {'*': /not/there}")
    done = run("sandbox", "--port", "0", "--scenario", str(scenario), "--state", str(tmp_path / "state"))
    assert done.returncode == 2
    scenario.write_text(f"images: {{'*': {sys.executable}}}")
    with serving("--scenario", str(scenario), "--state", str(tmp_path / "state")):
        pass


def test_a_taken_port_is_told():
    with serving() as (_, url):
        done = run("sandbox", "--port", url.rpartition(":")[2])
    assert done.returncode == 2
    assert "can't be listened on" in done.stderr
    assert "Traceback" not in done.stderr


def test_set_says_what_it_expects_and_when_nobody_answers():
    done = run("sandbox", "set", "ml.g5.xlarge")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected TYPE=COUNT, as ml.g5.xlarge=2" in done.stderr
    done = run("sandbox", "set", "ml.g5.xlarge=1", AWS_ENDPOINT_URL="http://127.0.0.1:9")
    assert done.returncode == 2
    assert "start one with: sm-prefer sandbox" in done.stderr


def test_help_imports_no_command():
    code = """
import sys
from airflow_sm_prefer.cli import cli
cli(["--help"], standalone_mode=False)
print([m for m in ("moto", "airflow", "boto3", "airflow_sm_prefer.cli.sandbox") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "sandbox" in done.stdout
    assert "demo" in done.stdout
