"""``sm-prefer queues apply`` as a process, against the sandbox: twice, dry, after a drift, and where it can't be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws

SM_PREFER = (sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()")
FLEET = """\
tags: {cost-center: ml}
environments:
  p5:
    instances: 8
    training_plan: arn:aws:sagemaker:us-east-1:123456789012:training-plan/p5-autumn
  g5:
    instances: {ml.g5.12xlarge: 16}
policies:
  teams:
    weights: {search: 1, ads: 2.5}
    decay: 1h
queues:
  p5:
    environment: p5
    priority: 10
    policy: teams
    time_limits:
      CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY: 12h
  g5:
    environment: g5
    quota_shares:
      search: {instances: {ml.g5.12xlarge: 10}, borrow_limit: 50, in_share_preemption: true}
      ads: {instances: {ml.g5.12xlarge: 6}, sharing: LEND}
"""


class Command:
    """The command, a file for it, and the sandbox that it works on."""

    def __init__(self, endpoint_url: str, file: Path) -> None:
        self.endpoint_url, self.file = endpoint_url, file
        self.batch = aws.client(endpoint_url, "batch")

    def apply(self, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        self.file.write_text(text)
        env = {
            **os.environ,
            "NO_COLOR": "1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        where = ("--region", "us-east-1", "--endpoint-url", self.endpoint_url)
        return subprocess.run(
            [*SM_PREFER, "queues", "apply", str(self.file), *where, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            env=env,
            check=False,
        )

    def queue(self, name: str) -> dict[str, Any]:
        (found,) = self.batch.describe_job_queues(jobQueues=[name])["jobQueues"]
        shown: dict[str, Any] = found
        return shown


@pytest.fixture
def command(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Command]:
    plan = {"name": "p5-autumn", "type": "ml.p5.48xlarge", "count": 8}
    settings = {"batch_object_seconds": getattr(request, "param", 0)}
    with SandboxServer({"rates": False, "settings": settings, "plans": [plan]}) as sandbox:
        yield Command(sandbox.endpoint_url, tmp_path / "fleet.yaml")


def test_it_makes_what_a_file_says_and_has_nothing_to_do_then(command: Command) -> None:
    dry = command.apply(FLEET, "--dry-run")
    assert dry.returncode == 3, dry.stderr
    assert dry.stdout.endswith("8 to make, 0 to change; nothing was changed. Without --dry-run it is.\n")
    assert command.batch.describe_job_queues()["jobQueues"] == []

    made = command.apply(FLEET)
    assert made.returncode == 0, made.stderr
    assert made.stdout.endswith("8 made, 0 changed, and all of it valid.\n")
    assert "warning" not in made.stdout
    p5 = command.queue("p5")
    assert (p5["status"], p5["priority"], p5["state"]) == ("VALID", 10, "ENABLED")
    assert p5["schedulingPolicyArn"].endswith("/teams")
    assert p5["jobStateTimeLimitActions"][0]["maxTimeSeconds"] == 43_200
    assert p5["tags"] == {"cost-center": "ml", "sm-prefer:made-by": "queues-apply"}
    shares = {s["quotaShareName"]: s for s in command.batch.list_quota_shares(jobQueue="g5")["quotaShares"]}
    assert shares["search"]["resourceSharingConfiguration"] == {"strategy": "LEND_AND_BORROW", "borrowLimit": 50}
    assert shares["ads"]["capacityLimits"] == [{"capacityUnit": "ml.g5.12xlarge", "maxCapacity": 6}]

    for arguments in ((), ("--dry-run",)):
        again = command.apply(FLEET, *arguments)
        assert (again.returncode, again.stdout) == (0, "Nothing to change: all is as the file says.\n")


def test_what_somebody_changed_is_told_and_set_right(command: Command) -> None:
    assert command.apply(FLEET).returncode == 0
    limits = [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 3}]
    command.batch.update_service_environment(serviceEnvironment="p5", capacityLimits=limits)
    command.batch.update_job_queue(jobQueue="p5", state="DISABLED", jobStateTimeLimitActions=[])
    command.batch.untag_resource(resourceArn=command.queue("g5")["jobQueueArn"], tagKeys=["cost-center"])

    dry = command.apply(FLEET, "--dry-run")
    assert dry.returncode == 3, dry.stderr
    assert dry.stdout.splitlines() == [
        "~ service environment p5",
        "    instances: 3 of any type → 8 of any type",
        "~ job queue p5",
        "    time limit CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY: none → 12 h",
        "    enabled: no → yes",
        "~ job queue g5",
        "    tags: cost-center=ml",
        "0 to make, 3 to change; nothing was changed. Without --dry-run it is.",
    ]
    assert command.queue("p5")["state"] == "DISABLED"
    assert command.apply(FLEET).returncode == 0
    assert command.apply(FLEET, "--dry-run").returncode == 0
    assert command.queue("p5")["state"] == "ENABLED"


def test_every_kind_of_piece_can_be_changed(command: Command) -> None:
    assert command.apply(FLEET).returncode == 0
    changed = (
        FLEET.replace("instances: 8", "instances: 7")
        .replace("ads: 2.5", "ads: 3, maps: 1")
        .replace("priority: 10", "priority: 11")
        .replace("sharing: LEND}", "sharing: RESERVE}")
        .replace("borrow_limit: 50, ", "")
        .replace("12h", "6h")
    )
    result = command.apply(changed)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("0 made, 5 changed, and all of it valid.\n")
    assert "has a limit of 7, and training plan p5-autumn 8: the rest would lie idle" in result.stdout
    assert command.apply(changed, "--dry-run").returncode == 0


@pytest.mark.parametrize("command", [1], indirect=True, ids=["objects that take their time"])
def test_a_piece_is_valid_before_the_next_refers_to_it(command: Command) -> None:
    share = "{instances: {ml.g5.xlarge: 2}}"
    text = f"environments: {{g5: {share}}}\nqueues: {{g5: {{environment: g5, quota_shares: {{search: {share}}}}}}}"
    made = command.apply(text)
    assert made.returncode == 0, made.stderr
    assert command.batch.list_quota_shares(jobQueue="g5")["quotaShares"][0]["status"] == "VALID"


def test_what_the_file_names_no_more_is_left_and_told(command: Command) -> None:
    assert command.apply(FLEET).returncode == 0
    result = command.apply("environments: {p5: {instances: 8}}")
    assert result.returncode == 0
    assert "job queue p5 was made from a file, and this one doesn't name it" in result.stdout
    assert command.queue("p5")["status"] == "VALID"


def test_what_batch_never_changes_is_refused_before_anything_is_done(command: Command) -> None:
    assert command.apply(FLEET).returncode == 0
    without = FLEET.replace("    policy: teams\n", "").replace("priority: 10", "priority: 11")
    result = command.apply(without)
    assert result.returncode == 2
    assert "job queue p5 has a policy for fair share, which can be replaced and never removed" in result.stderr
    assert command.queue("p5")["priority"] == 10


def test_a_file_with_a_mistake_is_refused_with_its_line(command: Command) -> None:
    result = command.apply(FLEET.replace("priority", "prioritty"))
    assert result.returncode == 2
    assert result.stderr.startswith(f"sm-prefer: {command.file}, line 15: queues.p5.prioritty: not a key here. Did you")
    assert "Traceback" not in result.stderr


def test_a_file_that_is_not_there_is_told(command: Command) -> None:
    command.file = command.file.parent
    result = subprocess.run(
        [*SM_PREFER, "queues", "apply", "gone.yaml"], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 2
    assert result.stderr.startswith("sm-prefer: gone.yaml: the file can't be read: ")


def test_what_aws_refuses_is_told_in_its_words_and_the_rest_is_done_at_the_next_run(command: Command) -> None:
    fleet = "environments: {p5: {instances: 8}, p4: {instances: 8, tags: {%s}}}"
    result = command.apply(fleet % ", ".join(f"t{n}: x" for n in range(60)))
    assert result.returncode == 2
    assert result.stdout.endswith("1 of 2 changes are made. Run this again to go on.\n")
    assert result.stderr.startswith("sm-prefer: CreateServiceEnvironment: ")
    assert "Traceback" not in result.stderr
    again = command.apply(fleet % "a: x")
    assert again.stdout.endswith("1 made, 0 changed, and all of it valid.\n"), again.stderr
