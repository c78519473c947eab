"""The instant at which AWS gave an answer, by its own clock."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any


def date_of(answer: Mapping[str, Any]) -> float | None:
    """Return when an answer was given, in whole seconds since 1970; None where it doesn't say."""
    written = (answer.get("ResponseMetadata") or {}).get("HTTPHeaders", {}).get("date")
    try:
        return parsedate_to_datetime(written).timestamp() if written else None
    except ValueError:
        return None
