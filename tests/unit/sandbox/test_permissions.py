"""Which actions a role's policies allow."""

import pytest

from airflow_sm_prefer.sandbox.permissions import Decision, decide

CREATE = "sagemaker:CreateTrainingJob"
KEY = "arn:aws:s3:::bucket/key"


def policy(effect="Allow", action="*", resource="*", **more):
    return {"Version": "2012-10-17", "Statement": {"Effect": effect, "Action": action, "Resource": resource, **more}}


@pytest.mark.parametrize(
    ("documents", "action", "resource", "expected"),
    [
        ([], CREATE, "*", Decision.ALLOWED),
        ([policy()], CREATE, "*", Decision.ALLOWED),
        ([policy(action=["s3:*", "sagemaker:Create*"])], CREATE, "*", Decision.ALLOWED),
        ([policy(action="SageMaker:createtrainingjob")], CREATE, "*", Decision.ALLOWED),
        ([policy(action="sagemaker:CreateTrainingJo?")], CREATE, "*", Decision.ALLOWED),
        ([policy(action="s3:GetObject")], CREATE, "*", Decision.IMPLICIT_DENY),
        ([policy(action="sagemaker:Create")], CREATE, "*", Decision.IMPLICIT_DENY),
        ([policy(), policy("Deny", CREATE)], CREATE, "*", Decision.EXPLICIT_DENY),
        ([policy(resource="arn:aws:s3:::bucket/*")], "s3:PutObject", KEY, Decision.ALLOWED),
        ([policy(resource="arn:aws:s3:::other/*")], "s3:PutObject", KEY, Decision.IMPLICIT_DENY),
        ([policy(resource="arn:aws:s3:::BUCKET/*")], "s3:PutObject", KEY, Decision.IMPLICIT_DENY),
        ([policy(Condition={"StringEquals": {"a": "b"}})], CREATE, "*", Decision.IMPLICIT_DENY),
        ([{"Statement": [{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}]}], CREATE, "*", Decision.ALLOWED),
        (
            [{"Statement": [{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}]}],
            "iam:PassRole",
            "*",
            Decision.IMPLICIT_DENY,
        ),
        (
            [{"Statement": [{"Effect": "Deny", "Action": "*", "NotResource": KEY}, *[policy()["Statement"]]]}],
            "s3:PutObject",
            KEY,
            Decision.ALLOWED,
        ),
    ],
)
def test_policies_decide(documents, action, resource, expected):
    assert decide(documents, action, resource) is expected
