"""What importing the operators costs a DAG file, beside what importing the Amazon provider's costs.

    .venv/bin/python benchmarks/import_time.py [--runs 15]

Each run is a fresh interpreter. The three programs take turns, so that what else the machine does falls on all alike,
and medians are compared. The budget is 50 ms over the Amazon provider's own operators.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence

BUDGET_MS = 50.0

_THEIRS = "import airflow.providers.amazon.aws.operators.sagemaker"
_OURS = "import airflow_sm_prefer.operators.sagemaker"
PROGRAMS: Mapping[str, tuple[str, ...]] = {"theirs": (_THEIRS,), "theirs and ours": (_THEIRS, _OURS), "ours": (_OURS,)}


def measure(statements: Sequence[str]) -> list[float]:
    """Return how long each statement takes in one new interpreter, in milliseconds."""
    timed = "\n".join(f"{statement}; at.append(perf_counter())" for statement in statements)
    program = (
        f"from time import perf_counter\nat = [perf_counter()]\n{timed}\n"
        "print([1000 * (b - a) for a, b in zip(at, at[1:])])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Measure, print, and return 1 if the budget is exceeded."""
    parser = argparse.ArgumentParser(description="What importing the operators costs a DAG file.")
    parser.add_argument("--runs", type=int, default=15, help="fresh interpreters for each of the three programs")
    runs = parser.parse_args().runs
    for statements in PROGRAMS.values():
        measure(statements)  # not counted: it fills the file cache and writes the bytecode
    rows = [{name: measure(statements) for name, statements in PROGRAMS.items()} for _ in range(runs)]
    totals = {name: statistics.median(sum(row[name]) for row in rows) for name in PROGRAMS}
    added = statistics.median(row["theirs and ours"][1] for row in rows)
    print(f"medians of {runs} fresh interpreters each, taking turns, in ms")
    for name, total in totals.items():
        print(f"  {name:<16} {total:8.1f}   {total / totals['theirs']:.3f} of theirs")
    print(f"  ours, after theirs: {added:.1f} (budget {BUDGET_MS:.0f})")
    print(f"  difference of medians: {totals['theirs and ours'] - totals['theirs']:+.1f}")
    return 0 if added <= BUDGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
