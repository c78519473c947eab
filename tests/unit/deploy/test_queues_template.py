"""The CloudFormation template and the code mean the same queues, metrics and events."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.model.queues import ANY_TYPE, TimeLimit
from airflow_sm_prefer.placement.queue_metrics import NAMESPACE, QUEUE_DIMENSION, SHARE_DIMENSION, Metric
from tests.unit.deploy.cloudformation import load

TEMPLATE = Path(__file__).parents[3] / "deploy" / "queues.yaml"
DOCUMENT: dict[str, Any] = load(TEMPLATE)
RESOURCES: dict[str, Any] = DOCUMENT["Resources"]
PARAMETERS: dict[str, Any] = DOCUMENT["Parameters"]
FAMILIES = ("P5", "P4d", "G5")


def of_type(kind: str) -> dict[str, Any]:
    return {name: r["Properties"] for name, r in RESOURCES.items() if r["Type"] == kind}


def alarmed() -> list[dict[str, Any]]:
    """Return every metric that an alarm looks at."""
    plain = [a for a in of_type("AWS::CloudWatch::Alarm").values() if "MetricName" in a]
    queries = [q for a in of_type("AWS::CloudWatch::Alarm").values() for q in a.get("Metrics", ())]
    return plain + [q["MetricStat"]["Metric"] | {"Unit": q["MetricStat"]["Unit"]} for q in queries if "MetricStat" in q]


def test_its_alarms_are_on_metrics_that_are_published_in_their_units():
    ours = [metric for metric in alarmed() if metric["Namespace"] == {"Ref": "MetricsNamespace"}]
    assert sorted(metric["MetricName"] for metric in ours) == ["IdleInstances"] * 3 + ["OldestWait"] * 3
    for metric in ours:
        assert metric["Unit"] == Metric(metric["MetricName"]).unit
        assert [dimension["Name"] for dimension in metric["Dimensions"]] == [QUEUE_DIMENSION]
    assert PARAMETERS["MetricsNamespace"]["Default"] == NAMESPACE


def test_its_alarms_are_on_the_queues_that_it_makes():
    queues = [queue["JobQueueName"] for queue in of_type("AWS::Batch::JobQueue").values()]
    names = [m["Dimensions"][0]["Value"] for m in alarmed() if m["Namespace"] == {"Ref": "MetricsNamespace"}]
    assert len(queues) == len(FAMILIES)
    assert all(names.count(queue) == 2 for queue in queues)


def test_failures_are_counted_by_the_rule_that_matches_them():
    (failures,) = [metric for metric in alarmed() if metric["Namespace"] == "AWS/Events"]
    assert failures["Dimensions"] == [{"Name": "RuleName", "Value": {"Ref": "FailedRule"}}]
    pattern = RESOURCES["FailedRule"]["Properties"]["EventPattern"]
    assert pattern["detail"]["status"] == ["FAILED"]
    assert [queue["Fn::If"][1] for queue in pattern["detail"]["jobQueue"]] == [{"Ref": f"{f}Queue"} for f in FAMILIES]


def test_its_dashboard_is_json_and_shows_every_metric_by_queue_or_share():
    (board,) = of_type("AWS::CloudWatch::Dashboard").values()
    text = re.sub(
        r"\$\{(\w+)\}", lambda m: str(PARAMETERS.get(m[1], {}).get("Default", m[1])), board["DashboardBody"]["Fn::Sub"]
    )
    widgets = json.loads(text.replace("${AWS::Region}", "eu-west-1"))["widgets"]
    expressions = [w["properties"]["metrics"][0][0]["expression"] for w in widgets if w["type"] == "metric"]
    shown = {re.search(r'MetricName="(\w+)"', expression)[1] for expression in expressions}  # type: ignore[index]
    assert shown == {metric.value for metric in Metric}
    schemas = {re.search(r"\{(.+?)\}", expression)[1] for expression in expressions}  # type: ignore[index]
    assert schemas == {f"{NAMESPACE},{QUEUE_DIMENSION}", f"{NAMESPACE},{QUEUE_DIMENSION},{SHARE_DIMENSION}"}


def test_its_time_limits_are_those_that_a_file_may_have():
    limits = [
        limit for queue in of_type("AWS::Batch::JobQueue").values() for limit in queue["JobStateTimeLimitActions"]
    ]
    written = [limit["Fn::If"][1] if "Fn::If" in limit else limit for limit in limits]
    assert {limit["Reason"] for limit in written} == {reason.value for reason in TimeLimit}
    assert {(limit["State"], limit["Action"]) for limit in written} == {("RUNNABLE", "TERMINATE")}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_an_environment_a_queue_on_it_and_a_share_for_each_team(family):
    (limit,) = RESOURCES[f"{family}Environment"]["Properties"]["CapacityLimits"]
    assert limit["CapacityUnit"] == {"Fn::If": ["QuotaShares", {"Ref": f"{family}Type"}, ANY_TYPE]}
    assert limit["MaxCapacity"] == {"Ref": f"{family}Instances"}
    (order,) = RESOURCES[f"{family}Queue"]["Properties"]["ServiceEnvironmentOrder"]
    assert order["ServiceEnvironment"] == {"Ref": f"{family}Environment"}
    shares = [s for s in of_type("AWS::Batch::QuotaShare").values() if s["JobQueue"] == {"Ref": f"{family}Queue"}]
    assert [share["QuotaShareName"] for share in shares] == [{"Ref": "TeamOne"}, {"Ref": "TeamTwo"}]
    (place,) = {share["CapacityLimits"][0]["MaxCapacity"]["Fn::Select"][0] for share in shares}
    assert int(place) == FAMILIES.index(family)


@pytest.mark.parametrize("place", range(len(FAMILIES)))
def test_what_the_teams_own_by_default_is_what_there_is(place):
    owned = sum(int(PARAMETERS[f"{team}Quotas"]["Default"].split(",")[place]) for team in ("TeamOne", "TeamTwo"))
    assert owned == PARAMETERS[f"{FAMILIES[place]}Instances"]["Default"]


def test_its_events_go_to_an_encrypted_queue_that_only_its_rule_may_write_to():
    queues = of_type("AWS::SQS::Queue")
    assert all(queue["SqsManagedSseEnabled"] for queue in queues.values())
    assert queues["Events"]["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": "DeadEvents.Arn"}
    allow, deny = RESOURCES["EventsPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert allow["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": "EventsRule.Arn"}}}
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    pattern = RESOURCES["EventsRule"]["Properties"]["EventPattern"]
    assert pattern["source"] == ["aws.batch", "aws.sagemaker"]
    assert "Batch Service Job State Change" in pattern["detail-type"]
    assert "SageMaker Training Job State Change" in pattern["detail-type"]
