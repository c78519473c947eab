"""What was measured, as a table and as plots."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
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
    "latency": ("end to event, 20 a second: p99, s", _latency("ending", "p99")),
    "latency_at_once": ("end to event, all at once: p99, s", _latency("ending_at_once", "p99")),
}
"""What is plotted: by the name of its file, the words beside its axis and where it comes from."""


def table(all_seen: Iterable[Seen]) -> Table:
    """Return a table with a row for each measurement."""
    shown = Table(title="one event loop, an endpoint with SageMaker's limits; ms and kB are by job")
    columns = ("trigger", "jobs", "calls/s", "busiest s", "throttled", "CPU ms", "memory kB", "stall max/p99 ms")
    for name in (*columns, "machine's", "end to event p50/p99/max s", "all at once", "forced", "missing"):
        shown.add_column(name, justify="left" if name == "trigger" else "right")
    for seen in all_seen:
        shown.add_row(*_cells(seen))
    return shown


def _cells(seen: Seen) -> list[str]:
    wait, plan = seen["wait"], seen["plan"]
    missing = sum(seen[phase]["missing"] for phase in ("ending", "ending_at_once"))
    return [
        seen["title"] + (" (two kinds)" if plan["mixed"] else ""),
        f"{plan['jobs']:,}",
        f"{calls_a_second(seen):.2f}",
        str(wait["busiest_second"]),
        f"{wait['throttled']} ({throttled_share(seen):.0f} %)",
        f"{cpu_a_job(seen):.2f}",
        f"{memory_a_job(seen):.1f}",
        "/".join(f"{wait['stall'][key]:.0f}" for key in ("max_ms", "p99_ms")),
        f"{wait['machine_stall']['max_ms']:.0f}",
        _times(seen["ending"]),
        _times(seen["ending_at_once"]),
        f"{seen['forced_seconds']:.0f}",
        str(missing),
    ]


def _times(phase: Seen) -> str:
    found = phase["latency_seconds"].values()
    return "/".join("-" if seconds is None else f"{seconds:.1f}" for seconds in found)


def print_table(all_seen: Iterable[Seen]) -> None:
    """Print the table, as wide as it needs to be."""
    Console(width=200).print(table(all_seen))


def machine() -> dict[str, Any]:
    """Return what the figures come from."""
    names = ("apache-airflow", "apache-airflow-providers-amazon", "aiobotocore", "boto3", "botocore")
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
        "versions": {name: version(name) for name in names},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def plot(all_seen: Sequence[Seen], folder: Path) -> None:
    """Draw each figure against the number of jobs, and leave it in a folder as ``<name>.svg``."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second, and only plots need it
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "bench"  # the same figures make the same file

    folder.mkdir(parents=True, exist_ok=True)
    for name, (words, figure) in FIGURES.items():
        drawn, axes = plt.subplots(figsize=(6, 4))
        for title, rows in _by_title(all_seen).items():
            points = [(seen["plan"]["jobs"], value) for seen in rows if (value := figure(seen)) is not None]
            axes.plot(*zip(*sorted(points), strict=True), marker="o", label=title)
        axes.set(xscale="log", xlabel="jobs", ylabel=words)
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
        drawn.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(drawn)


def _by_title(all_seen: Iterable[Seen]) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = {}
    for seen in all_seen:
        if not seen["plan"]["mixed"]:
            found.setdefault(seen["title"], []).append(seen)
    return found
