"""The report: figures of what was seen."""

import pytest

from benchmarks.watch import report
from benchmarks.watch.measurement import Plan

LATENCY = {"p50": 1.0, "p99": 2.0, "max": 3.0}
STALL = {"max_ms": 40.0, "p99_ms": 4.0, "busy_ms": 30.0, "collection_ms": 20.0}
SEEN = {
    "plan": {"jobs": 100, "mixed": False},
    "title": "ours, events",
    "forced_seconds": 0.5,
    "wait": {
        "seconds": 100.0,
        "calls": {"ListTrainingJobs": 90, "DescribeTrainingJob": 30},
        "throttled": 12,
        "busiest_second": 2,
        "cpu_seconds": 0.05,
        "memory_bytes": 1_500_000,
        "stall": STALL,
        "machine_stall": STALL,
    },
    "ending": {"missing": 1, "latency_seconds": LATENCY},
    "ending_at_once": {"missing": 2, "latency_seconds": dict.fromkeys(LATENCY)},
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("calls", 1.2),
        ("throttled", 10.0),
        ("cpu", 0.5),
        ("memory", 15.0),
        ("stall", 40.0),
        ("busy", 30.0),
        ("latency", 2.0),
        ("latency_at_once", None),
    ],
)
def test_a_figure_is_by_second_or_by_job(name, value):
    _, figure = report.FIGURES[name]
    assert figure(SEEN) == (value if value is None else pytest.approx(value))


def test_a_row_has_what_is_missing_and_what_is_forced():
    assert report.cells(SEEN) == [
        *("ours, events", "100", "1.20", "2", "12 (10 %)", "0.50", "15.0", "40/4/30/20", "40"),
        *("1.0/2.0/3.0", "-/-/-", "0.5", "3"),
    ]
    assert len(report.cells(SEEN)) == len(report.COLUMNS)


def test_a_plan_says_what_lists_alone_force():
    assert Plan("ours", 10_000).forced_seconds == 50.0
    assert Plan("ours", 10_000, mixed=True).forced_seconds == 25.0


def test_half_of_the_jobs_stay_at_least():
    assert Plan("ours", 100).ending_at_rate == 50
    assert Plan("ours", 10_000).ending_at_rate == 600
