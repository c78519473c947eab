"""Everything of AWS that isn't ours: moto, in this process. The only module besides ``protocol`` that knows it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.responses import ActionResult
from moto.events.models import events_backends
from moto.events.utils import EventTemplateParser
from moto.iam.exceptions import NotFoundException
from moto.iam.models import get_account_id_from
from moto.iam.responses import IamResponse
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app

from airflow_sm_prefer.sandbox.permissions import Document, decide

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_transform = EventTemplateParser.parse

assert DEFAULT_ACCOUNT_ID == "123456789012", "the sandbox names it as the account of unknown keys"


def application() -> Application:
    """Return the WSGI application that answers for all other services."""
    # Roles are given AWS's own policies, such as AmazonSageMakerFullAccess.
    os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
    # Moto lacks this one; its dispatcher finds operations by their names.
    IamResponse.simulate_principal_policy = _simulate_principal_policy  # type: ignore[attr-defined]
    EventTemplateParser.parse = staticmethod(_target_input)  # type: ignore[method-assign]
    app: Application = DomainDispatcherApplication(create_backend_app)
    return app


def s3_application() -> Application:
    """Return the WSGI application that is S3 whatever it is asked for.

    The other one goes by the path or the body of a request without an Authorization header.
    """
    app: Application = create_backend_app("s3")
    return app


def account_of(access_key: str) -> str:
    """Return the account that an access key belongs to, as moto sees it."""
    return os.environ.get("MOTO_ACCOUNT_ID") or str(get_account_id_from(access_key))


def put_event(account: str, region: str, event: dict[str, Any]) -> None:
    """Put an event on the account's default bus; rules and their targets are moto's.

    A target that can't be reached is said on standard error, and changes nothing about the job.
    """
    try:
        events_backends[account][region].put_events([event])
    except Exception as error:  # noqa: BLE001, RUF100 - moto raises whatever its target raises
        sys.stderr.write(f"sandbox: an event could not be delivered: {error}\n")


def reset() -> None:
    """Forget all buckets, queues, roles and the rest."""
    moto_api_backend.reset()


class QuietHandler(MotoRequestHandler):
    """Serves requests without a line for each."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


def _target_input(input_template: str, input_paths_map: dict[str, Any], event: Any) -> dict[str, Any]:
    """Return what a target is sent of an event: all of it, unless its rule has an input transformer.

    Moto makes even the whole event from a template: that one lacks the account, takes text of the event's detail for
    names of its own, and needs a second.
    """
    if input_template:
        return _transform(input_template, input_paths_map, event)
    return {member: value for member, value in event.items() if member != "ingestion-time"}


def _simulate_principal_policy(response: IamResponse) -> ActionResult:
    """Answer IAM's SimulatePrincipalPolicy with a decision for each action on each resource.

    Raises:
        NotFoundException: there is no such role or user.
    """
    documents = list(_policies(response.backend, response._get_param("PolicySourceArn")))
    documents += [json.loads(text) for text in response._get_param("PolicyInputList", [])]
    results = [
        {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": decide(documents, action, resource)}
        for action in response._get_param("ActionNames", [])
        for resource in response._get_param("ResourceArns", ["*"])
    ]
    return ActionResult({"EvaluationResults": results, "IsTruncated": False})


def _policies(iam: Any, arn: str) -> Iterator[Document]:
    """Return a principal's policies; of the ARN of an assumed role, those of the role."""
    kind, *names = arn.rpartition(":")[2].split("/")
    if kind == "user" and names:
        principal = iam.get_user(names[-1])
    elif kind in {"role", "assumed-role"} and names:
        principal = iam.get_role(names[0] if kind == "assumed-role" else names[-1])
    else:
        raise NotFoundException(f"The principal {arn} cannot be found.")
    attached = [v.document for p in principal.managed_policies.values() for v in p.versions if v.is_default]
    yield from (json.loads(text) for text in (*principal.policies.values(), *attached))
