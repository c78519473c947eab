"""The request of a service job, made of that of a training job."""

from __future__ import annotations

import json
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.preference import Queue
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.queueing import (
    INNER_NAME_LIMIT,
    PAYLOAD_LIMIT,
    TAGS_LIMIT,
    Terms,
    client_token,
    inner_name,
    service_request,
)

IDENTITY = TaskIdentity("prod", "dag", "run", "train")
TRAINING: dict[str, Any] = {
    "TrainingJobName": "smpabc",
    "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1},
    "Tags": [{"Key": "sm-prefer:task", "Value": "dag/train"}],
}
P5 = Queue("p5")
PLAIN = Terms()
MODEL = botocore.session.get_session().get_service_model("batch")


def sent(training: dict[str, Any] = TRAINING, queue: Queue = P5, terms: Terms = PLAIN, **more: Any) -> dict[str, Any]:
    given = {"name": "nightly-1", "token": "t" * 64, "priority": None, **more}
    request = service_request(training, queue, terms, **given)
    shape = MODEL.operation_model("SubmitServiceJob").input_shape
    assert not ParamValidator().validate(request, shape).has_errors()
    return request


def of_size(size: int) -> dict[str, Any]:
    """Make a training job whose payload has so many bytes."""
    empty = {**TRAINING, "HyperParameters": {"long": ""}}
    missing = size - len(sent(empty)["serviceRequestPayload"])
    return {**empty, "HyperParameters": {"long": "x" * missing}}


def said(training: dict[str, Any], terms: Terms = PLAIN) -> str:
    with pytest.raises(InvalidRequest) as caught:
        sent(training, terms=terms)
    assert len(str(caught.value).splitlines()) <= 5
    return str(caught.value)


# -- the request ---------------------------------------------------------------------------------------------


def test_what_is_not_said_is_left_out() -> None:
    assert sent() == {
        "jobName": "nightly-1",
        "jobQueue": "p5",
        "serviceJobType": "SAGEMAKER_TRAINING",
        "serviceRequestPayload": json.dumps(
            {key: value for key, value in TRAINING.items() if key != "Tags"}, separators=(",", ":")
        ),
        "tags": {"sm-prefer:task": "dag/train"},
        "clientToken": "t" * 64,
    }


def test_all_that_is_said_is_sent() -> None:
    terms = Terms(
        retry_strategy={"attempts": 3},
        timeout={"attemptDurationSeconds": 60},
        preemption={"preemptionRetriesBeforeTermination": 0},
        tags={"team": "vision"},
    )
    request = sent(queue=Queue("p5", quota_share="research"), terms=terms, priority=0)
    assert request["schedulingPriority"] == 0
    assert request["quotaShareName"] == "research"
    assert "shareIdentifier" not in request
    assert request["retryStrategy"] == {"attempts": 3}
    assert request["timeoutConfig"] == {"attemptDurationSeconds": 60}
    assert request["preemptionConfiguration"] == {"preemptionRetriesBeforeTermination": 0}
    assert request["tags"] == {"team": "vision", "sm-prefer:task": "dag/train"}
    assert sent(queue=Queue("p5", "research"))["shareIdentifier"] == "research"


def test_tags_of_the_config_hold_where_the_operators_are_named_alike() -> None:
    training = {**TRAINING, "Tags": [{"Key": "team", "Value": "config"}]}
    assert sent(training, terms=Terms(tags={"team": "operator"}))["tags"] == {"team": "config"}
    assert sent({"TrainingJobName": "n"}, terms=Terms(tags={"team": "x"}))["tags"] == {"team": "x"}


# -- its limits ----------------------------------------------------------------------------------------------


def test_a_payload_is_taken_up_to_the_last_byte() -> None:
    assert len(sent(of_size(PAYLOAD_LIMIT))["serviceRequestPayload"]) == PAYLOAD_LIMIT
    message = said(of_size(PAYLOAD_LIMIT + 1))
    assert "10,241 bytes as JSON, and AWS Batch takes 10,240" in message
    assert "Shorten HyperParameters and Environment" in message


def test_characters_count_as_the_bytes_that_are_sent() -> None:
    training = of_size(PAYLOAD_LIMIT - 5)
    long = training["HyperParameters"]["long"]
    assert (
        len(sent({**training, "HyperParameters": {"long": long + "abcde"}})["serviceRequestPayload"]) == PAYLOAD_LIMIT
    )
    assert "10,241 bytes" in said({**training, "HyperParameters": {"long": long + "ü"}}), "it is sent as \\u00fc"


def test_a_request_may_be_too_large_though_its_payload_is_not() -> None:
    terms = Terms(tags={f"tag-{number}": "v" * 256 for number in range(48)})
    rules = [{"action": "RETRY", "onStatusReason": "r" * 512}] * 5
    heavy = Terms(retry_strategy={"attempts": 2, "evaluateOnExit": rules * 3}, tags=terms.tags)
    message = said(of_size(PAYLOAD_LIMIT - 1), heavy)
    assert "is, with its tags and all," in message
    assert "AWS Batch takes 30,720" in message


def test_there_may_be_fifty_tags_ours_among_them() -> None:
    tags = {f"tag-{number}": "x" for number in range(TAGS_LIMIT - 1)}
    assert len(sent(terms=Terms(tags=tags))["tags"]) == TAGS_LIMIT
    message = said(TRAINING, Terms(tags={**tags, "one": "more"}))
    assert "has 51 tags" in message
    assert "a service job takes 50" in message


@pytest.mark.parametrize(
    "tags", [{"": "x"}, {"k" * 129: "x"}, {"team": "v" * 257}, {"aws:team": "x"}, {"AWS:team": "x"}]
)
def test_a_tag_that_batch_does_not_take_is_refused(tags: dict[str, str]) -> None:
    message = said(TRAINING, Terms(tags=tags))
    assert "AWS Batch doesn't take that" in message
    assert "1 to 128 characters, not aws: first, and a value 256 at most" in message


def test_a_tag_is_taken_up_to_its_last_character() -> None:
    tags = {"k" * 128: "v" * 256, "empty": ""}
    assert tags.items() <= sent(terms=Terms(tags=tags))["tags"].items()


# -- names and tokens ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 99, 999_999])
def test_the_training_jobs_name_leaves_room_for_what_batch_adds(number: int) -> None:
    name = inner_name(IDENTITY, number)
    assert len(name) <= INNER_NAME_LIMIT
    assert len("AWSBatch" + name + "0" * 32) <= 63


def test_the_training_jobs_name_says_whose_it_is_and_which() -> None:
    assert inner_name(IDENTITY, 1) != inner_name(IDENTITY, 2)
    assert inner_name(IDENTITY, 1) != inner_name(TaskIdentity("prod", "dag", "run", "other"), 1)


def test_a_token_is_that_of_the_submission_whoever_makes_it() -> None:
    token = client_token(IDENTITY, 1)
    assert token == client_token(TaskIdentity("prod", "dag", "run", "train"), 1)
    assert 1 <= len(token) <= 64
    others = [
        client_token(IDENTITY, 2),
        client_token(TaskIdentity("test", "dag", "run", "train"), 1),
        client_token(TaskIdentity("prod", "dag", "other", "train"), 1),
        client_token(TaskIdentity("prod", "dag", "run", "train", 0), 1),
        client_token(TaskIdentity("prod", "dagrun", "", "train"), 1),
    ]
    assert len({token, *others}) == 6
