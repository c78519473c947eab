"""Reading what people wrote, and showing it back to them when it can't be read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from airflow_sm_prefer.errors import InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.words import shortened

#: A whole number as a template renders it. Longer ones fit no integer of AWS's.
_INTEGER = re.compile(r"\s*[+-]?\d{1,18}\s*", re.ASCII)

_FLAGS = {"true": True, "false": False}


def shown(value: object) -> str:
    """Write a value so that it takes one line of a message, and not a long one."""
    return shortened(repr(value), 80)


def joined(words: Iterable[str]) -> str:
    """Write words in a row, with commas between them."""
    return ", ".join(words)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return ``Did you mean …?`` for a slip of the finger; an empty text if nothing is close."""
    by_fold = {candidate.lower(): candidate for candidate in sorted(words)}
    close = difflib.get_close_matches(word.lower(), by_fold, n=2)
    return f"Did you mean {' or '.join(by_fold[name] for name in close)}?" if close else ""


def integer(value: Any) -> int:
    """Read an integer, which a template may have rendered to a string.

    Raises:
        ValueError: it is none; a bool and a float are none either, whatever their value.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    msg = f"{shown(value)} is not an integer"
    raise ValueError(msg)


def flag(value: Any) -> bool:
    """Read a yes or no, which a template may have rendered to a string; None is a no.

    Raises:
        ValueError: it is neither.
    """
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    msg = f"{shown(value)} is neither True nor False"
    raise ValueError(msg)


def part_of(request: Mapping[str, Any], path: Iterable[str]) -> Mapping[str, Any]:
    """Return a part of a request that has to be a dict; empty if it isn't there.

    Raises:
        InvalidRequest: it is there and is something else.
    """
    part: Any = request
    for key in path:
        part = part.get(key)
        if part is None:
            return {}
        if not isinstance(part, Mapping):
            msg = f"config: {key} has to be a dict, and it is {shown(part)}."
            raise InvalidRequest(msg)
    found: Mapping[str, Any] = part
    return found


def refused(place: str, problem: str, remedy: str) -> InvalidPreference:
    """Make the error for a preference: where, what, and what to do about it, in two lines."""
    return InvalidPreference(f"{place}: {problem}.\n{remedy}")


def request_refused(place: str, problem: str, remedy: str) -> InvalidRequest:
    """Make the error for the request around a list, in two lines."""
    return InvalidRequest(f"config: {place} {problem}.\n{remedy}")
