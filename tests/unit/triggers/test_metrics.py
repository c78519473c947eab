"""What is told of this package, as it arrives at the other end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from unittest import mock

import boto3
import pytest
from botocore.config import Config

from airflow_sm_prefer.aws import attempts
from airflow_sm_prefer.aws.attempts import AttemptLog
from airflow_sm_prefer.triggers import metrics

#: Tells everything once, as the process of triggers does: a child of one that has Airflow's metrics set up.
TELL_ALL = """
import os
from airflow.jobs import triggerer_job_runner
if not os.fork():
    from airflow_sm_prefer.triggers import metrics
    metrics.waiting("training", 3)
    metrics.lag(12.5)
    metrics.woke(1.25)
    metrics.woke(-1)
    metrics.pending("ml.p5.48xlarge", 60)
    metrics.called("DescribeTrainingJob")
    metrics.throttled("ListTrainingJobs")
    os._exit(0)
os.wait()
"""

HOST = {"AIRFLOW__CORE__HOSTNAME_CALLABLE": "platform.node"}


@pytest.fixture
def statsd() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(10)
        yield server


def told_by_a_process(server: socket.socket, **settings: str) -> list[str]:
    name, port = server.getsockname()
    statsd = {"STATSD_ON": "True", "STATSD_HOST": name, "STATSD_PORT": str(port), **settings}
    own = {f"AIRFLOW__METRICS__{key}": value for key, value in statsd.items()}
    subprocess.run([sys.executable, "-c", TELL_ALL], env={**os.environ, **HOST, **own}, check=True)
    server.setblocking(False)
    told = []
    while True:
        try:
            told.append(server.recv(65_536).decode())
        except BlockingIOError:
            return [line for line in told if ".sm_prefer." in line]


def test_statsd_hears_each_metric_plain_and_by_its_values(statsd: socket.socket) -> None:
    pytest.importorskip("statsd")
    import platform

    host = platform.node().replace(".", "__")
    assert told_by_a_process(statsd) == [
        "airflow.sm_prefer.jobs_waiting:3|g",
        f"airflow.sm_prefer.jobs_waiting.training.{host}:3|g",
        "airflow.sm_prefer.watch_lag:12.5|g",
        f"airflow.sm_prefer.watch_lag.{host}:12.5|g",
        "airflow.sm_prefer.wake_latency:1250.000000|ms",
        "airflow.sm_prefer.wake_latency:0.000000|ms",
        "airflow.sm_prefer.pending:60000.000000|ms",
        "airflow.sm_prefer.pending.ml__p5__48xlarge:60000.000000|ms",
        "airflow.sm_prefer.aws_calls:1|c",
        "airflow.sm_prefer.aws_calls.DescribeTrainingJob:1|c",
        "airflow.sm_prefer.aws_throttles:1|c",
        "airflow.sm_prefer.aws_throttles.ListTrainingJobs:1|c",
    ]


def test_with_tags_the_long_names_can_be_turned_off(statsd: socket.socket) -> None:
    pytest.importorskip("statsd")
    told = told_by_a_process(statsd, STATSD_INFLUXDB_ENABLED="True", LEGACY_NAMES_ON="False")
    assert "airflow.sm_prefer.pending,instance_type=ml.p5.48xlarge:60000.000000|ms" in told
    assert "airflow.sm_prefer.aws_calls,operation=DescribeTrainingJob:1|c" in told
    assert not [line for line in told if "ml__p5" in line]


def test_opentelemetry_hears_each_metric_with_its_tags() -> None:
    otel = pytest.importorskip("airflow.sdk._shared.observability.metrics.otel_logger")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    logger = otel.SafeOtelLogger(MeterProvider([reader], shutdown_on_exit=False))
    with mock.patch.object(metrics, "Stats", logger):
        metrics.waiting("processing", 7)
        metrics.pending("ml.g5.xlarge", 2)
        metrics.called("DescribeTrainingJob")
        metrics.called("DescribeTrainingJob")
    points = points_of(reader)
    assert points["airflow.sm_prefer.jobs_waiting"].attributes["kind"] == "processing"
    assert points["airflow.sm_prefer.jobs_waiting"].value == 7
    pending = points["airflow.sm_prefer.pending"]
    assert (pending.attributes, pending.sum, pending.count) == ({"instance_type": "ml.g5.xlarge"}, 2_000, 1)
    calls = points["airflow.sm_prefer.aws_calls"]
    assert (calls.attributes, calls.value) == ({"operation": "DescribeTrainingJob"}, 2)


def points_of(reader: Any) -> dict[str, Any]:
    (resource,) = reader.get_metrics_data().resource_metrics
    return {each.name: each.data.data_points[0] for scope in resource.scope_metrics for each in scope.metrics}


def test_a_backend_that_fails_fails_nothing() -> None:
    stats = mock.Mock()
    stats.gauge.side_effect = OSError
    with mock.patch.object(metrics, "Stats", stats):
        metrics.lag(1.0)
    stats.gauge.assert_called_once()


def test_what_was_told_once_is_told_once_however_often_it_is_asked_for() -> None:
    before = list(attempts._observers)
    attempts.observe(metrics._count)
    assert attempts._observers == before


class ThrottledOnce(BaseHTTPRequestHandler):
    """Answers the first call that it is one too many, and the others with an empty list."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        is_first, self.server.asked = not getattr(self.server, "asked", False), True
        body = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}' if is_first else b'{"logStreams": []}'
        self.send_response(400 if is_first else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def throttled_once() -> Iterator[Any]:
    server = HTTPServer(("127.0.0.1", 0), ThrottledOnce)
    Thread(target=server.serve_forever, daemon=True).start()
    yield boto3.client(
        "logs",
        endpoint_url=f"http://127.0.0.1:{server.server_port}",
        region_name="eu-west-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"mode": "standard", "max_attempts": 3}),
    )
    server.shutdown()
    server.server_close()


def test_each_attempt_of_a_call_is_counted_and_each_throttle(throttled_once: Any) -> None:
    AttemptLog(throttled_once)
    stats = mock.Mock()
    with mock.patch.object(metrics, "Stats", stats), mock.patch("botocore.endpoint.time.sleep"):
        throttled_once.describe_log_streams(logGroupName="group")
    told = [(call.args[0], call.kwargs["tags"]) for call in stats.incr.call_args_list if "tags" in call.kwargs]
    tags = {"operation": "DescribeLogStreams"}
    assert told == [("sm_prefer.aws_calls", tags), ("sm_prefer.aws_throttles", tags), ("sm_prefer.aws_calls", tags)]
