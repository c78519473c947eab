"""ARNs of training plans."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from airflow_sm_prefer.errors import InvalidInput
from airflow_sm_prefer.model.written import shown

#: SageMaker API reference, ``TrainingPlanArn``.
_ARN = re.compile(r"arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:training-plan/.*")
_SHORTEST, _LONGEST = 50, 2048


def check_plan_arn(value: Any, place: str, refuse: Callable[[str, str, str], InvalidInput]) -> str:
    """Return the ARN of a training plan.

    Args:
        value: What was written.
        place: Where.
        refuse: Makes the error, of a place, a problem and a remedy.

    Raises:
        InvalidInput: it isn't the ARN of a training plan.
    """
    arn = value.strip() if isinstance(value, str) else ""
    if _SHORTEST <= len(arn) <= _LONGEST and _ARN.fullmatch(arn):
        return arn
    remedy = "It looks like arn:aws:sagemaker:us-east-1:123456789012:training-plan/my-plan."
    raise refuse(place, f"{shown(value)} is not the ARN of a training plan", remedy)
