"""SageMaker's words for what ends a run."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.sandbox.runner.failures import REASON_LENGTH, algorithm_error, download_failed


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        ("", 1, "AlgorithmError: , exit code: 1"),
        ("  the loss is NaN\n", 3, "AlgorithmError: the loss is NaN, exit code: 3"),
        ("out of memory", 137, "AlgorithmError: out of memory, exit code: 137"),
    ],
)
def test_a_script_that_fails_gives_its_words_and_its_code(said: str, code: int, reason: str) -> None:
    assert algorithm_error(said, code) == reason


def test_long_words_are_cut_and_the_code_stays() -> None:
    reason = algorithm_error("é" * 5000, 139)
    assert len(reason) == REASON_LENGTH == 1024
    assert reason.endswith("é, exit code: 139")


def test_data_that_can_not_be_had_is_the_clients_fault() -> None:
    assert str(download_failed("no such bucket")) == "ClientError: Data download failed:no such bucket"
