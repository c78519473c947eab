"""Changing a sandbox over the wire while it runs, from Python and from the command line."""

import http.server
import json
import threading

import pytest
from typer.testing import CliRunner

pytest.importorskip("moto.server")

from airflow_sm_prefer.cli.sandbox import app
from airflow_sm_prefer.clock import FakeClock, utc
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox import SandboxServer, Script, ScriptedRunner
from airflow_sm_prefer.sandbox.client import SandboxControl
from tests.unit.sandbox.builders import G5, P5, PLAN, single, training

TAG = [{"Key": "task", "Value": "train"}]


@pytest.fixture
def server():
    runner = ScriptedRunner(default=Script(seconds=600))
    scenario = {"capacity": {G5: 0}, "rates": "off"}
    with SandboxServer(scenario, clock=FakeClock(), runner=runner) as served:
        yield served


@pytest.fixture
def control(server):
    return SandboxControl(server.endpoint_url)


@pytest.fixture
def command(server):
    def run(*arguments, **more):
        result = CliRunner().invoke(app, [*arguments, "--endpoint-url", server.endpoint_url], **more)
        if result.exception is not None:
            raise result.exception
        return result.stdout

    return run


def status(server, name="job"):
    return server.sandbox.call("DescribeTrainingJob", {"TrainingJobName": name})["SecondaryStatus"]


def test_time_passes_at_once_and_at_another_speed(server, control):
    server.sandbox.call("CreateTrainingJob", training(StoppingCondition={"MaxPendingTimeInSeconds": 7200}))
    control.advance("1h 59m")
    assert status(server) == "Pending"
    control.set_speed(60)
    assert control.state()["speed"] == 60
    server.sandbox.advance(0.9)
    assert status(server) == "Pending"
    server.sandbox.advance(0.2)
    assert status(server) == "MaxPendingTimeExceeded"
    assert control.state()["elapsed"] == pytest.approx(7140 + 66, abs=0.1)


def test_the_state_shows_everything_that_can_be_changed(control):
    control.change(
        spot={G5: 1},
        plans=[{"name": "december", "type": P5, "count": 2, "blocks": [{"starts": "10m", "lasts": "24h"}]}],
        quotas={f"{G5} for training job usage": 2},
        rates={"ListTrainingJobs": 5},
        call_faults=[{"operation": "ListTrainingJobs", "error": "drop", "times": 2}],
        job_faults=[{"job": "nightly-*", "after": "5m"}],
    )
    state = control.state()
    assert state["capacity"] == {"on_demand": {G5: 0}, "spot": {G5: 1}}
    (plan,) = state["plans"]
    assert (plan["name"], plan["count"], plan["status"]) == ("december", 2, "Scheduled")
    assert plan["blocks"] == [{"starts": pytest.approx(600, abs=1), "lasts": 86_400}]
    assert state["quotas"] == {f"{G5} for training job usage": 2}
    assert state["rates"] == {"ListTrainingJobs": 5}
    assert state["call_faults"][0]["times"] == 2
    assert state["job_faults"][0]["after"] == 300
    control.clear_faults()
    assert control.state()["call_faults"] == control.state()["job_faults"] == []


def test_with_one_mistake_nothing_is_changed(server, control):
    with pytest.raises(InvalidSetting, match=r"the request, line 1: ml.g5.xlarg: .*did you mean ml.g5.xlarge"):
        control.change(quotas={f"{G5} for training job usage": 0}, speed=60, capacity={"ml.g5.xlarg": 1})
    assert control.state()["quotas"] == {}
    assert control.state()["speed"] == 1
    assert control.record("control") == []


def test_changes_at_the_same_time_do_not_mix(control):
    def work(number):
        for count in range(5):
            control.change(quotas={f"{G5} for training job usage": number}, capacity={G5: number}, spot={G5: count})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = control.state()
    assert state["quotas"][f"{G5} for training job usage"] == state["capacity"]["on_demand"][G5]
    assert len(control.record("control")) == 20


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (
            "record?what=calls",
            "what=calls: there are no such lines in the record; expected one of call, state, control",
        ),
        ("record?since=x", "since=x: expected how many lines"),
        ("live?tag=train", "tag=train: expected KEY=VALUE"),
        ("most-live?tag==x", "tag==x: expected KEY=VALUE"),
        ("live?at=noon", "at=noon: expected an instant, as 2026-11-30T09:00:00Z or in epoch seconds"),
        ("live?at=inf", "at=inf: expected an instant"),
        ("nothing", "there is no GET /_sandbox/nothing; there are: GET state"),
    ],
)
def test_a_question_that_makes_no_sense_is_told(control, path, words):
    with pytest.raises(InvalidSetting) as caught:
        control._ask("GET", path)
    assert words in str(caught.value)


def test_who_was_live_at_an_instant(server, control):
    server.sandbox.change(capacity={G5: 5})
    begin = server.sandbox.clock.time()
    server.sandbox.call("CreateTrainingJob", training("a", Tags=TAG))
    server.sandbox.advance(300)
    server.sandbox.call("CreateTrainingJob", training("b", Tags=TAG))
    assert [job["name"] for job in control.live(tag=("task", "train"))] == ["a", "b"]
    server.sandbox.advance(601)
    assert control.live(tag=("task", "train")) == []
    assert [job["name"] for job in control.live(tag=("task", "train"), at=begin + 10)] == ["a"]
    assert [job["name"] for job in control.live(prefix="b", at=utc(begin + 310).isoformat())] == ["b"]
    assert [job["name"] for job in control.live(at=utc(begin + 310).strftime("%Y-%m-%dT%H:%M:%S"))] == ["a", "b"]
    most = control.busiest(tag=("task", "train"))
    assert (most["most"], most["at"]) == (2, pytest.approx(begin + 300, abs=0.01))


def test_the_commands_change_what_runs(server, command, tmp_path):
    server.sandbox.call("CreateTrainingJob", training(Tags=TAG))
    command("set", f"{G5}=1", "--quota", f"{G5} for training job usage=7", "--rate", "ListTrainingJobs=0.001")
    assert status(server) == "Training"
    command("set", "--speed", "2", "--advance", "10m")
    assert status(server) == "Completed"
    command("plan", "december", f"{P5}=1", "--lasts", "2h")
    command("fail-job", "on-plan", "--reason", "ClientError: no")
    server.sandbox.call("CreateTrainingJob", training("on-plan", single(P5, TrainingPlanArn=PLAN)))
    command("set", "--advance", "1s")
    assert status(server, "on-plan") == "Failed"
    file = tmp_path / "change.yaml"
    file.write_text("# a shortage\ncapacity: {ml.g5.xlarge: 0}\nspeed: 3\n")
    command("change", str(file))
    command("fail-call", "ListTrainingJobs", "--error", "drop")
    state = json.loads(command("state"))
    assert state["capacity"]["on_demand"] == {G5: 0}
    assert (state["speed"], state["quotas"]) == (3, {f"{G5} for training job usage": 7})
    assert json.loads(command("faults"))["operation"] == "ListTrainingJobs"
    command("faults", "--clear")
    assert command("faults") == ""
    assert "1 live at once" in command("live", "--tag", "task=train")
    lines = [json.loads(line) for line in command("record", "--what", "control").splitlines()]
    assert [line["sections"] for line in lines] == [
        ["capacity", "quotas", "rates"],
        ["advance", "speed"],
        ["plans"],
        ["job_faults"],
        ["advance"],
        ["capacity", "speed"],
        ["call_faults"],
        ["faults"],
    ]


def test_a_mistake_in_a_file_is_told_with_its_name_and_line(command, tmp_path):
    file = tmp_path / "change.yaml"
    file.write_text("speed: 3\nquotas:\n  ml.g5.xlarge: 1\n")
    with pytest.raises(InvalidSetting, match=r"change\.yaml, line 3: ml\.g5\.xlarge: expected a quota's name"):
        command("change", str(file))
    with pytest.raises(InvalidSetting, match="standard input, line 1: advance: expected a duration"):
        command("change", "-", input="advance: soon")


def test_what_is_not_a_sandbox_is_told():
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_):
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as other:
        thread = threading.Thread(target=other.handle_request, daemon=True)
        thread.start()
        with pytest.raises(InvalidSetting, match="is not a sandbox; start one with"):
            SandboxControl(f"http://127.0.0.1:{other.server_port}").state()
        thread.join()
