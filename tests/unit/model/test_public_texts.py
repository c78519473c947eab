"""Texts that people have met and published, each judged by the way it reaches us."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from airflow_sm_prefer.aws.answers import create_failed
from airflow_sm_prefer.aws.failures import FailureKind, classify
from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Judgement, Verdict, judge_end, judge_quota, judge_reason
from airflow_sm_prefer.placement.events import Refused

CAPACITY, BUSY, ZERO, THROTTLED = Verdict.CAPACITY, Verdict.QUOTA_BUSY, Verdict.QUOTA_ZERO, Verdict.THROTTLED
INFRASTRUCTURE, USER, UNFIT = Verdict.INFRASTRUCTURE, Verdict.USER_ERROR, Verdict.UNFIT_TYPE
INVALID = Verdict.REQUEST_INVALID

_LIMIT = "The account-level service limit '{}' is {} Instances, with current utilization of {} Instances and a request "
_LIMIT += "delta of {} Instances. Please contact AWS support to request an increase for this limit."
_MAX_RETRIES = "An error occurred (ThrottlingException) when calling the {} operation (reached max retries: 4): "
_MAX_RETRIES += "Rate exceeded"
_NO_TYPE = "The requested resource training-job/ml.p2.xlarge is not available in this region"
_SPOT_ONLY = "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true"
_PATTERN = "1 validation error detected: Value 'a_b' at 'trainingJobName' failed to satisfy constraint: Member must "
_PATTERN += "satisfy regular expression pattern: ^[a-zA-Z0-9](-*[a-zA-Z0-9])*"
_XGBOOST = "AlgorithmError: xgboost.core.XGBoostError: [02:14:02] device_helpers.cuh:393: Memory allocation error on "
_XGBOOST += "worker 0: std::bad_alloc: out_of_memory: CUDA error at: /opt/conda/include/rmm/mr/device"
_GPU_ONLY = "Instance type ml.c4.2xlarge is not supported by algorithm image-classification; only GPU instances are "
_GPU_ONLY += "supported."

#: Reasons that stand in a FailureReason, a status message or a Batch status reason.
REASONS = [
    (
        "CapacityError: Unable to provision requested ML compute capacity. "
        "Please retry using a different ML instance type.",
        CAPACITY,
    ),
    ("InsufficientCapacityError", CAPACITY),
    ("InsufficientCapacityError: no capacity within the pending time", CAPACITY),
    ("Insufficient capacity error from EC2 while launching instances, retrying!", CAPACITY),
    (
        "EC2InsufficientCapacityError: Instance type 'ml.g5.48xlarge' is temporarily unavailable in supported "
        "availability zones [euw1-az1]. Try again in a few minutes, or try a different instance type.",
        CAPACITY,
    ),
    ("Insufficient notebook instance capacity. Retry later or with a different instance type.", CAPACITY),
    (
        "InsufficientInstanceCapacity: We currently do not have sufficient g4dn.xlarge capacity in the Availability "
        "Zone you requested (us-east-1a).",
        CAPACITY,
    ),
    ("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Unable to provision requested compute resources", CAPACITY),
    ("Terminated by JobStateTimeLimit action due to reason: CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", CAPACITY),
    # https://github.com/DIAGNijmegen/rse-grand-challenge/issues/2631 and endpoints, which leave the class out
    (
        "Unable to provision requested ML compute capacity due to InsufficientInstanceCapacity error. "
        "Please retry using a different ML instance type.",
        CAPACITY,
    ),
    ("Unable to provision requested ML compute capacity. Please retry.", CAPACITY),
    ("Server.InsufficientInstanceCapacity: Insufficient capacity to satisfy instance request", CAPACITY),
    ("An error occurred (InsufficientInstanceCapacity) when calling the RunInstances operation: none", CAPACITY),
    (_MAX_RETRIES.format("CreateTrainingJob"), THROTTLED),
    (_MAX_RETRIES.format("DescribeProcessingJob"), THROTTLED),
    (_MAX_RETRIES.format("CreateTransformJob"), THROTTLED),
    ("Received status from SageMaker: ThrottlingException: Rate exceeded", THROTTLED),
    ("InternalServerError: We encountered an internal error. Please try again.", INFRASTRUCTURE),
    ("InternalServerError: We encountered an internal error.  Please try again.", INFRASTRUCTURE),
    ("Launched instance was unhealthy, replacing it!", INFRASTRUCTURE),
    ("Received status from SageMaker:InternalServerError: We encountered an internal error.", INFRASTRUCTURE),
    ("Request to service failed. If failure persists after retry, contact customer support.", INFRASTRUCTURE),
    ("InternalFailure: The request processing has failed because of an unknown error", INFRASTRUCTURE),
    ("ServiceUnavailableException: try again", INFRASTRUCTURE),
    # https://github.com/DIAGNijmegen/rse-grand-challenge/issues/2836: the accelerator is broken
    ("AlgorithmError: RuntimeError: CUDA error: uncorrectable ECC error encountered, exit code: 1", INFRASTRUCTURE),
    ("AlgorithmError: , exit code: 1", USER),
    ("AlgorithmError: Exit Code: 1", USER),
    ("AlgorithmError: See job logs for more information", USER),
    ('AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage "x"\nCommand "y"', USER),
    ('AlgorithmError: ExecuteUserScriptError:\nCommand "/opt/conda/bin/python3.6 train.py --epochs 3"', USER),
    ("AlgorithmError: framework error: Traceback (most recent call last)", USER),
    ("AlgorithmError: An error occurred (403) when calling the HeadObject operation: Forbidden", USER),
    ("AlgorithmError: Exit Code: 139", USER),  # https://github.com/aws/sagemaker-python-sdk/issues/134
    ("AlgorithmError: KeyError: 'SIGKILLS', exit code: 1320", USER),
    ("AlgorithmError: , exit code: 132", UNFIT),
    ("AlgorithmError: , exit code: 137", UNFIT),
    ('AlgorithmError: ExecuteUserScriptError:\nExitCode -9\nErrorMessage ""\nCommand "python train.py"', UNFIT),
    ("AlgorithmError: subprocess.CalledProcessError: Command died with <Signals.SIGKILL: 9>., exit code: 1", UNFIT),
    ("AlgorithmError: traceback : Signal 4 (SIGILL) received by PID 71, exit code: 1", UNFIT),
    (_XGBOOST, UNFIT),
    ("AlgorithmError: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", UNFIT),
    ("AlgorithmError: RuntimeError: CUDA error: out of memory", UNFIT),
    ("AlgorithmError: RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`", UNFIT),
    ("AlgorithmError: ResourceExhaustedError: OOM when allocating tensor with shape[64,512]", UNFIT),
    ("AlgorithmError: XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes", UNFIT),
    ("AlgorithmError: MemoryError: Unable to allocate 93.1 GiB for an array with shape (50000, 250000)", UNFIT),
    ("AlgorithmError: OSError: [Errno 12] Cannot allocate memory, exit code: 1", UNFIT),
    ("AlgorithmError: java.lang.OutOfMemoryError: Java heap space, exit code: 1", UNFIT),
    ("AlgorithmError: RuntimeError: CUDA error: no kernel image is available for execution on the device", UNFIT),
    ("AlgorithmError: CUDA driver version is insufficient for CUDA runtime version", UNFIT),
    # https://github.com/appvision-ai/fast-bert/issues/182
    ("AlgorithmError: RuntimeError: Found no NVIDIA driver on your system. Please check that you have one", UNFIT),
    ("AlgorithmError: cudaGetDeviceCount failed no CUDA-capable device is detected", UNFIT),
    ("AlgorithmError: RuntimeError: FlashAttention only supports Ampere GPUs or newer.", UNFIT),
    (
        "ClientError: Please use an instance type with more memory, or reduce the size of job data processed "
        "on an instance.",
        UNFIT,
    ),
    ("ClientError: Artifact upload failed:ClientError: Out of Memory. Please use a larger instance", UNFIT),
    ("ClientError: Please use a GPU instance for training", UNFIT),
    ("ClientError: Data download failed:Insufficient disk space", USER),
    ("ClientError: Artifact upload failed:Insufficient disk space", USER),
    ("ClientError: Data download failed:Unable to download object s3://b/k (AccessDenied: Access Denied)", USER),
    (
        "ClientError: \nData download failed:Please ensure that the subnet's route table has a route to\n"
        "an S3 VPC endpoint or a NAT device",
        USER,
    ),
    # https://github.com/aws/sagemaker-python-sdk/issues/35
    ("ClientError: SageMaker was unable to assume the role 'arn:aws:iam::123456789012:role/SageMakerRole'", USER),
    ("Cannot pull algorithm container. Either the image does not exist or its permissions are incorrect.", USER),
    ("ClientError: Cannot pull algorithm container. Either the image does not exist", USER),
    (
        "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) associated with the job queue "
        "cannot meet the capacity requirement of the job.",
        Verdict.QUEUE_UNFIT,
    ),
    ("MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED", Verdict.QUEUE_UNFIT),
    (
        "PREEMPTION_IN_PROGRESS: Cross-share preemption triggered to reclaim borrowed capacity",
        Verdict.SPOT_INTERRUPTION,
    ),
    ("Received status from SageMaker: ValidationException: nothing of the kind", INVALID),
    ("Received status from SageMaker: AccessDeniedException: User is not authorized to perform it", INVALID),
    (
        "Received status from SageMaker: ResourceLimitExceeded: "
        + _LIMIT.format("ml.p5.48xlarge for training job usage", 0, 0, 1),
        ZERO,
    ),
    (
        "Received status from SageMaker: ResourceLimitExceeded: "
        + _LIMIT.format("ml.p5.48xlarge for training job usage", 4, 4, 1),
        BUSY,
    ),
]


@pytest.mark.parametrize(("reason", "verdict"), REASONS)
def test_a_published_reason_has_its_meaning(reason: str, verdict: Verdict) -> None:
    judgement = judge_end(Observation("job", "Failed", failure_reason=reason))
    assert judgement.verdict is verdict
    assert judgement.text == reason


@pytest.mark.parametrize(
    "said",
    [
        "CapacityError: none left",
        "CapacityError: Unable to provision requested ML compute capacity.",
        "InternalServerError",
        "ThrottlingException",
        "ResourceLimitExceeded: 0",
        "An error occurred (ThrottlingException) when calling the PutObject operation: Rate exceeded",
        "Launched instance was unhealthy, replacing it!",
    ],
)
@pytest.mark.parametrize("form", ["AlgorithmError: {}, exit code: 1", "AlgorithmError: ExecuteUserScriptError:\n{}"])
def test_what_a_script_prints_is_the_scripts_own(form: str, said: str) -> None:
    assert judge_reason(form.format(said)).verdict is USER


@pytest.mark.parametrize(
    "reason",
    [
        "Something  entirely new.\nOn two lines.",
        "We saw a CapacityError once.",
        "InsufficientFunds: pay first",
        "UnheardError: CapacityError: none",
        "An error occurred (Unheard) when calling the CreateTrainingJob operation: no",
    ],
)
def test_an_unknown_reason_is_shown_word_for_word(reason: str) -> None:
    assert judge_reason(reason) == Judgement(Verdict.UNKNOWN, reason)


def refused(code: str, message: str, operation: str = "CreateTrainingJob") -> Refused:
    error = ClientError({"Error": {"Code": code, "Message": message}}, operation)
    heard = create_failed(classify(error, operation))
    assert isinstance(heard, Refused)
    return heard


@pytest.mark.parametrize(
    ("code", "message", "verdict"),
    [
        ("ResourceLimitExceeded", _LIMIT.format("ml.p3.2xlarge for training job usage", 0, 0, 1), ZERO),
        ("ResourceLimitExceeded", _LIMIT.format("ml.p3.8xlarge for training job usage", 2, 3, 1), BUSY),
        ("ResourceLimitExceeded", _LIMIT.format("Number of instances across all processing jobs", 4, 0, 11), ZERO),
        ("ResourceLimitExceeded", _NO_TYPE, Verdict.TYPE_UNAVAILABLE),
        ("ThrottlingException", "Rate exceeded", THROTTLED),
        ("ValidationException", _SPOT_ONLY, INVALID),
        ("ValidationException", _PATTERN, INVALID),
        ("ValidationException", _GPU_ONLY, INVALID),  # https://github.com/aws/amazon-sagemaker-examples/issues/1951
        ("AccessDeniedException", "User: arn:aws:iam::123456789012:user/a is not authorized", INVALID),
    ],
)
def test_a_published_refusal_has_its_meaning(code: str, message: str, verdict: Verdict) -> None:
    judgement = refused(code, message).judgement
    assert judgement.verdict is verdict
    assert judgement.text.endswith(message)


def test_a_refusal_of_a_kind_never_seen_is_unknown() -> None:
    judgement = refused("BrandNewException", "no such luck").judgement
    assert judgement == Judgement(Verdict.UNKNOWN, "BrandNewException: no such luck")


@pytest.mark.parametrize("operation", ["CreateTrainingJob", "DescribeProcessingJob", "CreateTransformJob"])
def test_any_call_can_be_throttled(operation: str) -> None:
    error = ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, operation)
    assert classify(error, operation).kind is FailureKind.THROTTLED


@pytest.mark.parametrize(
    ("text", "verdict", "named"),
    [
        (
            "The account-level service limit for training-job/ml.p2.xlarge is 0 Instances, with current utilization "
            "of 0 Instances and a request delta of 2 Instances.",
            ZERO,
            "ml.p2.xlarge",
        ),
        (_LIMIT.format("ml.p3dn.24xlarge\nfor training job usage", 0, 0, 1), ZERO, "ml.p3dn.24xlarge"),
        (_LIMIT.format("ml.g5.xlarge for spot training job usage", 4, 4, 1), BUSY, "ml.g5.xlarge"),
        (_LIMIT.format("ml.g4dn.2xlarge for processing job usage", 0, 0, 1), ZERO, "ml.g4dn.2xlarge"),
        (_LIMIT.format("Number of instances across all training jobs", 20, 19, 2), BUSY, None),
        (_LIMIT.format("Number of instances across all spot training jobs", 1, 0, 2), ZERO, None),
        (
            "The account-level service limit 'ml.g4dn.xlarge for training job usage' is 1 Instances",
            BUSY,
            "ml.g4dn.xlarge",
        ),
        ("The account-level service limit 'ml.m5.large for training job usage' is 0 Instances", ZERO, "ml.m5.large"),
        (
            "The account-level service limit 'Longest run time for a training job' is 432000 Seconds, with current "
            "utilization of 0 Seconds and a request delta of 864000 Seconds.",
            ZERO,
            None,
        ),
        (
            # https://github.com/aws/sagemaker-python-sdk/issues/4939
            "The request delta of 1025 GBs for 'Size of EBS volume for a processing job instance' is greater than the "
            "account-level service-limit of 1024 GBs. Please use AWS Service Quotas to request an increase.",
            ZERO,
            None,
        ),
        ("Too many resources of some other kind.", BUSY, None),
    ],
)
def test_a_published_quota_is_told_busy_from_too_small(text: str, verdict: Verdict, named: str | None) -> None:
    assert judge_quota(text) == Judgement(verdict, text, named)


def stopped(secondary: str, capacity_at: float | None = None) -> Observation:
    return Observation("job", "Stopped", secondary=secondary, created=1000.0, capacity_at=capacity_at, ended=1100.0)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (stopped("MaxPendingTimeExceeded"), CAPACITY),
        (stopped("MaxWaitTimeExceeded"), CAPACITY),
        (stopped("MaxWaitTimeExceeded", 1010.0), Verdict.SPOT_INTERRUPTION),
        (stopped("MaxRuntimeExceeded", 1010.0), Verdict.LIMIT_REACHED),
        (stopped("Stopped", 1010.0), Verdict.STOPPED),
        (stopped("Stopped"), Verdict.STOPPED),
    ],
)
def test_a_stop_has_its_meaning_by_its_secondary_status(seen: Observation, verdict: Verdict) -> None:
    assert judge_end(seen).verdict is verdict


@pytest.mark.parametrize("secondary", ["Interrupted", "Pending", "Restarting", "SomethingNew"])
def test_a_job_that_goes_on_is_not_judged_by_its_secondary_status(secondary: str) -> None:
    assert not Observation("job", "InProgress", secondary=secondary).is_terminal


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Requested resource not found.", FailureKind.NOT_FOUND),
        ("The request was rejected because the training job is in status Completed", FailureKind.BENIGN_STOP),
        ("Could not find job to update with name arn:aws:sagemaker:x", FailureKind.BENIGN_STOP),
        ("1 validation error detected", FailureKind.INVALID),
    ],
)
def test_a_stop_that_comes_too_late_is_no_error(message: str, kind: FailureKind) -> None:
    error = ClientError({"Error": {"Code": "ValidationException", "Message": message}}, "StopTrainingJob")
    assert classify(error, "StopTrainingJob").kind is kind
