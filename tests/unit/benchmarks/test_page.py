"""The page: what it names."""

from benchmarks.watch.page import write_page
from tests.unit.benchmarks.test_report import SEEN

MACHINE = {
    "date": "2026-11-30",
    "processor": "one",
    "cores": 2,
    "memory_gb": 16,
    "system": "Linux",
    "python": "3.11",
    "load_before": 0.25,
    "versions": {"boto3": "1.43"},
}


def test_the_page_names_the_machine_and_the_command(tmp_path):
    write_page({"command": "make bench", "machine": MACHINE, "measurements": [SEEN]}, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "`make bench` made this" in page
    assert "one, 2 cores" in page
    assert "boto3 1.43" in page
    assert "| ours, events | 100 | 1.20 |" in page
    assert "(latency_at_once.svg)" in page
