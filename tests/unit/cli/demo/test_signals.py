from __future__ import annotations

import os
import signal

import pytest

from airflow_sm_prefer.cli.demo.errors import Interrupted
from airflow_sm_prefer.cli.demo.signals import SIGNALS, Signals


@pytest.fixture
def answers() -> list[str]:
    return []


@pytest.fixture
def signals(answers: list[str]) -> Signals:
    return Signals(lambda: answers.append("still at it"))


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_interrupts_and_no_other_does(signals: Signals, answers: list[str], number: int) -> None:
    with signals:
        with pytest.raises(Interrupted) as raised:
            send(number)
        send(number)
    assert raised.value.signal_number == number
    assert answers == ["still at it"]


def test_a_held_signal_comes_when_the_block_is_over(signals: Signals) -> None:
    reached = []

    def hold() -> None:
        with signals.held():
            send(signal.SIGTERM)
            reached.append("the end of the block")

    with signals, pytest.raises(Interrupted):
        hold()
    assert reached


def test_cleaning_up_is_not_interrupted(signals: Signals, answers: list[str]) -> None:
    with signals:
        signals.disarm()
        send(signal.SIGINT)
    assert answers


def test_the_handlers_are_as_they_were(signals: Signals) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with signals:
        pass
    assert [signal.getsignal(number) for number in SIGNALS] == before
