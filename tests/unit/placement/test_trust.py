"""How far hints are believed."""

from __future__ import annotations

from airflow_sm_prefer.placement.trust import Trust

NOW = 1_800_000_000.0


def proved(times: int, now: float, trust: Trust | None = None) -> Trust:
    trust = trust or Trust()
    for _ in range(times):
        trust.proved(right=True, now=now)
    return trust


def test_trust_is_earned_by_three_that_were_true() -> None:
    assert not Trust().is_earned(NOW)
    assert not proved(2, NOW).is_earned(NOW)
    assert proved(3, NOW).is_earned(NOW)


def test_one_that_is_false_costs_all_of_it_for_ten_minutes() -> None:
    trust = proved(40, NOW)
    trust.proved(right=False, now=NOW)
    assert not trust.is_earned(NOW + 601)
    proved(3, NOW + 1, trust)
    assert not trust.is_earned(NOW + 599)
    assert trust.is_earned(NOW + 600)
