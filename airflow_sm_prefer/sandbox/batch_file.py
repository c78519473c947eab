"""Reading the ``batch`` section of a scenario file: AWS's own Create requests, checked as AWS would check them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.model import StructureShape

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.making import make_environment, make_policy, make_queue, make_share
from airflow_sm_prefer.sandbox.batch.shown import KIND
from airflow_sm_prefer.sandbox.batch.spec import BatchSpec, Request, with_policy
from airflow_sm_prefer.sandbox.json_types import check_types
from airflow_sm_prefer.sandbox.shapes import Constraints, service_model
from airflow_sm_prefer.sandbox.yaml_nodes import Node

Make = Callable[[Estate, Request], Any]

KINDS: dict[str, tuple[str, Request, Make]] = {
    "environments": ("CreateServiceEnvironment", {"serviceEnvironmentType": KIND}, make_environment),
    "policies": ("CreateSchedulingPolicy", {}, make_policy),
    "queues": (
        "CreateJobQueue",
        {"jobQueueType": KIND},
        lambda estate, request: make_queue(estate, with_policy(estate, request), 0.0),
    ),
    "quota_shares": ("CreateQuotaShare", {}, lambda estate, request: make_share(estate, request, 0.0)),
}
"""What the section may have, in the order in which it is made: the operation, what may be left out, who makes it."""


def read_batch(node: Node) -> BatchSpec:
    """Read the section; everything in it is made once, for an account that is then forgotten."""
    members = node.members(KINDS)
    estate = Estate(Caller("123456789012", "us-east-1"))
    found = {
        name: tuple(_request(entry, name, estate) for entry in members[name].elements())
        for name in KINDS
        if name in members
    }
    return BatchSpec(**found)


def read_batch_change(node: Node) -> BatchSpec:
    """Read the part of the section that can change while a sandbox runs: the limits of environments."""
    node.members(("environments",))
    return read_batch(node)


def _request(node: Node, name: str, estate: Estate) -> Request:
    operation, defaults, make = KINDS[name]
    model = service_model("batch").operation_model(operation)
    shape = model.input_shape
    assert isinstance(shape, StructureShape)
    node.members(shape.members)
    request: Request = {**defaults, **node.plain()}
    try:
        check_types(shape, request)
        Constraints().check(model, request)
        make(estate, request)
    except ApiError as refused:
        raise node.error(refused.message) from None
    return request
