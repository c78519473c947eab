"""The reader of events in the triggerer: what it hands out, what it says, and when it ends."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from airflow_sm_prefer.aws.event_queue import Hint
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.triggers import event_source
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.event_source import EventSource, is_healthy, listen, unlisten

ONE, TWO = Hint("one", True, None), Hint("two", False, None)
REST = 0.25
HERE, THERE = Connection(region_name="us-west-2"), Connection(region_name="eu-west-1")


class Queue:
    """A queue whose answers a test puts down; without one, it blocks as a long poll does."""

    def __init__(self, *answers: list[Hint] | Exception) -> None:
        self.answers = list(answers)
        self.polls = 0
        self.threads: set[str] = set()
        self._there = threading.Condition()
        self._ended = False

    def put(self, *answers: list[Hint] | Exception) -> None:
        with self._there:
            self.answers += answers
            self._there.notify_all()

    def end(self) -> None:
        with self._there:
            self._ended = True
            self._there.notify_all()

    def receive(self, wait: float) -> list[Hint]:
        assert wait == 20
        self.threads.add(threading.current_thread().name)
        with self._there:
            self.polls += 1
            self._there.wait_for(lambda: self.answers or self._ended, timeout=30)
            answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer


def failed(kind: FailureKind, message: str = "no") -> CallFailed:
    return CallFailed(CallFailure(kind, kind.title(), message, "ReceiveMessage"))


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


class Bench:
    """A source on a fake clock, and what it has told."""

    def __init__(self, queue: Queue) -> None:
        self.clock, self.heard, self.made, self.pauses = FakeClock(), [], 0, []
        self.queue: Any = queue
        self.source = EventSource(self._make, self._hand_out, self.clock, self._sleep)

    def _make(self) -> Any:
        self.made += 1
        if isinstance(self.queue, Exception):
            raise self.queue
        return self.queue

    def _hand_out(self, hint: Hint) -> None:
        self.source.tell(hint)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.sleep(seconds)
        await asyncio.sleep(0)

    def hear(self, hint: Hint) -> None:
        self.heard.append(hint)


@pytest.fixture
async def queue() -> AsyncIterator[Queue]:
    queue = Queue()
    yield queue
    queue.end()


@pytest.fixture
async def bench(queue: Queue) -> AsyncIterator[Bench]:
    bench = Bench(queue)
    bench.source.listen(bench.hear)
    yield bench
    bench.source.unlisten(bench.hear)


async def test_what_the_queue_gives_is_heard_in_the_loop_and_read_in_a_thread(bench, queue):
    queue.put([ONE, TWO], [ONE])
    await until(lambda: bench.heard == [ONE, TWO, ONE])
    assert queue.threads == {"sm-prefer-events"}
    assert bench.made == 1


async def test_a_second_listener_hears_too_and_needs_no_second_reader(bench, queue):
    heard: list[Hint] = []
    bench.source.listen(heard.append)
    queue.put([ONE])
    await until(lambda: bench.heard == heard == [ONE])
    assert bench.made == 1
    assert bench.source.unlisten(heard.append)
    queue.put([TWO])
    await until(lambda: bench.heard == [ONE, TWO])
    assert heard == [ONE]


async def test_a_listener_that_fails_keeps_nobody_else_from_hearing(queue, caplog):
    bench = Bench(queue)
    bench.source.listen(mock.Mock(side_effect=KeyError("mine")))
    bench.source.listen(bench.hear)
    queue.put([ONE, TWO])
    await until(lambda: bench.heard == [ONE, TWO])
    assert "KeyError" in caplog.text


async def test_it_ends_with_its_last_listener_and_begins_again_with_the_next(bench, queue):
    await until(lambda: queue.polls == 1)
    assert not bench.source.unlisten(bench.hear)
    queue.put([])
    await until(bench.source._task.done)
    assert queue.polls == 1
    bench.source.listen(bench.hear)
    queue.put([ONE])
    await until(lambda: bench.heard == [ONE])


async def test_a_listener_that_comes_before_the_poll_of_the_last_has_ended_gets_what_it_brings(bench, queue):
    await until(lambda: queue.polls == 1)
    bench.source.unlisten(bench.hear)
    bench.source.listen(bench.hear)
    queue.put([ONE])
    await until(lambda: bench.heard == [ONE])


async def test_removing_a_stranger_changes_nothing(bench):
    assert bench.source.unlisten(print)


async def test_without_a_queue_it_ends_and_is_not_relied_on(caplog):
    bench = Bench(None)  # type: ignore[arg-type]
    bench.source.listen(bench.hear)
    await until(bench.source._task.done)
    assert not bench.source.is_healthy
    assert caplog.records == []


async def test_it_is_healthy_for_a_minute_after_each_answer(bench, queue):
    assert not bench.source.is_healthy
    queue.put([])
    await until(lambda: bench.source.is_healthy)
    bench.clock.advance(59)
    assert bench.source.is_healthy
    bench.clock.advance(1)
    assert not bench.source.is_healthy
    queue.put([])
    await until(lambda: bench.source.is_healthy)


async def test_pauses_grow_to_a_minute_and_begin_small_after_an_answer(bench, queue):
    queue.put(*[failed(FailureKind.NETWORK)] * 8, [ONE], failed(FailureKind.NETWORK), [TWO])
    await until(lambda: bench.heard == [ONE, TWO])
    assert [pause for pause in bench.pauses if pause != REST] == [1, 2, 4, 8, 16, 32, 60, 60, 1]


async def test_it_rests_after_a_poll_that_brought_little_and_goes_on_at_once_after_one_that_brought_more(bench, queue):
    queue.put([ONE] * 5, [ONE] * 10, [ONE] * 4, [], [ONE] * 5)
    await until(lambda: queue.polls == 6)
    assert len(bench.heard) == 24
    assert bench.pauses == [REST, REST]


async def test_after_a_failure_the_queue_is_made_anew_with_the_connection_as_it_is_then(bench, queue):
    queue.put(failed(FailureKind.CREDENTIALS), [ONE])
    await until(lambda: bench.heard == [ONE])
    assert bench.made == 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (failed(FailureKind.NOT_FOUND), "sm-prefer events apply"),
        (failed(FailureKind.DENIED), "Allow sqs:GetQueueUrl, sqs:ReceiveMessage and sqs:DeleteMessage"),
        (failed(FailureKind.CREDENTIALS), "Renew the credentials"),
        (NoCredentialsError(), "Renew the credentials"),
        (failed(FailureKind.THROTTLED, "slow down"), "slow down"),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), "http://127.0.0.1:1"),
        (InvalidSetting("events_queue is 'a b'"), "events_queue is 'a b'"),
        (KeyError("a bug"), "KeyError: 'a bug'"),
    ],
)
async def test_a_failure_is_said_once_with_what_to_do_and_ends_nothing(bench, queue, caplog, error, told):
    caplog.set_level(logging.INFO)
    queue.put(error, error, error, [ONE])
    await until(lambda: bench.heard == [ONE])
    failure, recovery = caplog.records
    assert told in failure.getMessage()
    assert (failure.levelname, recovery.levelname) == ("WARNING", "INFO")
    assert bool(failure.exc_info) is isinstance(error, KeyError)
    assert recovery.getMessage() == "Events are read again."


async def test_another_failure_is_said_too_and_so_is_the_same_after_an_answer(bench, queue, caplog):
    caplog.set_level(logging.WARNING)
    denied, network = failed(FailureKind.DENIED), failed(FailureKind.NETWORK)
    queue.put(denied, network, network, [ONE], network, [TWO])
    await until(lambda: bench.heard == [ONE, TWO])
    assert [record.getMessage().count("Denied") for record in caplog.records] == [1, 0, 0]


async def test_a_queue_that_can_not_be_made_is_tried_again(caplog):
    bench = Bench(InvalidSetting("no such connection"))  # type: ignore[arg-type]
    bench.source.listen(bench.hear)
    await until(lambda: bench.made >= 3)
    bench.queue = Queue([ONE])
    await until(lambda: bench.heard == [ONE])
    bench.source.unlisten(bench.hear)
    bench.queue.end()
    assert "no such connection" in caplog.text


async def test_a_listener_starts_it_again_after_it_was_cancelled(bench, queue):
    await until(lambda: queue.polls == 1)
    bench.source._task.cancel()
    await until(bench.source._task.done)
    queue.put([])
    await until(lambda: not queue.answers)
    bench.source.listen(bench.hear)
    queue.put([ONE])
    await until(lambda: bench.heard == [ONE])


async def test_what_it_logs_belongs_to_no_task(queue):
    task_of_the_log: contextvars.ContextVar[str] = contextvars.ContextVar("task", default="none")
    seen: list[str] = []
    source = EventSource(lambda: queue, lambda _: seen.append(task_of_the_log.get()))  # type: ignore[arg-type, return-value]
    token = task_of_the_log.set("the first task that listened")
    source.listen(print)
    task_of_the_log.reset(token)
    queue.put([ONE])
    await until(lambda: seen)
    assert seen == ["none"]
    source.unlisten(print)


def test_a_loop_that_ends_during_a_poll_is_not_held_up_and_leaves_no_error(caplog):
    queue = Queue()

    async def main() -> None:
        EventSource(lambda: queue, print).listen(print)  # type: ignore[arg-type, return-value]
        await until(lambda: queue.polls == 1)

    with mock.patch("threading.excepthook") as unhandled:
        asyncio.run(main())
        (poller,) = [thread for thread in threading.enumerate() if thread.name == "sm-prefer-events"]
        assert poller.daemon
        queue.put([ONE])
        poller.join(10)
        gc.collect()
    unhandled.assert_not_called()
    assert caplog.records == []


class Opened:
    """Connections whose queues are at hand."""

    def __init__(self) -> None:
        self.queues = {HERE.key: Queue(), THERE.key: Queue()}
        self.asked: list[Connection] = []

    def open(self, connection: Connection) -> Any:
        self.asked.append(connection)
        return self.queues[connection.key]


@pytest.fixture
def opened() -> Iterator[Opened]:
    opened = Opened()
    with mock.patch.object(event_source, "_open", opened.open), mock.patch.object(event_source, "_sources", {}):
        yield opened
        for queue in opened.queues.values():
            queue.end()


async def test_listeners_of_a_connection_share_a_reader(opened):
    first: list[Hint] = []
    second: list[Hint] = []
    listen(HERE, first.append)
    listen(Connection(region_name="us-west-2"), second.append)
    opened.queues[HERE.key].put([ONE])
    await until(lambda: first == second == [ONE])
    assert opened.asked == [HERE]


async def test_two_connections_that_share_a_queue_both_hear_what_either_reads(opened):
    here: list[Hint] = []
    there: list[Hint] = []
    listen(HERE, here.append)
    listen(THERE, there.append)
    opened.queues[HERE.key].put([ONE])
    await until(lambda: here == there == [ONE])
    opened.queues[THERE.key].put([TWO])
    await until(lambda: here == there == [ONE, TWO])


async def test_what_another_event_loop_reads_is_not_heard(opened):
    heard: list[Hint] = []
    listen(HERE, heard.append)
    other = asyncio.new_event_loop()
    event_source._hand_out(other, ONE)
    other.close()
    assert heard == []


async def test_health_is_a_connections_own(opened):
    listen(HERE, print)
    listen(THERE, print)
    opened.queues[HERE.key].put([])
    await until(lambda: is_healthy(HERE))
    assert not is_healthy(THERE)
    assert not is_healthy(Connection("another"))


async def test_the_last_listener_takes_the_reader_with_it(opened):
    listen(HERE, print)
    listen(HERE, repr)
    unlisten(HERE, print)
    opened.queues[HERE.key].put([])
    await until(lambda: is_healthy(HERE))
    unlisten(HERE, repr)
    assert not is_healthy(HERE)
    assert event_source._sources == {}
    unlisten(HERE, repr)


async def test_what_the_last_poll_of_a_former_reader_brings_is_heard_by_the_next_one(opened):
    heard: list[Hint] = []
    listen(HERE, print)
    await until(lambda: opened.queues[HERE.key].polls == 1)
    unlisten(HERE, print)
    listen(HERE, heard.append)
    await until(lambda: opened.queues[HERE.key].polls == 2)
    opened.queues[HERE.key].put([ONE], [TWO])
    await until(lambda: sorted(hint.handle for hint in heard) == ["one", "two"])


def test_each_event_loop_has_readers_of_its_own(opened):
    async def hear(hint: Hint) -> list[Hint]:
        heard: list[Hint] = []
        listen(HERE, heard.append)
        opened.queues[HERE.key].put([hint])
        await until(lambda: heard)
        unlisten(HERE, heard.append)
        return heard

    assert asyncio.run(hear(ONE)) == [ONE]
    opened.queues[HERE.key].put([])
    assert asyncio.run(hear(TWO)) == [TWO]
    assert opened.asked == [HERE, HERE]
    assert event_source._sources == {}


def test_the_queue_is_that_of_the_settings_and_read_with_the_connections_client(monkeypatch):
    monkeypatch.setenv("AIRFLOW__SM_PREFER__EVENTS_QUEUE", "mine")
    with mock.patch.object(Connection, "hook") as hook:
        queue = event_source._open(HERE)
    hook.return_value.client_for.assert_called_once_with("sqs")
    assert queue is not None
    assert queue._queue == "mine"
    monkeypatch.setenv("AIRFLOW__SM_PREFER__EVENTS_QUEUE", "")
    assert event_source._open(HERE) is None
