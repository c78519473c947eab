"""The metrics of queues, from jobs in the sandbox to CloudWatch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer import QueueMetricsOperator
from airflow_sm_prefer.aws.queue_metrics import read_points
from airflow_sm_prefer.aws.queues_apply import QueuesWriter
from airflow_sm_prefer.aws.queues_there import QueuesReader
from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.errors import InvalidInput, InvalidSetting
from airflow_sm_prefer.model.queues_file import parse_queues
from airflow_sm_prefer.placement.queue_metrics import NAMESPACE, Metric
from airflow_sm_prefer.placement.queues_difference import difference
from airflow_sm_prefer.sandbox import SandboxServer, Script, ScriptedRunner
from tests.integration import aws
from tests.integration.harness import environment
from tests.integration.test_sandbox_wire import wait_for
from tests.unit.sandbox.batch.bench import submission

FLEET = """\
environments:
  any: {instances: 4}
  quotas: {instances: {ml.g5.xlarge: 6}}
policies:
  teams: {weights: {search: 1, ads: 1}}
queues:
  fair: {environment: any, policy: teams}
  fifo: {environment: any}
  quotas:
    environment: quotas
    quota_shares:
      search: {instances: {ml.g5.xlarge: 4}, sharing: RESERVE}
      ads: {instances: {ml.g5.xlarge: 2}, sharing: RESERVE}
"""


@pytest.fixture
def server() -> Iterator[SandboxServer]:
    runner = ScriptedRunner({}, Script(seconds=10_000))
    with SandboxServer({"rates": False}, runner=runner) as served:
        batch = aws.client(served.endpoint_url, "batch")
        there = QueuesReader(batch).read()
        writer = QueuesWriter(batch, SystemClock())
        for change in difference(parse_queues(FLEET), there.fleet, {}).changes:
            writer.apply(change, there)
        yield served


@pytest.fixture
def batch(server: SandboxServer) -> Any:
    return aws.client(server.endpoint_url, "batch")


def values(batch: Any, *queues: str) -> dict[tuple[str, str | None, Metric], float]:
    found = read_points(batch, queues, SystemClock().time())
    return {(point.queue, point.share, point.metric): point.value for point in found}


def statuses(batch: Any, queue: str) -> list[str]:
    wanted = ("RUNNABLE", "RUNNING")
    return [s for s in wanted for _ in batch.list_service_jobs(jobQueue=queue, jobStatus=s)["jobSummaryList"]]


def submit(batch: Any, queue: str, count: int, **more: Any) -> None:
    for number in range(count):
        batch.submit_service_job(**submission(f"job-{number}", queue, **more))


def test_jobs_of_a_fair_share_and_of_another_queue_on_its_environment_are_counted(batch: Any) -> None:
    submit(batch, "fifo", 1)
    wait_for(lambda: statuses(batch, "fifo") == ["RUNNING"])
    submit(batch, "fair", 5, shareIdentifier="search")
    wait_for(lambda: statuses(batch, "fair") == ["RUNNABLE"] * 2 + ["RUNNING"] * 3)
    found = values(batch, "fair")
    assert {queue for queue, _, _ in found} == {"fair"}
    for share, depth, running in ((None, 2, 3), ("search", 2, 3), ("ads", 0, 0)):
        assert found["fair", share, Metric.DEPTH] == depth
        assert found["fair", share, Metric.RUNNING] == running
    assert 0 < found["fair", "search", Metric.OLDEST_WAIT] < 120
    assert found["fair", "ads", Metric.OLDEST_WAIT] == 0
    assert found["fair", None, Metric.IDLE] == 0
    assert values(batch)["fifo", None, Metric.RUNNING] == 1


def test_a_quota_share_s_own_instances_lie_idle_while_the_other_waits(batch: Any) -> None:
    submit(batch, "quotas", 3, quotaShareName="ads")
    wait_for(lambda: statuses(batch, "quotas") == ["RUNNABLE"] + ["RUNNING"] * 2)
    found = values(batch, "quotas")
    assert [found["quotas", share, Metric.IDLE] for share in (None, "search", "ads")] == [4, 4, 0]
    assert [found["quotas", share, Metric.DEPTH] for share in (None, "search", "ads")] == [1, 0, 1]


def test_a_queue_that_is_not_there_is_refused_with_the_nearest(batch: Any) -> None:
    with pytest.raises(InvalidSetting, match=r"There is no queue 'fairr' .* Did you mean fair\?"):
        read_points(batch, ["fairr"], 0.0)


@pytest.fixture
def connection(server: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(server, 1).items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("connection")
def test_the_operator_publishes_them_where_alarms_look(server: SandboxServer, batch: Any) -> None:
    submit(batch, "fifo", 2)
    wait_for(lambda: statuses(batch, "fifo") == ["RUNNING"] * 2)
    QueueMetricsOperator(task_id="publish", queues="fifo, quotas").execute({})
    cloudwatch = aws.client(server.endpoint_url, "cloudwatch")
    listed = cloudwatch.list_metrics(Namespace=NAMESPACE)["Metrics"]
    assert {metric["MetricName"] for metric in listed} == {metric.value for metric in Metric}
    assert {d["Value"] for metric in listed for d in metric["Dimensions"]} == {"fifo", "quotas", "search", "ads"}
    now = datetime.now(UTC)
    (point,) = cloudwatch.get_metric_statistics(
        Namespace=NAMESPACE,
        MetricName="RunningInstances",
        Dimensions=[{"Name": "JobQueue", "Value": "fifo"}],
        StartTime=now - timedelta(minutes=10),
        EndTime=now + timedelta(minutes=10),
        Period=3600,
        Statistics=["Maximum"],
    )["Datapoints"]
    assert (point["Maximum"], point["Unit"]) == (2.0, "Count")


@pytest.mark.usefixtures("connection")
def test_a_queue_that_is_not_there_fails_the_task_for_good() -> None:
    with pytest.raises(InvalidInput, match="There is no queue 'gone'"):
        QueueMetricsOperator(task_id="publish", queues=["gone"]).execute({})


def command(server: SandboxServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    code = "from airflow_sm_prefer.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "queues", "metrics", "--endpoint-url", server.endpoint_url, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1", **keys},
        check=False,
    )


def test_the_command_prints_them_and_publishes_unless_it_runs_dry(server: SandboxServer) -> None:
    cloudwatch = aws.client(server.endpoint_url, "cloudwatch")
    dry = command(server, "--dry-run", "--queue", "fair", "--queue", "fifo")
    assert dry.returncode == 0, dry.stderr
    lines = [line.split() for line in dry.stdout.splitlines()]
    assert lines[0] == ["queue", "share", *(metric.value for metric in Metric)]
    assert lines[1:-1] == [
        ["fair", "0", "0", "0", "4"],
        ["fair", "ads", "0", "0", "0"],
        ["fair", "search", "0", "0", "0"],
        ["fifo", "0", "0", "0", "4"],
    ]
    assert dry.stdout.endswith("14 values; nothing was published.\n")
    assert cloudwatch.list_metrics()["Metrics"] == []

    result = command(server, "--namespace", "Ours")
    assert result.stdout.endswith("26 values published to Ours.\n"), result.stderr
    assert len(cloudwatch.list_metrics(Namespace="Ours")["Metrics"]) == 26
    gone = command(server, "--queue", "gone")
    assert (gone.returncode, gone.stderr) == (2, "sm-prefer: There is no queue 'gone' for SageMaker training here.\n")


def test_the_example_dag_publishes_each_minute_and_never_twice_at_once() -> None:
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # before Airflow 3.2
        from airflow.models.dagbag import DagBag

    bag = DagBag(str(Path(__file__).parents[2] / "dags" / "queue_metrics.py"))
    assert not bag.import_errors
    dag = bag.dags["queue_metrics"]
    assert dag.schedule == "* * * * *"
    assert (dag.max_active_runs, dag.catchup, dag.is_paused_upon_creation) == (1, False, True)
    assert isinstance(dag.get_task("publish"), QueueMetricsOperator)
