"""ARNs of training plans, by the pattern and the lengths of AWS's model."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.plans import check_plan_arn
from airflow_sm_prefer.model.written import refused

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/p5"
LONGEST = ARN.ljust(2048, "x")
SHORTEST = "arn:aws:sagemaker:eu:123456789012:training-plan/".ljust(50, "x")


@pytest.mark.parametrize("arn", [ARN, f" {ARN}\n", ARN.replace("aws", "aws-us-gov"), LONGEST, SHORTEST])
def test_the_arn_of_a_plan_passes_without_blanks_around_it(arn):
    assert check_plan_arn(arn, "here", refused) == arn.strip()


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "",
        "p5",
        ARN.replace("training-plan", "training-job"),
        ARN.replace("12:", "1:"),
        LONGEST + "x",
        SHORTEST[:-1],
    ],
)
def test_anything_else_is_refused_with_an_example(value):
    with pytest.raises(InvalidPreference, match="is not the ARN of a training plan") as caught:
        check_plan_arn(value, "here", refused)
    assert "arn:aws:sagemaker:us-east-1:123456789012:training-plan/my-plan" in str(caught.value)
