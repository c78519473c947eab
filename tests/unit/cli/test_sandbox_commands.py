"""The commands that change a running sandbox: what each of them asks it for."""

import json
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from airflow_sm_prefer.cli.sandbox_commands import commands
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox import client


class Asked:
    """Stands for a running sandbox: keeps what it was asked for, and gives the answers it was given."""

    answers: ClassVar = {
        "state": {"call_faults": [{"operation": "*"}], "job_faults": [{"job": "a"}]},
        "most-live": {"most": 1, "at": 0.0, "jobs": [{"kind": "training", "name": "a", "account": "1", "region": "r"}]},
        "live": {"jobs": []},
        "record": [{"what": "call", "at": 1.0}],
    }

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, object]] = []

    def __call__(self, method, path, body=None):
        self.requests.append((method, path, json.loads(body) if body and body.startswith("{") else body))
        return self.answers.get(path.partition("?")[0], {})


@pytest.fixture
def asked(monkeypatch):
    asked = Asked()
    monkeypatch.setattr(client.SandboxControl, "_ask", staticmethod(asked))
    return asked


def run(*arguments: str, **more):
    result = CliRunner().invoke(commands, arguments, catch_exceptions=False, **more)
    assert result.exit_code == 0, result.output
    return result.stdout


CHANGES = [
    (["set", "ml.g5.xlarge=2", "ml.p5.48xlarge=0"], {"capacity": {"ml.g5.xlarge": 2, "ml.p5.48xlarge": 0}}),
    (["set", "ml.g5.xlarge=2", "--spot"], {"spot": {"ml.g5.xlarge": 2}}),
    (
        ["set", "--quota", "ml.p5.48xlarge for training job usage=2"],
        {"quotas": {"ml.p5.48xlarge for training job usage": 2}},
    ),
    (
        ["set", "--rate", "DescribeTrainingJob=0.5", "--rate", "ListTrainingJobs=off"],
        {"rates": {"DescribeTrainingJob": 0.5, "ListTrainingJobs": "off"}},
    ),
    (["set", "--speed", "60", "--advance", "1h 30m"], {"speed": 60.0, "advance": "1h 30m"}),
    (
        ["plan", "december", "ml.p5.48xlarge=2", "--starts", "10m"],
        {
            "plans": [
                {
                    "name": "december",
                    "type": "ml.p5.48xlarge",
                    "count": 2,
                    "blocks": [{"starts": "10m", "lasts": "24h"}],
                }
            ]
        },
    ),
    (
        ["fail-call", "CreateTrainingJob", "--error", "drop", "--takes-effect"],
        {
            "call_faults": [
                {
                    "operation": "CreateTrainingJob",
                    "error": "drop",
                    "job": "*",
                    "after": 0,
                    "times": 1,
                    "takes_effect": True,
                }
            ]
        },
    ),
    (
        ["fail-job", "nightly-*", "--after", "5m", "--reason", "ClientError: no"],
        {"job_faults": [{"job": "nightly-*", "after": "5m", "times": 1, "reason": "ClientError: no"}]},
    ),
]


@pytest.mark.parametrize(("arguments", "sections"), CHANGES, ids=lambda value: " ".join(value)[:40])
def test_a_command_is_one_change(asked, arguments, sections):
    run(*arguments)
    assert asked.requests == [("PUT", "scenario", sections)]


def test_a_plan_of_one_region(asked):
    run("plan", "december", "ml.p5.48xlarge=2", "--region", "us-east-1")
    assert asked.requests[0][2]["plans"][0]["region"] == "us-east-1"


def test_a_file_is_sent_as_it_is_and_called_by_its_name(asked, tmp_path):
    file = tmp_path / "shortage.yaml"
    file.write_text("capacity:\n  ml.g5.xlarge: 0\n")
    run("change", str(file))
    (method, path, body) = asked.requests[0]
    assert (method, body) == ("PUT", "capacity:\n  ml.g5.xlarge: 0\n")
    assert path.startswith("scenario?source=")
    assert path.endswith("shortage.yaml")


def test_a_dash_is_standard_input(asked):
    run("change", "-", input="speed: 2")
    assert asked.requests == [("PUT", "scenario?source=standard+input", "speed: 2")]


def test_faults_are_listed_and_cleared(asked):
    assert [json.loads(line) for line in run("faults").splitlines()] == [{"operation": "*"}, {"job": "a"}]
    run("faults", "--clear")
    assert asked.requests[-1] == ("DELETE", "faults", None)


def test_the_record_is_lines_of_json(asked):
    assert json.loads(run("record", "--what", "call", "--since", "3")) == {"what": "call", "at": 1.0}
    assert asked.requests == [("GET", "record?since=3&what=call", None)]


def test_the_state_is_json(asked):
    assert json.loads(run("state")) == Asked.answers["state"]


def test_who_was_live_at_an_instant_or_at_most(asked):
    assert run("live", "--at", "2026-11-30T09:00:00Z").splitlines() == ["0 live at 2026-11-30T09:00:00Z"]
    first, second = run("live", "--tag", "task=train", "--prefix", "a").splitlines()
    assert first == "1 live at once, at 1970-01-01T00:00:00+00:00"
    assert second.split() == ["training", "a", "1", "r"]
    assert [path for _, path, _ in asked.requests] == [
        "live?prefix=&at=2026-11-30T09%3A00%3A00Z",
        "most-live?prefix=a&tag=task%3Dtrain",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["set", "ml.g5.xlarge"], "expected TYPE=COUNT, as ml.g5.xlarge=2"),
        (["set", "--quota", "2"], "expected NAME=N, as 'ml.g5.xlarge for training job usage=2'"),
        (["set", "--rate", "ListTrainingJobs=fast"], "expected OPERATION=N or OPERATION=off"),
        (["plan", "december", "=2"], "expected TYPE=COUNT, as ml.p5.48xlarge=2"),
        (["live", "--tag", "train"], "expected KEY=VALUE, as task=train"),
        (["change", "/nowhere/shortage.yaml"], "/nowhere/shortage.yaml: can't be read"),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_bad_input_is_told_before_anything_is_asked(asked, arguments, words):
    with pytest.raises(InvalidSetting, match=r"expected|can't be read") as caught:
        run(*arguments)
    assert words in str(caught.value)
    assert asked.requests == []
