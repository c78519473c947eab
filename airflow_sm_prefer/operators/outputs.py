"""Small JSON files among a processing job's outputs, read into the task's result."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from airflow_sm_prefer.errors import InvalidSetting

log = logging.getLogger(__name__)

_KEYS = ("output_name", "file_name", "result_name")


def check_output_files(wanted: Iterable[Mapping[str, Any]]) -> None:
    """Refuse an entry that lacks a key, before the job runs and not after.

    Raises:
        InvalidSetting: it names the entry and the key.
    """
    for number, entry in enumerate(wanted, start=1):
        missing = [key for key in _KEYS if not entry.get(key)]
        if missing:
            msg = (
                f"output_files_to_xcom, entry {number}: {', '.join(missing)} is missing; {', '.join(_KEYS)} are needed."
            )
            raise InvalidSetting(msg)


def read_output_files(
    s3: Any, outputs: Sequence[Mapping[str, Any]], wanted: Iterable[Mapping[str, str]]
) -> dict[str, Any]:
    """Read the files; one that can't be read becomes ``{"_error": why}``, for the job itself has completed.

    Args:
        s3: A boto3 S3 client.
        outputs: The job's ProcessingOutputConfig.Outputs.
        wanted: Which files: ``output_name``, ``file_name``, and the ``result_name`` to give it.

    Returns:
        The parsed contents by ``result_name``; an output that the job doesn't have is left out, with a warning.
    """
    addresses = {output["OutputName"]: output.get("S3Output", {}).get("S3Uri", "") for output in outputs}
    read = {}
    for entry in wanted:
        address = addresses.get(entry["output_name"])
        if not address:
            log.warning("The job has no output named %r.", entry["output_name"])
            continue
        read[entry["result_name"]] = _read(s3, f"{address.rstrip('/')}/{entry['file_name']}")
    return read


def _read(s3: Any, address: str) -> Any:
    parts = urlsplit(address)
    try:
        body = s3.get_object(Bucket=parts.netloc, Key=parts.path.lstrip("/"))["Body"].read()
        return json.loads(body)
    except (ClientError, BotoCoreError) as error:
        log.warning("%s can't be read: %s", address, error)
        return {"_error": f"{address} can't be read: {error}"}
    except ValueError as error:
        log.warning("%s holds no JSON: %s", address, error)
        return {"_error": f"{address} holds no JSON: {error}"}
