"""How long the lines of running jobs take to the logs of their tasks, with a budget of calls for all of them.

    .venv/bin/python benchmarks/log_turns.py [--jobs 100 1000] [--rate 1] [--seconds 3000]

All jobs start in the same second, log a line then and one every half minute. The turns are the real ones; CloudWatch is
worked out, and time is what the calls take by the budget, so that a run is the same on every machine but for its CPU.

"First" is when the last of the jobs has its first line, in minutes; "delay" how long a line in the second half of the
run takes, in seconds, at the median and for one in a hundred. "One by one" is what the median would be at least if each
call read one job only: half of a round of all.
"""

from __future__ import annotations

import argparse
import time

from airflow_sm_prefer.placement.log_cursors import Event, JobLog
from airflow_sm_prefer.placement.log_turns import Find, Followed, LogTurns, Read

START = 1_800_000_000.0
EVERY = 30.0


def lines_of(read: Read, now: float) -> list[Event]:
    """Return what CloudWatch shows of a read: each stream's lines are at the same instants."""
    first = max(0, -int((START - read.start / 1000) // EVERY))
    last = int((min(now, (read.end - 1) / 1000) - START) // EVERY)
    instants = [round((START + n * EVERY) * 1000) for n in range(first, last + 1)]
    return [Event(at, stream, f"{stream} {at}", "line") for at in instants for stream in read.streams]


def answer(turns: LogTurns, turn: Find | Read, now: float) -> dict[Followed, list[int]]:
    if isinstance(turn, Find):
        turns.found(turn, [(f"{turn.job.log.job_name}/algo-1-1", round(START * 1000))], None, now)
        return {}
    lines = turns.lines(turn, lines_of(turn, now), None, now)
    return {job: [line.at for line in each] for job, each in lines.items()}


def run(jobs: int, rate: float, seconds: float) -> str:
    turns, now, cpu, calls = LogTurns(), START, 0.0, 0
    for n in range(jobs):
        turns.follow(JobLog("group", f"job-{n}"), now)
    first: dict[Followed, float] = {}
    delays: list[float] = []
    while now < START + seconds:
        now += max(1 / rate, turns.wait(now))
        began = time.process_time()
        turn = turns.turn(now)
        shown = answer(turns, turn, now) if turn else {}
        cpu += time.process_time() - began
        calls += turn is not None
        for job, instants in shown.items():
            first.setdefault(job, now - START)
            delays += [now - at / 1000 for at in instants if at / 1000 > START + seconds / 2]
    delays.sort()
    minutes = f"{max(first.values()) / 60:.1f}" if len(first) == jobs else "-"
    p50, p99 = delays[len(delays) // 2], delays[len(delays) * 99 // 100]
    one_by_one, milliseconds = jobs / rate / 2, cpu / calls * 1000
    return f"{jobs:>6} {calls:>6} {minutes:>6} {p50:>10.0f} {p99:>10.0f} {one_by_one:>11.0f} {milliseconds:>12.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 1_000])
    parser.add_argument("--rate", type=float, default=1.0, help="calls a second")
    parser.add_argument("--seconds", type=float, default=4_200.0, help="how long the jobs run")
    args = parser.parse_args()
    print("  jobs  calls  first  delay p50  delay p99  one by one  ms of a turn")
    for jobs in args.jobs:
        print(run(jobs, args.rate, args.seconds))


if __name__ == "__main__":
    main()
