"""Clients for commands that need no Airflow: AWS's own settings, a Region and an endpoint."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError

from airflow_sm_prefer.aws.client_config import with_defaults
from airflow_sm_prefer.errors import InvalidSetting


class Clients:
    """Makes boto3 clients that behave as all of ours do."""

    def __init__(self, region: str | None = None, endpoint_url: str | None = None) -> None:
        """Take the Region and the endpoint; unset, they are those of AWS's own settings."""
        self._region = region
        self._endpoint_url = endpoint_url

    def __call__(self, service: str) -> Any:
        """Return a client of a service.

        Raises:
            InvalidSetting: there is no Region, or AWS's settings can't be read.
        """
        try:
            return boto3.client(
                service,
                region_name=self._region,
                endpoint_url=self._endpoint_url,
                config=with_defaults(None),
            )
        except (BotoCoreError, ValueError) as error:
            msg = (
                f"AWS can't be asked: {error} See --region, --endpoint-url, or AWS's own settings, such as AWS_PROFILE."
            )
            raise InvalidSetting(msg) from error
