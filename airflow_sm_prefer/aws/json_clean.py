"""A Describe response as a task's result: JSON, small, and without what nobody should read there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

#: Above this a result is cut: XCom is a row in Airflow's database.
SIZE_LIMIT: Final = 10_000

#: The key that names what was left out for its size.
OMITTED_KEY: Final = "OmittedForSize"

#: Environment holds secrets; the transitions are the job's diary; the metadata is the HTTP exchange's.
_NEVER: Final = frozenset({"Environment", "SecondaryStatusTransitions", "ResponseMetadata"})

#: What downstream tasks and people read; never cut.
_ESSENTIAL: Final = frozenset(
    {
        "TrainingJobName",
        "TrainingJobArn",
        "TrainingJobStatus",
        "ProcessingJobName",
        "ProcessingJobArn",
        "ProcessingJobStatus",
        "SecondaryStatus",
        "FailureReason",
        "ExitMessage",
        "ModelArtifacts",
        "OutputDataConfig",
        "ProcessingOutputConfig",
        "ResourceConfig",
        "ProcessingResources",
        "CreationTime",
        "TrainingStartTime",
        "TrainingEndTime",
        "ProcessingStartTime",
        "ProcessingEndTime",
        "TrainingTimeInSeconds",
        "BillableTimeInSeconds",
        "FinalMetricDataList",
    }
)


def json_clean(response: Mapping[str, Any], *, size_limit: int = SIZE_LIMIT) -> dict[str, Any]:
    """Return a Describe response that ``json.dumps`` takes.

    Environment, SecondaryStatusTransitions and ResponseMetadata are left out; HyperParameters stay. Instants become
    ISO 8601 strings in UTC, Decimals numbers, and what isn't a number null.

    Args:
        response: The response; it isn't changed.
        size_limit: Characters of JSON. Above it the biggest parts go that a downstream task is least likely to
            read, and ``OmittedForSize`` names them.
    """
    clean = {key: _plain(value) for key, value in response.items() if key not in _NEVER}
    omitted: list[str] = []
    candidates = sorted(clean.keys() - _ESSENTIAL, key=lambda key: (-_size(clean[key]), key))
    for key in candidates:
        if _size(clean) <= size_limit:
            break
        omitted.append(key)
        del clean[key]
        clean[OMITTED_KEY] = omitted
    return clean


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Decimal):
        return _plain_number(int(value) if value.is_finite() and value == value.to_integral_value() else float(value))
    if isinstance(value, float):
        return _plain_number(value)
    return value if value is None or isinstance(value, str | int) else str(value)


def _plain_number(value: float) -> float | None:
    """Return a number, or None for what JSON has no word for."""
    return value if math.isfinite(value) else None


def _size(value: Any) -> int:
    return len(json.dumps(value))
