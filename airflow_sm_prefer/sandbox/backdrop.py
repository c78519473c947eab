"""Everything of AWS that isn't ours: moto, in this process. The only module besides ``protocol`` that knows it."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.responses import ActionResult
from moto.core.utils import unix_time_millis
from moto.events.models import events_backends
from moto.events.utils import EventTemplateParser
from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.exceptions import NotFoundException
from moto.iam.models import AWSManagedPolicy, get_account_id_from, iam_backends
from moto.iam.responses import IamResponse
from moto.logs.models import logs_backends
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.s3.models import FakeBucket, FakeKey, S3Backend, s3_backends
from moto.sqs.models import Message, Queue

from airflow_sm_prefer.sandbox.permissions import Document, decide

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_transform = EventTemplateParser.parse

assert DEFAULT_ACCOUNT_ID == "123456789012", "the sandbox names it as the account of unknown keys"


def application() -> Application:
    """Return the WSGI application that answers for all other services."""
    # Moto lacks this one; its dispatcher finds operations by their names.
    IamResponse.simulate_principal_policy = _simulate_principal_policy  # type: ignore[attr-defined]
    EventTemplateParser.parse = staticmethod(_target_input)  # type: ignore[method-assign]
    _quicken_queues()
    moto: Application = DomainDispatcherApplication(create_backend_app)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if "/iam/aws4_request" in environ.get("HTTP_AUTHORIZATION", ""):
            _give_managed_policies(environ.get(ACCOUNT_VARIABLE) or DEFAULT_ACCOUNT_ID)
        return moto(environ, start_response)

    return answer


def s3_application() -> Application:
    """Return the WSGI application that is S3 whatever it is asked for.

    The other one goes by the path or the body of a request without an Authorization header.
    """
    app: Application = create_backend_app("s3")
    return app


def account_of(access_key: str) -> str:
    """Return the account that an access key belongs to: one that is an account's number, to that account.

    Who else has which key, moto knows, as long as it runs.
    """
    is_number = len(access_key) == len(DEFAULT_ACCOUNT_ID) and access_key.isdecimal()
    return os.environ.get("MOTO_ACCOUNT_ID") or (access_key if is_number else str(get_account_id_from(access_key)))


ACCOUNT_HEADER = "X-Moto-Account-Id"
"""Tells moto the account: it knows no keys but its own."""

ACCOUNT_VARIABLE = f"HTTP_{ACCOUNT_HEADER.upper().replace('-', '_')}"
"""The same in a WSGI environment."""


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


def bucket_names() -> list[str]:
    """Return the names of all buckets; they are unique over all accounts."""
    return list(s3_backends.bucket_accounts)


def object_keys(bucket: str) -> list[str]:
    """Return the keys of the objects in a bucket; none if there is no such bucket."""
    held = _bucket(bucket)
    return [] if held is None else [key for key in held[1].keys if _object(bucket, key) is not None]


def object_meta(bucket: str, key: str) -> dict[str, Any] | None:
    """Return what S3 knows of an object besides its content, JSON-clean; None if there is none.

    It is another one whenever the object is.
    """
    found = _object(bucket, key)
    if found is None:
        return None
    backend, held = found
    return {
        "metadata": dict(held.metadata),
        "storage": held.storage_class,
        "etag": held.etag.strip('"'),
        "modified": held.last_modified.isoformat(),
        "version": held.version_id,
        "encryption": held.encryption,
        "kms_key": held.kms_key_id,
        "checksum": [held.checksum_algorithm, held.checksum_value],
        "tags": backend.tagger.get_tag_dict_for_resource(held.arn),
    }


def object_content(bucket: str, key: str) -> bytes | None:
    """Return the content of an object, None if there is none."""
    found = _object(bucket, key)
    return None if found is None else bytes(found[1].value)


def put_object_back(bucket: str, key: str, content: bytes, meta: dict[str, Any]) -> None:
    """Give S3 an object that it had, as :func:`object_meta` and :func:`object_content` showed it.

    Its bucket is there, or the object is left out.
    """
    held = _bucket(bucket)
    if held is None:
        return
    backend, _ = held
    algorithm, checksum = meta["checksum"]
    new = backend.put_object(
        bucket,
        key,
        content,
        storage=meta["storage"],
        etag=meta["etag"],
        encryption=meta["encryption"],
        kms_key_id=meta["kms_key"],
        checksum_value=checksum,
        disable_notification=True,
    )
    new.metadata.clear()
    new.metadata.update(meta["metadata"])
    new.last_modified = datetime.fromisoformat(meta["modified"])
    new.checksum_algorithm = algorithm
    new._version_id = meta["version"]
    backend.tagger.tag_resource(new.arn, backend.tagger.convert_dict_to_tags_input(meta["tags"]))


def put_logs_back(account: str, region: str, group: str, stream: str | None, events: list[dict[str, Any]]) -> None:
    """Give CloudWatch Logs a log group, a stream of it, and lines that it had."""
    logs = logs_backends[account][region]
    if group not in logs.groups:
        logs.create_log_group(group, {})
    if stream is not None and stream not in logs.groups[group].streams:
        logs.create_log_stream(group, stream)
    if stream is not None and events:
        logs.groups[group].put_log_events(stream, events)


def _bucket(name: str) -> tuple[S3Backend, FakeBucket] | None:
    """Return a bucket, and the S3 of the account that owns it."""
    if name not in s3_backends.bucket_accounts:
        return None
    partition, account = s3_backends.bucket_accounts[name]
    backend = s3_backends[account][partition]
    return (backend, backend.buckets[name]) if name in backend.buckets else None


def _object(bucket: str, key: str) -> tuple[S3Backend, FakeKey] | None:
    """Return the latest version of an object; None for one that isn't there, or was deleted."""
    held = _bucket(bucket)
    if held is None or key not in held[1].keys:
        return None
    version = held[1].keys[key]
    return (held[0], version) if isinstance(version, FakeKey) else None


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


def _quicken_queues() -> None:
    """Let queues be full.

    Moto looks at the clock for every message that is there whenever it sends, receives or counts: receiving ten of six
    hundred takes half a second.
    """
    Queue.messages = property(_ready)  # type: ignore[method-assign, assignment]
    Queue.approximate_number_of_messages_delayed = property(_delayed)  # type: ignore[method-assign, assignment]
    Queue.approximate_number_of_messages_not_visible = property(_invisible)  # type: ignore[method-assign, assignment]


def _ready(queue: Queue) -> list[Message]:
    now = unix_time_millis()
    return [message for message in queue._messages if message.delayed_until <= now and message.visible_at < now]


def _delayed(queue: Queue) -> int:
    now = unix_time_millis()
    return sum(message.delayed_until > now for message in queue._messages)


def _invisible(queue: Queue) -> int:
    now = unix_time_millis()
    return sum(message.visible_at >= now for message in queue._messages)


def _give_managed_policies(account: str) -> None:
    """Let an account have AWS's own policies, such as AmazonSageMakerFullAccess, from its first call of IAM's on.

    Moto would make them for every account that calls anything at all, which takes it a quarter of a second.
    """
    iam = iam_backends[account]["aws"]
    with _giving:
        if not iam.aws_managed_policies:
            known = json.loads(aws_managed_policies_data)
            iam.aws_managed_policies = [
                AWSManagedPolicy.from_data(name, account, iam.region_name, data) for name, data in known.items()
            ]
            iam.managed_policies.update({policy.arn: policy for policy in iam.aws_managed_policies})


_giving = threading.Lock()


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
