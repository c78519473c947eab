"""How spans of time and places in a list are written for people."""

from __future__ import annotations


def span(seconds: float) -> str:
    """Write a span of time: ``45 s``, ``25 min``, ``1 h 30 min``, ``2 d 4 h``; the two largest units say enough.

    It is rounded to the second of them, so that what is left of two hours a second after their start is ``2 h``.
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    for unit, second in ((3600, 60), (86400, 3600)):
        if whole >= unit:
            whole = (whole + second // 2) // second * second
    units = (("d", whole // 86400), ("h", whole // 3600 % 24), ("min", whole // 60 % 60), ("s", whole % 60))
    first = next(n for n, (_, amount) in enumerate(units) if amount)
    written = [f"{amount} {unit}" for unit, amount in units[first : first + 2] if amount]
    return " ".join(written)


def ordinal(number: int) -> str:
    """Write a place in a list, counted from 1: ``1st``, ``2nd``, ``3rd``, ``11th``."""
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def shortened(text: str, length: int) -> str:
    """Cut a text to a length and show that it was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"
