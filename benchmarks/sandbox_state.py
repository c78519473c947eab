"""What a state folder costs the sandbox: Create and Describe with it beside without it, and a start with many jobs.

    .venv/bin/python benchmarks/sandbox_state.py [--jobs 10000]

Both sandboxes have a fake clock and no wire, and take turns job by job, so that what else the machine does falls on
both alike. The figures to look at are the ratios, and the seconds of the start, by the processor's count: the budget
is 10.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox import Sandbox

START_BUDGET_SECONDS = 10.0
DESCRIBES = 20


def request(number: int) -> dict[str, Any]:
    """Return a Create request of a usual size."""
    return {
        "TrainingJobName": f"job-{number}",
        "RoleArn": "arn:aws:iam::123456789012:role/job",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {
            "InstancePreferences": [
                {"InstanceType": name, "InstanceCount": 1} for name in ("ml.p5.48xlarge", "ml.g5.xlarge")
            ],
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "HyperParameters": {f"parameter-{n}": str(n) for n in range(20)},
        "Tags": [{"Key": "task", "Value": f"task-{number}"}],
    }


class Timed:
    """One sandbox, and the seconds that it has taken."""

    def __init__(self, clock: FakeClock, state: Path | None) -> None:
        self.sandbox = Sandbox({"rates": False, "capacity": {"ml.p5.48xlarge": 0}}, clock=clock, state=state)
        self.created = self.described = 0.0

    def work(self, number: int) -> None:
        """Create a job, and describe it some times."""
        begin = process_time()
        self.sandbox.call("CreateTrainingJob", request(number))
        self.sandbox.tick()
        middle = process_time()
        for _ in range(DESCRIBES):
            self.sandbox.call("DescribeTrainingJob", {"TrainingJobName": f"job-{number}"})
        self.created += middle - begin
        self.described += process_time() - middle


def main() -> int:
    """Measure, print, and return 1 if a start takes too long."""
    parser = argparse.ArgumentParser(description="What a state folder costs the sandbox.")
    parser.add_argument("--jobs", type=int, default=10_000, help="how many jobs")
    jobs = parser.parse_args().jobs
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as place:
        state = Path(place) / "state"
        kept, plain = Timed(clock, state), Timed(clock, None)
        for number in range(jobs):
            for timed in (kept, plain) if number % 2 else (plain, kept):
                timed.work(number)
            clock.advance(1)
        kept.sandbox.close()
        print(f"{jobs} jobs; with a state beside without one, in one process by turns")
        print(f"  Create    {kept.created / plain.created:6.2f}   {1e3 * kept.created / jobs:.2f} ms")
        print(f"  Describe  {kept.described / plain.described:6.2f}   {1e3 * kept.described / jobs / DESCRIBES:.3f} ms")
        size = sum((state / name).stat().st_size for name in ("journal", "record"))
        begin = process_time()
        again = Sandbox(clock=clock, state=state)
        again.tick()
        took = process_time() - begin
        known = sum(len(account.jobs) for account in again.engine.accounts.values())
        again.close()
    print(f"  start with {known} jobs, {size / 1e6:.0f} MB: {took:.1f} s (budget {START_BUDGET_SECONDS:.0f})")
    return 0 if took <= START_BUDGET_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
