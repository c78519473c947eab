from __future__ import annotations

from typing import Any

from airflow_sm_prefer.cli.demo.neighbour import FREED, PATIENCE_SECONDS, Neighbour


class FakeSandbox:
    def __init__(self) -> None:
        self.secondary = "Starting"
        self.set: list[dict[str, int]] = []

    def jobs(self) -> list[dict[str, Any]]:
        return [
            {"kind": "processing", "secondary": "Pending"},
            {"kind": "training", "secondary": self.secondary},
        ]

    def set_capacity(self, counts: dict[str, int]) -> None:
        self.set.append(counts)


def test_one_instance_comes_free_a_while_after_the_training_job_began_to_wait() -> None:
    sandbox, said, now = FakeSandbox(), [], [0.0]
    neighbour = Neighbour(
        "",
        lambda text, style: said.append(text),
        control=sandbox,  # type: ignore[arg-type]
        monotonic=lambda: now[0],
    )
    now[0] = 100
    neighbour.look()
    assert not sandbox.set

    sandbox.secondary = "Pending"
    neighbour.look()
    now[0] += PATIENCE_SECONDS - 1
    neighbour.look()
    assert not sandbox.set

    now[0] += 1
    neighbour.look()
    neighbour.look()
    assert sandbox.set == [{FREED: 1}]
    assert len(said) == 1
