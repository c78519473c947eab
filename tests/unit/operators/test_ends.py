"""What a task ends with: exceptions, lineage and output files."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from botocore.exceptions import ClientError

from airflow_sm_prefer import errors
from airflow_sm_prefer.aws.answers import create_failed, look_failed
from airflow_sm_prefer.aws.failures import CallFailure, FailureKind
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.operators.failures import failure
from airflow_sm_prefer.operators.lineage import inputs_of, outputs_of
from airflow_sm_prefer.operators.outputs import check_output_files, read_output_files
from airflow_sm_prefer.placement.events import NoAnswer, Refused


@pytest.mark.parametrize(
    ("verdict", "raised"),
    [
        (Verdict.CAPACITY, errors.CapacityTimeout),
        (Verdict.QUOTA_BUSY, errors.QuotaExceeded),
        (Verdict.QUOTA_ZERO, errors.QuotaTooSmall),
        (Verdict.TYPE_UNAVAILABLE, errors.QuotaTooSmall),
        (Verdict.INFRASTRUCTURE, errors.InfrastructureFailure),
        (Verdict.SPOT_INTERRUPTION, errors.InfrastructureFailure),
        (Verdict.UNFIT_TYPE, errors.UnfitInstanceType),
        (Verdict.USER_ERROR, errors.UserCodeError),
        (Verdict.REQUEST_INVALID, errors.RequestRejected),
        (Verdict.LIMIT_REACHED, errors.LimitReached),
        (Verdict.STOPPED, errors.JobStopped),
        (Verdict.LOST, errors.JobLost),
        (Verdict.CREDENTIALS, errors.CredentialsUnavailable),
        (Verdict.UNREACHABLE, errors.CredentialsUnavailable),
        (Verdict.UNKNOWN, errors.UnknownFailure),
    ],
)
def test_each_verdict_has_its_exception_and_only_a_refused_request_is_not_retried(
    verdict: Verdict, raised: type[errors.JobFailed]
) -> None:
    error = failure(Judgement(verdict, "AWS's words"), "job-1")
    assert isinstance(error, raised)
    assert isinstance(error, errors.JobFailed)
    assert isinstance(error, AirflowFailException) is (verdict is Verdict.REQUEST_INVALID)
    assert str(error) == "job-1: AWS's words"


@pytest.mark.parametrize(
    ("verdict", "raised", "is_retried", "remedy"),
    [
        (Verdict.QUEUE_UNFIT, errors.QueueUnfit, True, "Ask for fewer instances, or raise the limits"),
        (Verdict.QUEUE_REFUSED, errors.RequestRejected, False, "See that the queue exists, is enabled"),
    ],
)
def test_a_queue_that_does_not_do_is_told_with_batchs_words_and_the_remedy(
    verdict: Verdict, raised: type[errors.JobFailed], is_retried: bool, remedy: str
) -> None:
    error = failure(Judgement(verdict, "Batch's words"), "job-1")
    assert isinstance(error, raised)
    assert isinstance(error, AirflowFailException) is not is_retried
    assert str(error).startswith(f"job-1: Batch's words\n{remedy}")


def test_what_batch_does_not_take_is_its_queues_refusal_word_for_word() -> None:
    refused = create_failed(CallFailure(FailureKind.INVALID, "ClientException", "it is DISABLED", "SubmitServiceJob"))
    assert refused == Refused(Judgement(Verdict.QUEUE_REFUSED, "ClientException: it is DISABLED"))


def test_a_failure_before_there_was_a_job_names_none() -> None:
    assert str(failure(Judgement(Verdict.CAPACITY, "none"), "")) == "none"


def call(kind: FailureKind, *, no_answer: bool = False) -> CallFailure:
    return CallFailure(kind, "Code", "is 0 Instances", "CreateTrainingJob", no_answer)


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        (FailureKind.THROTTLED, Verdict.THROTTLED),
        (FailureKind.INVALID, Verdict.REQUEST_INVALID),
        (FailureKind.DENIED, Verdict.REQUEST_INVALID),
        (FailureKind.NOT_FOUND, Verdict.REQUEST_INVALID),
        (FailureKind.CREDENTIALS, Verdict.CREDENTIALS),
        (FailureKind.NETWORK, Verdict.UNREACHABLE),
        (FailureKind.SERVER, Verdict.UNREACHABLE),
        (FailureKind.LIMIT_EXCEEDED, Verdict.QUOTA_BUSY),
        (FailureKind.OTHER, Verdict.UNKNOWN),
    ],
)
def test_a_refused_create_is_judged(kind: FailureKind, verdict: Verdict) -> None:
    answer = create_failed(call(kind))
    assert isinstance(answer, Refused)
    assert answer.judgement.verdict is verdict


@pytest.mark.parametrize("kind", [FailureKind.NETWORK, FailureKind.SERVER, FailureKind.OTHER])
def test_a_create_that_may_have_arrived_is_no_refusal(kind: FailureKind) -> None:
    assert isinstance(create_failed(call(kind, no_answer=True)), NoAnswer)


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        (FailureKind.NOT_FOUND, Verdict.LOST),
        (FailureKind.CREDENTIALS, Verdict.CREDENTIALS),
        (FailureKind.DENIED, Verdict.CREDENTIALS),
        (FailureKind.THROTTLED, Verdict.UNREACHABLE),
        (FailureKind.NETWORK, Verdict.UNREACHABLE),
    ],
)
def test_a_failed_look_says_nothing_about_the_job(kind: FailureKind, verdict: Verdict) -> None:
    assert look_failed(call(kind)).judgement.verdict is verdict


# -- lineage -------------------------------------------------------------------------------------------------


def test_lineage_names_what_a_training_job_reads_and_writes() -> None:
    described = {
        "InputDataConfig": [{"DataSource": {"S3DataSource": {"S3Uri": "s3://b/train"}}}, {"DataSource": {}}],
        "ModelArtifacts": {"S3ModelArtifacts": "s3://b/model.tar.gz"},
    }
    assert list(inputs_of(described)) == ["s3://b/train"]
    assert list(outputs_of(described)) == ["s3://b/model.tar.gz"]


def test_lineage_names_what_a_processing_job_reads_and_writes() -> None:
    described = {
        "ProcessingInputs": [{"S3Input": {"S3Uri": "s3://b/raw"}}, {"DatasetDefinition": {}}],
        "ProcessingOutputConfig": {"Outputs": [{"S3Output": {"S3Uri": "s3://b/out"}}, {"FeatureStoreOutput": {}}]},
    }
    assert list(inputs_of(described)) == ["s3://b/raw"]
    assert list(outputs_of(described)) == ["s3://b/out"]


def test_lineage_of_nothing_is_empty() -> None:
    assert [*inputs_of({}), *outputs_of({})] == []


# -- output files --------------------------------------------------------------------------------------------


class S3:
    def __init__(self, **objects: bytes) -> None:
        self.objects = {f"out/{name}.json": body for name, body in objects.items()}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey", "Message": "no such key"}}, "GetObject")
        return {"Body": io.BytesIO(self.objects[Key])}


OUTPUTS = [{"OutputName": "evaluation", "S3Output": {"S3Uri": "s3://bucket/out/"}}]


def wanted(name: str, output: str = "evaluation") -> dict[str, str]:
    return {"output_name": output, "file_name": f"{name}.json", "result_name": name}


def test_small_json_files_become_part_of_the_result() -> None:
    read = read_output_files(S3(metrics=json.dumps({"mse": 1}).encode()), OUTPUTS, [wanted("metrics")])
    assert read == {"metrics": {"mse": 1}}


def test_a_file_that_is_missing_or_is_no_json_says_so_and_fails_nothing() -> None:
    read = read_output_files(S3(bad=b"<html>"), OUTPUTS, [wanted("gone"), wanted("bad"), wanted("x", "other")])
    assert "no such key" in read["gone"]["_error"]
    assert "holds no JSON" in read["bad"]["_error"]
    assert "x" not in read


def test_an_entry_that_lacks_a_key_is_refused_by_its_number() -> None:
    check_output_files([wanted("metrics")])
    with pytest.raises(InvalidSetting, match="entry 2: file_name, result_name"):
        check_output_files([wanted("metrics"), {"output_name": "evaluation"}])
