"""The page in the documentation: the table, the machine that it comes from, and a plot of each figure."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.watch.report import COLUMNS, FIGURES, Seen, cells

_PAGE = """\
# What waiting for jobs costs

`{command}` made this page, the plots and `results.json`, on {date}. The machine: {processor}, {cores} cores,
{memory_gb} GB, {system}, load {load_before:.1f} before; Python {python}, {versions}. {note}

Triggers wait in one event loop, as in a triggerer; all begin in the same second. The endpoint is a process of its own:
the sandbox, with SageMaker's limits (2 List and 5 Describe calls a second for the whole account). Each trigger, be it
ours or the Amazon provider's, is told to look every 30 s. Each row is a measurement of its own; one follows the other.

{table}

- Calls, throttles, CPU, memory and stall are of the time in which all jobs wait, from the moment in which they begin.
  A number of jobs that has several rows of ours has waited so long for the first; for the others, 20 s at most.
- Calls are those to SageMaker, all operations together; those to SQS aren't limited, and are in `results.json`.
- CPU is the waiting process's; what the meter of stalls takes, as measured before, is subtracted.
- Memory is the peak over what the process had with one client made.
- A stall is how late a coroutine that sleeps 5 ms at a time is woken. The machine's is the same in an idle process
  beside: what the processor had no time for. Busy is the most processor time that the loop's thread used between two
  such beats: its own share of a stall, whatever else the machine did; of that, gc is Python's longest collection.
- End to event: from a job's end at the endpoint to the trigger's event, with 20 jobs ending a second at random; then
  with all that are left ending at once. Forced is how long 2 List calls of 100 jobs a second take for all of them.
- *Unindexed* is a List that applies LastModifiedTimeAfter and NameContains after it has cut its pages, as it has been
  seen to; *indexed*, before. *Events* is unindexed, with an SQS queue of EventBridge's events.

{plots}"""


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


def write_page(results: Mapping[str, Any], folder: Path) -> None:
    """Write a page with the table, the machine and the plots."""
    all_seen, where = results["measurements"], results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    plots = "\n".join(f"![{words}, against the number of jobs]({name}.svg)\n" for name, (words, _) in FIGURES.items())
    rows = [COLUMNS, ["---", *["---:"] * (len(COLUMNS) - 1)], *map(cells, all_seen)]
    page = _PAGE.format(
        command=results["command"],
        table="\n".join(f"| {' | '.join(row)} |" for row in rows),
        versions=versions,
        plots=plots,
        note=results.get("note", ""),
        **{key: value for key, value in where.items() if key != "versions"},
    )
    (folder / "README.md").write_text(page)
