"""A request as it may stand in a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MASK: Final = "***"

#: Keys whose values are the user's own and may be secrets, in AWS's spelling and in that of a preference's overrides.
_PRIVATE: Final = frozenset({"environment", "hyperparameters"})


def redacted(request: Any) -> Any:
    """Return a copy of a request, or of a part of one, with the values of Environment and HyperParameters masked.

    Their keys stay, so that a person sees what was set; the original isn't changed.
    """
    if isinstance(request, Mapping):
        return {
            key: _masked(value) if str(key).lower() in _PRIVATE else redacted(value) for key, value in request.items()
        }
    if isinstance(request, list | tuple):
        return [redacted(item) for item in request]
    return request


def _masked(value: Any) -> Any:
    return dict.fromkeys(value, MASK) if isinstance(value, Mapping) else MASK
