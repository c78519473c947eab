"""Measures both triggers, one after the other, and prints a table.

    .venv-bench/bin/python -m benchmarks.watch [--jobs 100 300 1000] [--ours-jobs 10000] [--seconds 150]

``make bench`` does it with the results and plots in docs/benchmarks. A single case is measured with, say,

    .venv-bench/bin/python -m benchmarks.watch --jobs 1000 --ours-jobs --sides ours --ways events --seconds 20
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.watch.measurement import Plan, measure
from benchmarks.watch.meters import Lags, watch_machine
from benchmarks.watch.report import machine, plot, print_table

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
    parser.add_argument("--results", type=Path, help="a JSON file for all that was seen")
    parser.add_argument("--plots", type=Path, help="a folder for the plots")
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
    all_seen = []
    results = {"machine": machine(), "measurements": all_seen}
    for plan in plans(asked):
        print(f"{plan.title}, {plan.jobs} jobs ...", flush=True)
        all_seen.append(measure(plan, lags))
        if asked.results:
            asked.results.parent.mkdir(parents=True, exist_ok=True)
            asked.results.write_text(json.dumps(results, indent=1) + "\n")
    print_table(all_seen)
    if asked.plots:
        plot(all_seen, asked.plots)


if __name__ == "__main__":
    main()
