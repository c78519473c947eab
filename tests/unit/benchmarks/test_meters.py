"""The meters: what they say of known values."""

import asyncio
import contextlib
import gc
import time

import pytest

from benchmarks.watch.meters import Collections, Lags, Memory, percentile, watch_loop


@pytest.mark.parametrize(
    ("values", "share", "found"),
    [
        ([], 0.99, None),
        ([3.0], 0.5, 3.0),
        ([4.0, 1.0, 3.0, 2.0], 0.5, 2.0),
        ([float(n) for n in range(1, 101)], 0.99, 99.0),
        ([float(n) for n in range(1, 101)], 1.0, 100.0),
    ],
)
def test_a_percentile_is_a_value_that_so_many_dont_exceed(values, share, found):
    assert percentile(values, share) == found


def test_lags_are_told_once_in_milliseconds():
    lags = Lags()
    for now in (1.0, 1.0, 1.25, 0.5):
        lags.beat(1.0, now, busy=now / 4)
    assert lags.take() == {"max_ms": 250.0, "p99_ms": 250.0, "busy_ms": 312.5}
    assert lags.take() == {"max_ms": 0.0, "p99_ms": 0.0, "busy_ms": 0.0}


async def test_what_holds_the_loop_up_is_seen():
    lags = Lags()
    heart = asyncio.create_task(watch_loop(lags))
    await asyncio.sleep(0.02)
    time.sleep(0.2)
    await asyncio.sleep(0.02)
    heart.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await heart
    seen = lags.take()
    assert seen["max_ms"] > 190
    assert seen["busy_ms"] < 100


async def test_the_loops_own_work_is_told_from_what_it_waited_for():
    lags = Lags()
    heart = asyncio.create_task(watch_loop(lags))
    await asyncio.sleep(0.02)
    until = time.thread_time() + 0.2
    while time.thread_time() < until:
        pass
    await asyncio.sleep(0.02)
    heart.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await heart
    assert lags.take()["busy_ms"] > 190


def test_the_longest_collection_is_told_once():
    collections = Collections()
    gc.collect()
    assert collections.take() > 0
    assert collections.take() == 0.0


def test_memory_is_the_peak_over_what_there_was():
    memory = Memory()
    held = bytearray(50_000_000)
    held[::4096] = b"x" * len(held[::4096])
    del held
    assert 45e6 < memory.peak_growth() < 60e6
    assert memory.growth() < 20e6
