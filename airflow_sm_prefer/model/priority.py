"""The scheduling priority of a service job: a number of AWS Batch's, or a name that stands for one.

Batch takes 0 to 9999, and runs the higher first, within a share
(https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitServiceJob.html).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.model.written import did_you_mean, integer, joined, shown

HIGHEST: Final = 9999

#: The names of ``[sm_prefer] priorities``, unless told. Far apart, so that there is room between them.
DEFAULT_PRIORITIES: Final[Mapping[str, int]] = MappingProxyType({"production": 900, "research": 500, "sweep": 100})

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def parse_priority(
    value: Any, names: Mapping[str, int] = DEFAULT_PRIORITIES, *, rendered: bool = False, place: str = "priority"
) -> int | None:
    """Return a priority as Batch takes it; None, which is left out of a request, for None.

    Args:
        value: A number from 0 to 9999, one of the names, or None.
        names: The names, with their numbers.
        rendered: Whether a template made the value: a number is a string then, and an empty one is None.
        place: What the value is called in the error.

    Raises:
        InvalidSetting: it is none of these. A string of digits that somebody wrote is refused, as is a bool.
    """
    if value is None or (rendered and isinstance(value, str) and value.strip() in {"", "None"}):
        return None
    if isinstance(value, str) and value.strip() in names:
        return names[value.strip()]
    try:
        number = integer(value)
    except ValueError:
        raise _unreadable(value, names, place) from None
    if isinstance(value, str) and not rendered:
        msg = f"{place} is the text {value!r}, and has to be a number or a name.\nWrite {number}, without quotes."
        raise InvalidSetting(msg)
    if not 0 <= number <= HIGHEST:
        msg = f"{place} is {number}, and AWS Batch takes 0 to {HIGHEST}; the higher runs first."
        raise InvalidSetting(msg)
    return number


def parse_priorities(text: str, place: str = "priorities") -> dict[str, int]:
    """Read names and their numbers, as ``production=900, research=500``.

    Raises:
        InvalidSetting: an entry isn't a name, ``=`` and a number from 0 to 9999, or a name comes twice.
    """
    names: dict[str, int] = {}
    for name, number in _entries(text, place):
        if name in names:
            msg = f"{place} has {name!r} twice; which of the two numbers is it?"
            raise InvalidSetting(msg)
        names[name] = number
    return names


def _entries(text: str, place: str) -> Iterator[tuple[str, int]]:
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = (part.strip() for part in entry.partition("="))
        if not _NAME.fullmatch(name):
            msg = f"{place}: {entry!r} isn't a name, = and a number.\nWrite it as in production=900, research=500."
            raise InvalidSetting(msg)
        parsed = parse_priority(number, {}, rendered=True, place=f"{place}: {name}")
        if parsed is None:
            msg = f"{place}: {name} has no number.\nWrite it as in {name}=500."
            raise InvalidSetting(msg)
        yield name, parsed


def _unreadable(value: Any, names: Mapping[str, int], place: str) -> InvalidSetting:
    known = f", or one of {joined(names)} ([sm_prefer] priorities)" if names else ""
    hint = did_you_mean(value, names) if isinstance(value, str) else ""
    msg = f"{place} is {shown(value)}, and has to be a number from 0 to {HIGHEST}{known}.\n{hint}".rstrip()
    return InvalidSetting(msg)
