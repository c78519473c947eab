import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

from airflow_sm_prefer.aws.json_clean import OMITTED_KEY, SIZE_LIMIT, json_clean

WHEN = datetime(2026, 11, 30, 3, 0, tzinfo=timezone(timedelta(hours=2)))
DESCRIBED = {
    "TrainingJobName": "n",
    "TrainingJobArn": "arn:aws:sagemaker:us-west-2:123456789012:training-job/n",
    "TrainingJobStatus": "Completed",
    "ModelArtifacts": {"S3ModelArtifacts": "s3://b/n/output/model.tar.gz"},
    "ResourceConfig": {
        "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}],
        "SelectedInstanceType": "ml.g5.xlarge",
    },
    "HyperParameters": {"epochs": "3"},
    "Environment": {"DB_PASSWORD": "hunter2"},
    "SecondaryStatusTransitions": [{"Status": "Training", "StartTime": WHEN}],
    "CreationTime": WHEN,
    "FinalMetricDataList": [{"MetricName": "loss", "Value": float("nan"), "Timestamp": WHEN}],
    "ResponseMetadata": {"RequestId": "1"},
}


def test_environment_transitions_and_metadata_go_and_the_rest_stays():
    clean = json_clean(DESCRIBED)
    assert set(DESCRIBED) - set(clean) == {"Environment", "SecondaryStatusTransitions", "ResponseMetadata"}
    assert "hunter2" not in json.dumps(clean)
    assert clean["HyperParameters"] == {"epochs": "3"}
    assert clean["ModelArtifacts"]["S3ModelArtifacts"] == "s3://b/n/output/model.tar.gz"
    assert OMITTED_KEY not in clean


def test_instants_are_text_with_their_zone():
    assert json_clean(DESCRIBED)["CreationTime"] == "2026-11-30T01:00:00+00:00"


def test_everything_is_what_json_has():
    odd = {
        "whole": Decimal(3),
        "part": Decimal("0.5"),
        "nothing": Decimal("NaN"),
        "endless": float("inf"),
        "flag": True,
        "none": None,
        "tuple": (1, {"a": datetime(2026, 1, 1, tzinfo=UTC)}),
        "set": {"x"},
        "bytes": b"b",
        "number": 1.5,
    }
    clean = json_clean(odd)
    assert json.loads(json.dumps(clean, allow_nan=False)) == {
        "whole": 3,
        "part": 0.5,
        "nothing": None,
        "endless": None,
        "flag": True,
        "none": None,
        "tuple": [1, {"a": "2026-01-01T00:00:00+00:00"}],
        "set": ["x"],
        "bytes": "b'b'",
        "number": 1.5,
    }
    assert isinstance(clean["whole"], int)


def test_a_big_response_loses_its_biggest_part_that_nobody_reads_and_says_so():
    big = {**DESCRIBED, "InputDataConfig": [{"ChannelName": "c" * SIZE_LIMIT}], "VpcConfig": {"Subnets": ["s"]}}
    clean = json_clean(big)
    assert clean[OMITTED_KEY] == ["InputDataConfig"]
    assert "InputDataConfig" not in clean
    assert clean["VpcConfig"] == {"Subnets": ["s"]}
    assert len(json.dumps(clean)) <= SIZE_LIMIT


def test_parts_go_one_by_one_until_it_fits():
    big = {"A": "a" * 400, "B": "b" * 500, "C": "c", "ModelArtifacts": {"S3ModelArtifacts": "s" * 900}}
    assert json_clean(big, size_limit=1_000)[OMITTED_KEY] == ["B", "A"]


def test_what_downstream_tasks_read_is_never_cut():
    big = {"ModelArtifacts": {"S3ModelArtifacts": "s" * (2 * SIZE_LIMIT)}}
    assert json_clean(big) == big


def test_the_response_itself_stays_whole():
    before = json.dumps(DESCRIBED, default=str)
    json_clean(DESCRIBED, size_limit=10)
    assert json.dumps(DESCRIBED, default=str) == before
