"""What holds whatever arrives, whatever there is and however it ends: properties of the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.demand import Candidate
from tests.unit.sandbox.builders import CPU, G5, P4D, Bench, prefer

TYPES = (G5, P4D, CPU)
CAPACITY = {G5: 3, P4D: 2, CPU: 2}

ENTRIES = st.lists(
    st.tuples(st.sampled_from(TYPES), st.integers(1, 4)), min_size=1, max_size=3, unique_by=lambda pair: pair[0]
)
ARRIVALS = st.lists(
    st.fixed_dictionaries(
        {
            "after": st.integers(0, 120),
            "entries": ENTRIES,
            "seconds": st.integers(1, 400),
            "fails": st.booleans(),
            "retries": st.integers(0, 2),
            "stopped": st.one_of(st.none(), st.integers(1, 300)),
        }
    ),
    min_size=1,
    max_size=12,
)
CHANGES = st.lists(st.tuples(st.integers(1, 1500), st.sampled_from(TYPES), st.integers(0, 4)), max_size=6)


Look = Callable[[Bench], None]


def run(arrivals: list[dict[str, Any]], changes: list[tuple[int, str, int]], look: Look = lambda _: None) -> Bench:
    """Let jobs arrive, be stopped and end, with a look at the bench now and then."""
    scripts = {f"job-{n:02d}": Script(seconds=a["seconds"], stop_seconds=50) for n, a in enumerate(arrivals)}
    bench = Bench(scripts, capacity=_timelines(changes), job_faults=_faults(arrivals))
    stops: list[tuple[float, str]] = []
    for number, arrival in enumerate(arrivals):
        _pass(bench, arrival["after"], stops, look)
        name = f"job-{number:02d}"
        limits = {"MaxRuntimeInSeconds": 300, "MaxPendingTimeInSeconds": 1800}
        retry = {"RetryStrategy": {"MaximumRetryAttempts": arrival["retries"]}} if arrival["retries"] else {}
        bench.train(name, prefer(*arrival["entries"]), StoppingCondition=limits, **retry)
        if arrival["stopped"] is not None:
            stops.append((bench.clock.time() + arrival["stopped"], name))
    _pass(bench, 8000, stops, look)
    return bench


def _timelines(changes: list[tuple[int, str, int]]) -> dict[str, list[Any]]:
    timelines: dict[str, list[Any]] = {name: [count] for name, count in CAPACITY.items()}
    for after, name, count in sorted(changes):
        timelines[name].append({"after": after, "count": count})
    return timelines


def _faults(arrivals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"job": f"job-{n:02d}", "after": 7, "times": 2} for n, a in enumerate(arrivals) if a["fails"]]


def _pass(bench: Bench, seconds: int, stops: list[tuple[float, str]], look: Look) -> None:
    """Let time pass, and stop who is to be stopped."""
    end = bench.clock.time() + seconds
    while bench.clock.time() < end:
        bench.advance(min(end - bench.clock.time(), 30 if stops or seconds < 1000 else 200))
        for due, name in list(stops):
            if due <= bench.clock.time():
                stops.remove((due, name))
                if bench.training(name)["TrainingJobStatus"] == "InProgress":
                    bench.call("StopTrainingJob", {"TrainingJobName": name})
        look(bench)


def _live(bench: Bench) -> list[dict[str, Any]]:
    rows = bench.call("ListTrainingJobs", {"MaxResults": 100, "SortOrder": "Ascending"})["TrainingJobSummaries"]
    shown = (bench.training(row["TrainingJobName"]) for row in rows)
    return [job for job in shown if "TrainingEndTime" not in job]


def _check_floor(bench: Bench) -> None:
    """Nobody waits who could run."""
    taken: Counter[str] = Counter()
    waiting = []
    for job in _live(bench):
        config = job["ResourceConfig"]
        if "SelectedInstanceType" in config:
            taken[config["SelectedInstanceType"]] += config["SelectedInstanceCount"]
        else:
            waiting.append(config["InstancePreferences"])
    elapsed = bench.sandbox.time.now().elapsed
    capacity = bench.sandbox.engine.capacity.snapshot(elapsed)["on_demand"]
    for entries in waiting:
        for entry in entries:
            free = capacity[entry["InstanceType"]] - taken[entry["InstanceType"]]
            assert free < entry["InstanceCount"], f"{entry} could run"


def _launches_and_what_was_free(bench: Bench) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """Replay the record: each entry at which a job got instances, and what was free of each type just before."""
    held: dict[str, tuple[str, int]] = {}
    begin = bench.sandbox.time.pace.instant
    for entry in bench.sandbox.engine.record.entries("state"):
        if entry["secondary"] == "Starting" and entry["instance_type"]:
            capacity = bench.sandbox.engine.capacity.snapshot(entry["at"] - begin)["on_demand"]
            taken: Counter[str] = Counter()
            for instance_type, count in held.values():
                taken[instance_type] += count
            yield entry, {name: count - taken[name] for name, count in capacity.items()}
        if entry["live"] and entry["instance_type"]:
            held[entry["name"]] = (entry["instance_type"], entry["instance_count"])
        else:
            held.pop(entry["name"], None)


@settings(deadline=None, max_examples=25)
@given(ARRIVALS, CHANGES)
def test_nobody_waits_who_could_run_and_everybody_ends(arrivals, changes):
    bench = run(arrivals, changes, _check_floor)
    assert _live(bench) == []
    engine = bench.sandbox.engine
    assert all(count == 0 for account in engine.accounts.values() for count in account.usage.values())
    assert all(engine.capacity.taken("us-east-1", Candidate(name, 1)) == 0 for name in TYPES)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=10), st.integers(1, 2), CHANGES)
def test_jobs_that_ask_for_the_same_begin_in_the_order_in_which_they_came(gaps, count, changes):
    arrivals = [
        {"after": gap, "entries": [(G5, count)], "seconds": 90, "fails": False, "retries": 0, "stopped": None}
        for gap in gaps
    ]
    bench = run(arrivals, changes)
    names = [entry["name"] for entry, _ in _launches_and_what_was_free(bench)]
    assert names == sorted(names)


@settings(deadline=None, max_examples=25)
@given(ARRIVALS, CHANGES)
def test_the_first_entry_that_fits_is_taken_and_nothing_is_given_out_twice(arrivals, changes):
    bench = run(arrivals, changes)
    for entry, free in _launches_and_what_was_free(bench):
        wanted = bench.training(entry["name"])["ResourceConfig"]["InstancePreferences"]
        fitting = [
            (e["InstanceType"], e["InstanceCount"]) for e in wanted if free[e["InstanceType"]] >= e["InstanceCount"]
        ]
        assert (entry["instance_type"], entry["instance_count"]) == fitting[0]


@settings(deadline=None, max_examples=25)
@given(ARRIVALS, CHANGES)
def test_every_history_is_in_order_and_ends_once(arrivals, changes):
    bench = run(arrivals, changes)
    for row in bench.call("ListTrainingJobs", {"MaxResults": 100})["TrainingJobSummaries"]:
        shown = bench.training(row["TrainingJobName"])
        transitions = shown["SecondaryStatusTransitions"]
        instants = [instant for t in transitions for instant in (t["StartTime"], t["EndTime"])]
        assert instants == sorted(instants)
        ends = [t["Status"] for t in transitions if t["Status"] in {"Completed", "Failed", "Stopped"}]
        assert len(ends) <= 1
        assert transitions[-1]["Status"] == shown["SecondaryStatus"]
