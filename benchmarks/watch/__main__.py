"""Measures both triggers, one after the other, and prints a table.

    .venv-bench/bin/python -m benchmarks.watch [--jobs 100 300 1000] [--ours-jobs 10000] [--seconds 150]

``make bench`` does it with the results and plots in docs/benchmarks. A single case is measured with, say,

    .venv-bench/bin/python -m benchmarks.watch --jobs 1000 --ours-jobs --sides ours --ways events --seconds 20
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.watch.measurement import Plan, measure
from benchmarks.watch.meters import Lags, watch_machine
from benchmarks.watch.page import machine, plot, write_page
from benchmarks.watch.report import print_table

WAYS = {"unindexed": {}, "indexed": {"indexed": True}, "events": {"events": True}}
"""How our trigger hears of an end: by Lists as AWS may filter them at worst, at best, and by events besides."""

SHORT_WAIT_SECONDS = 20.0
"""How long jobs wait in those ways whose cost of waiting isn't looked at."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What waiting for jobs costs, and how soon an end is noticed.")
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 300, 1000], help="how many jobs wait")
    parser.add_argument("--ours-jobs", type=int, nargs="*", default=[10_000], help="more counts, for ours only")
    parser.add_argument("--seconds", type=float, default=150.0, help="how long all of them wait")
    parser.add_argument("--ending-seconds", type=float, default=30.0, help="how long 20 jobs a second end")
    parser.add_argument("--sides", nargs="+", choices=["theirs", "ours"], default=["theirs", "ours"])
    parser.add_argument("--ways", nargs="+", choices=[*WAYS], default=[*WAYS])
    parser.add_argument("--mixed", action="store_true", help="ours also with half of the jobs processing jobs")
    parser.add_argument("--settings", type=json.loads, default={}, help="the endpoint's, as a JSON object")
    parser.add_argument("--profile", help="where to leave the profile of each waiting process; figures suffer")
    parser.add_argument("--quick", action="store_true", help="a minute's look: 50 jobs, a few seconds")
    parser.add_argument("--logs", type=Path, help="a folder for what the waiting processes have said")
    parser.add_argument("--note", default="", help="what else is to be known of the machine")
    parser.add_argument("--into", type=Path, help="a folder for all that was seen, the plots, and a page with them")
    asked = parser.parse_args()
    if asked.quick:
        asked.jobs, asked.ours_jobs, asked.seconds, asked.ending_seconds = [50], [], 10.0, 1.0
        asked.ways = ["unindexed"]
    return asked


def plans(asked: argparse.Namespace) -> Iterator[Plan]:
    """Give what is to be measured, the provider's trigger first."""
    common = {"ending_seconds": asked.ending_seconds, "settings": asked.settings, "profile": asked.profile}
    if "theirs" in asked.sides:
        for jobs in asked.jobs:
            yield Plan("theirs", jobs, seconds=asked.seconds, **common)
    if "ours" in asked.sides:
        for jobs in asked.jobs + asked.ours_jobs:
            for place, way in enumerate(asked.ways):
                seconds = min(asked.seconds, SHORT_WAIT_SECONDS) if place else asked.seconds
                yield Plan("ours", jobs, seconds=seconds, **WAYS[way], **common)
            if asked.mixed:
                yield Plan("ours", jobs, seconds=asked.seconds, mixed=True, **common)


def main() -> None:
    asked = arguments()
    lags = Lags()
    watch_machine(lags)
    command = f"python -m benchmarks.watch {shlex.join(sys.argv[1:])}"
    results = {"command": command, "machine": machine(), "note": asked.note, "measurements": []}
    for plan in plans(asked):
        print(f"{plan.title}, {plan.jobs} jobs ...", flush=True)
        results["measurements"].append(measure(plan, lags, asked.logs))
        if asked.into:
            keep(results, asked.into)
    print_table(results["measurements"])
    if asked.into:
        plot(results["measurements"], asked.into)
        write_page(results, asked.into)


def keep(results: dict[str, Any], folder: Path) -> None:
    """Keep what was seen so far: a measurement takes minutes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
