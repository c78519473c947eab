"""What was measured, as figures and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

Seen = Mapping[str, Any]
Figure = Callable[[Seen], float | None]


def _waiting(*path: str) -> Figure:
    return lambda seen: _at(seen, "wait", *path)


def _at(seen: Any, *path: str) -> Any:
    for key in path:
        seen = seen[key]
    return seen


def calls_a_second(seen: Seen) -> float:
    """All of SageMaker's operations together, while all jobs wait."""
    return sum(seen["wait"]["calls"].values()) / seen["wait"]["seconds"]


def throttled_share(seen: Seen) -> float:
    """In percent, while all jobs wait."""
    return 100 * seen["wait"]["throttled"] / max(1, sum(seen["wait"]["calls"].values()))


def cpu_a_job(seen: Seen) -> float:
    """In milliseconds, while all jobs wait, their beginning included."""
    return 1e3 * seen["wait"]["cpu_seconds"] / seen["plan"]["jobs"]


def memory_a_job(seen: Seen) -> float:
    """In kB of 1000 bytes, at the peak."""
    return seen["wait"]["memory_bytes"] / 1e3 / seen["plan"]["jobs"]


def _latency(phase: str, share: str) -> Figure:
    return lambda seen: _at(seen, phase, "latency_seconds", share)


FIGURES: Mapping[str, tuple[str, Figure]] = {
    "calls": ("calls a second", calls_a_second),
    "throttled": ("throttled, %", throttled_share),
    "cpu": ("CPU a job, ms", cpu_a_job),
    "memory": ("memory a job, kB", memory_a_job),
    "stall": ("longest stall, ms", _waiting("stall", "max_ms")),
    "busy": ("longest stall by the loop's own work, ms", _waiting("stall", "busy_ms")),
    "latency": ("end to event, 20 a second: p99, s", _latency("ending", "p99")),
    "latency_at_once": ("end to event, all at once: p99, s", _latency("ending_at_once", "p99")),
}
"""What is plotted: by the name of its file, the words beside its axis and where it comes from."""


COLUMNS = (
    *("trigger", "jobs", "calls a second", "in the busiest", "throttled", "CPU a job, ms", "memory a job, kB"),
    *(
        "stall max/p99/busy/gc, ms",
        "machine's, ms",
        "end to event p50/p99/max, s",
        "all at once, s",
        "forced, s",
        "missing",
    ),
)


def cells(seen: Seen) -> list[str]:
    """Return a table's row for one measurement; :data:`COLUMNS` names what is in it."""
    wait, plan = seen["wait"], seen["plan"]
    missing = sum(seen[phase]["missing"] for phase in ("ending", "ending_at_once"))
    return [
        seen["title"] + (", two kinds" if plan["mixed"] else ""),
        f"{plan['jobs']:,}",
        f"{calls_a_second(seen):.2f}",
        str(wait["busiest_second"]),
        f"{wait['throttled']} ({throttled_share(seen):.0f} %)",
        f"{cpu_a_job(seen):.2f}",
        f"{memory_a_job(seen):.1f}",
        "/".join(f"{wait['stall'][key]:.0f}" for key in ("max_ms", "p99_ms", "busy_ms", "collection_ms")),
        f"{wait['machine_stall']['max_ms']:.0f}",
        _times(seen["ending"]),
        _times(seen["ending_at_once"]),
        f"{seen['forced_seconds']:.1f}",
        str(missing),
    ]


def _times(phase: Seen) -> str:
    found = phase["latency_seconds"].values()
    return "/".join("-" if seconds is None else f"{seconds:.1f}" for seconds in found)


def print_table(all_seen: Iterable[Seen]) -> None:
    """Print a table with a row for each measurement."""
    shown = Table()
    for name in COLUMNS:
        shown.add_column(name, justify="left" if name == "trigger" else "right")
    for seen in all_seen:
        shown.add_row(*cells(seen))
    Console(width=240).print(shown)
