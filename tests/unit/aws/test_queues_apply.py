"""A change is done when AWS Batch calls the piece valid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer.aws.queues_apply import LOOK_EVERY, VALID_WITHIN, NotValid, QueuesWriter
from airflow_sm_prefer.aws.queues_there import There
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.queues import Fleet, ServiceEnvironment
from airflow_sm_prefer.placement.queues_difference import Change

NOTHING = There(Fleet(), {})
CHANGE = Change(ServiceEnvironment("p5", {"NUM_INSTANCES": 8}), None, (), {"team": "ml"})


class Client:
    """Batch with one environment, whose status is another at each look; the last one stays."""

    def __init__(self, *statuses: str) -> None:
        self.made: list[dict[str, Any]] = []
        self._statuses: Iterator[str] = iter(statuses)
        self._status = ""

    def create_service_environment(self, **request: Any) -> dict[str, Any]:
        self.made.append(request)
        return {"serviceEnvironmentName": "p5", "serviceEnvironmentArn": "arn:p5"}

    def describe_service_environments(self, serviceEnvironments: list[str]) -> dict[str, Any]:
        assert serviceEnvironments == ["arn:p5"]
        self._status = next(self._statuses, self._status)
        return {"serviceEnvironments": [{"serviceEnvironmentArn": "arn:p5", "status": self._status}]}


def test_a_piece_is_waited_for_until_it_is_valid():
    client, clock = Client("CREATING", "CREATING", "VALID"), FakeClock(0)
    QueuesWriter(client, clock).apply(CHANGE, NOTHING)
    assert client.made == [
        {
            "serviceEnvironmentName": "p5",
            "serviceEnvironmentType": "SAGEMAKER_TRAINING",
            "state": "ENABLED",
            "capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 8}],
            "tags": {"team": "ml"},
        }
    ]
    assert clock.time() == 2 * LOOK_EVERY


def test_a_piece_that_turns_out_invalid_is_told():
    with pytest.raises(NotValid, match="service environment p5 is invalid: AWS Batch says no more"):
        QueuesWriter(Client("CREATING", "INVALID"), FakeClock()).apply(CHANGE, NOTHING)


def test_a_piece_that_never_becomes_valid_is_given_up():
    clock = FakeClock(0)
    with pytest.raises(NotValid, match=r"service environment p5 is still CREATING after 5 min\. Run this again later"):
        QueuesWriter(Client("CREATING"), clock).apply(CHANGE, NOTHING)
    assert clock.time() == VALID_WITHIN
