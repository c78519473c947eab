"""Everything of AWS that isn't ours: moto, in this process. The only module besides ``protocol`` that knows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.events.models import events_backends
from moto.iam.models import get_account_id_from
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

assert DEFAULT_ACCOUNT_ID == "123456789012", "the sandbox names it as the account of unknown keys"


def application() -> Application:
    """Return the WSGI application that answers for all other services."""
    app: Application = DomainDispatcherApplication(create_backend_app)
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
