"""The training jobs behind service jobs: made by CreateTrainingJob's rules, from a payload that nobody has checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.json_types import check_types, known_members
from airflow_sm_prefer.sandbox.pace import Moment
from airflow_sm_prefer.sandbox.shapes import Constraints, service_model

PREFIX = "AWSBatch"
NAME_LENGTH = 63
"""Of a training job; a prefix and 32 digits leave 23 characters of the payload's own."""

TakeIn = Callable[[Caller, dict[str, Any], Moment], dict[str, Any]]
"""Takes in a valid training job, and returns CreateTrainingJob's answer."""


class TrainingMaker:
    """Makes training jobs.

    Args:
        take_in: Takes them in.
        constraints: What botocore's model allows.
    """

    def __init__(self, take_in: TakeIn, constraints: Constraints) -> None:
        self._take_in = take_in
        self._constraints = constraints
        self._operation = service_model("sagemaker").operation_model("CreateTrainingJob")

    def make(self, job: ServiceJob, name: str, now: Moment) -> str:
        """Make a training job of that name for a service job, and return its ARN.

        It has the service job's tags beside its own. It doesn't count against the rate of CreateTrainingJob.

        Raises:
            ApiError: SageMaker refuses it.
        """
        payload = json.loads(job.request["serviceRequestPayload"])
        shape = self._operation.input_shape
        check_types(shape, payload)
        request: dict[str, Any] = known_members(shape, payload)
        if "TrainingJobName" in request:
            request["TrainingJobName"] = name
        tags = dict(job.tags) | {tag["Key"]: tag["Value"] for tag in request.get("Tags", []) if len(tag) == 2}
        if tags:
            request["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._constraints.check(self._operation, request)
        arn: str = self._take_in(Caller(job.account, job.region), request, now)["TrainingJobArn"]
        return arn


def attempt_name(request: Mapping[str, Any], digits: str) -> str:
    """Return the name of a training job for a SubmitServiceJob request, with 32 digits that it ends in."""
    own = json.loads(request["serviceRequestPayload"]).get("TrainingJobName", "")
    return f"{PREFIX}{str(own)[: NAME_LENGTH - len(PREFIX) - len(digits)]}{digits}"
