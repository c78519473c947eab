"""Clients for the sandbox's own endpoint, whatever the shell that it runs in says about AWS."""

from __future__ import annotations

import os
from typing import Any

from botocore.config import Config
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES
from botocore.session import Session


def sandbox_client(service: str, endpoint_url: str, region: str, account: str) -> Any:
    """Return a client that no profile, configuration file, proxy or ``AWS_*`` variable has a say in.

    Args:
        service: Its name for boto.
        endpoint_url: The sandbox.
        region: The Region's name.
        account: Whose it is.
    """
    # The second of the four is the variable of the environment that sets it.
    unset = {
        name: (key, None, default, conversion)
        for name, (key, _, default, conversion) in BOTOCORE_DEFAUT_SESSION_VARIABLES.items()
    }
    nowhere = dict.fromkeys(("config_file", "credentials_file"), (None, None, os.devnull, None))
    session = Session(session_vars={**unset, **nowhere})
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        s3={"addressing_style": "path"},
        proxies={},
    )
    return session.create_client(
        service,
        region_name=region,
        endpoint_url=endpoint_url,
        aws_access_key_id=account,  # the sandbox takes an account's number for a key of it
        aws_secret_access_key="sandbox",  # noqa: S106 - the sandbox takes any
        config=config,
    )
