"""What templates leave behind: strings that hold a list or a dict, and what is still to be rendered."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from airflow_sm_prefer.errors import InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.written import shown

#: What Jinja looks for.
_MARKS = ("{{", "{%", "{#")

_PLAIN = (int, float, bool, bytes, date, timedelta, type(None))


def has_template(value: Any) -> bool:
    """Tell whether a value, or anything in it, is known only when the task runs.

    That is a string with Jinja in it, and any object that isn't plain data, such as an XComArg.
    """
    if isinstance(value, str):
        return any(mark in value for mark in _MARKS)
    if isinstance(value, Mapping):
        return any(has_template(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(has_template, value))
    return not isinstance(value, _PLAIN)


def without_templates(value: Any) -> Any:
    """Return plain data without the entries of dicts and lists that are known only when the task runs."""
    if isinstance(value, Mapping):
        return {k: without_templates(v) for k, v in value.items() if not _is_template(v)}
    if isinstance(value, list | tuple):
        return [without_templates(item) for item in value if not _is_template(item)]
    return value


def _is_template(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple) and has_template(value)


def normalise_prefer(rendered: Any) -> list[Any]:
    """Return a preference list as a list, whatever it was rendered to.

    Raises:
        InvalidPreference: it isn't a list, nor a string that holds one as JSON or as a Python literal.
    """
    value = _parsed(rendered) if isinstance(rendered, str) else rendered
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    msg = (
        f"prefer has to be a list, and it is {shown(rendered)}.\n"
        'Write prefer=["ml.g5.xlarge", …], or a template that renders to such a list as JSON or Python.'
    )
    raise InvalidPreference(msg)


def normalise_config(rendered: Any) -> dict[str, Any]:
    """Return a job request as a dict, whatever it was rendered to.

    Raises:
        InvalidRequest: it isn't a dict, nor a string that holds one as JSON or as a Python literal.
    """
    value = _parsed(rendered) if isinstance(rendered, str) else rendered
    if isinstance(value, Mapping):
        return dict(value)
    kept = "a string" if isinstance(rendered, str) else f"of type {type(rendered).__name__}"
    msg = f"config has to be a dict, and it is {kept}.\nSee what its template renders to: JSON or a Python dict."
    raise InvalidRequest(msg)


def _parsed(text: str) -> Any:
    """Read a text as JSON, else as a Python literal, else leave it a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
