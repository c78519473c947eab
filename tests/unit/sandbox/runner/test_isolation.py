"""Literal /opt/ml where there is no mount namespace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox.runner import isolation
from airflow_sm_prefer.sandbox.runner.isolation import Isolation, best_isolation, rewrite_scripts, rewritten
from airflow_sm_prefer.sandbox.runner.process import Launch

ROOT = Path("/jobs/1/ml")


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("/opt/ml", "/jobs/1/ml"),
        ("/opt/ml/model", "/jobs/1/ml/model"),
        ("--out=/opt/ml/model", "--out=/jobs/1/ml/model"),
        ('open("/opt/ml/a"), "/opt/ml"', 'open("/jobs/1/ml/a"), "/jobs/1/ml"'),
        ("file:///opt/ml/a", "file:///jobs/1/ml/a"),
        ("/usr/bin:/opt/ml/bin", "/usr/bin:/jobs/1/ml/bin"),
        ("it is in /opt/ml.", "it is in /jobs/1/ml."),
    ],
)
def test_paths_of_the_jobs_own_are_rewritten(text: str, becomes: str) -> None:
    assert rewritten(text, ROOT) == becomes


@pytest.mark.parametrize(
    "text",
    [
        "/opt/mlflow",
        "/opt/ml-x",
        "/opt/ml_x",
        "/opt/ml.bak",
        "/data/opt/ml",
        "../opt/ml",
        "s3://bucket/opt/ml/checkpoints",
        "f'{prefix}/opt/ml'",
        "$(pwd)/opt/ml",
        "/opt/m",
    ],
)
def test_other_paths_are_left_alone(text: str) -> None:
    assert rewritten(text, ROOT) == text


def test_a_folder_with_a_backslash_in_its_name_is_written_as_it_is() -> None:
    assert rewritten("/opt/ml/a", Path(r"/jobs/\1")) == r"/jobs/\1/a"


def test_scripts_are_rewritten_and_data_is_not(tmp_path: Path) -> None:
    text = b"cat /opt/ml/a\r\n"
    written = {"a.sh": text, "deep/b.json": text, "c.csv": text, "d.py": text + b"\xff", "e.txt": text * 100_000}
    for name, body in written.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(body)
    (tmp_path / "f.py").symlink_to("c.csv")
    rewrite_scripts(tmp_path, ROOT)
    changed = {name for name, body in written.items() if (tmp_path / name).read_bytes() != body}
    assert changed == {"a.sh", "deep/b.json"}
    assert (tmp_path / "a.sh").read_bytes() == b"cat /jobs/1/ml/a\r\n"


@pytest.fixture
def untried() -> None:
    best_isolation.cache_clear()


@pytest.mark.usefixtures("untried")
def test_a_system_without_namespaces_has_paths_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert best_isolation() is Isolation.REWRITTEN
    best_isolation.cache_clear()


@pytest.mark.usefixtures("untried")
def test_a_system_that_refuses_them_has_paths_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    supervised = isolation.supervised
    refused = Launch(["no-such-program"], {}, "/")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(isolation, "supervised", lambda _: supervised(refused))
    assert best_isolation() is Isolation.REWRITTEN
    best_isolation.cache_clear()
