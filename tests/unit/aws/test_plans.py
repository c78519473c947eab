import logging
from datetime import UTC, datetime

import boto3
import pytest
from botocore.stub import Stubber

from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.aws.plans import PlansApi, plan_status
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.plans import PlanStatus

ARN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/nightly"
START = datetime(2026, 12, 1, tzinfo=UTC)
END = datetime(2026, 12, 8, tzinfo=UTC)


@pytest.fixture
def client():
    return boto3.client("sagemaker", region_name="us-west-2", aws_access_key_id="test", aws_secret_access_key="test")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def plans(client, clock):
    return PlansApi(client, Pacing(clock), clock)


def test_a_plan_is_asked_for_by_its_name_and_read(client, plans):
    answer = {
        "TrainingPlanArn": ARN,
        "TrainingPlanName": "nightly",
        "Status": "Active",
        "StartTime": START,
        "EndTime": END,
        "TotalInstanceCount": 8,
        "AvailableInstanceCount": 3,
        "InUseInstanceCount": 5,
        "ReservedCapacitySummaries": [
            {
                "ReservedCapacityArn": ARN.replace("training-plan/nightly", "reserved-capacity/one-capacity-block-11"),
                "InstanceType": "ml.p5.48xlarge",
                "TotalInstanceCount": 8,
                "Status": "Active",
            }
        ],
    }
    with Stubber(client) as stub:
        stub.add_response("describe_training_plan", answer, {"TrainingPlanName": "nightly"})
        assert plans.status(ARN) == PlanStatus(
            arn=ARN,
            status="Active",
            instance_types=frozenset({"ml.p5.48xlarge"}),
            available=3,
            in_use=5,
            total=8,
            start=START.timestamp(),
            end=END.timestamp(),
        )


def test_a_plan_that_says_little_is_read_too():
    status = plan_status({"TrainingPlanArn": ARN, "Status": "Pending"})
    assert (status.instance_types, status.available, status.start) == (frozenset(), 0, None)


def test_a_plan_that_may_not_be_read_is_none_and_a_warning(client, plans, caplog):
    with Stubber(client) as stub, caplog.at_level(logging.WARNING):
        stub.add_client_error("describe_training_plan", "AccessDeniedException", "not yours")
        assert plans.status(ARN) is None
    assert ARN in caplog.text
    assert "not yours" in caplog.text


def test_throttling_holds_the_next_read_back(client, plans, clock):
    with Stubber(client) as stub:
        stub.add_client_error("describe_training_plan", "ThrottlingException", "Rate exceeded")
        stub.add_response(
            "describe_training_plan", {"TrainingPlanArn": ARN, "TrainingPlanName": "n", "Status": "Active"}
        )
        assert plans.status(ARN) is None
        before = clock.time()
        assert plans.status(ARN) is not None
    assert clock.time() - before == pytest.approx(0.5)
