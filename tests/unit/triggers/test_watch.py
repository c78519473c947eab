"""The watcher: what its looks cost, what they tell to whom, and how it goes on whatever happens."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.aws.event_queue import Hint
from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.events import Glimpsed, Seen, Stop, Unseen
from airflow_sm_prefer.triggers import event_source, metrics, watch
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.waits import Heard, Over, Wait
from airflow_sm_prefer.triggers.watch import Watcher, watcher_for
from tests import virtual_time
from tests.unit.triggers.builders import NOW, hear
from tests.unit.triggers.cloud import COMPLETED, TRAINING, Cloud, failed

NEVER = 1e12


class Bench:
    """A watcher of jobs in a cloud, and what has been heard when."""

    def __init__(self, cloud: Cloud, clock: FakeClock) -> None:
        self.cloud, self.clock = cloud, clock
        self.heard: dict[str, list[tuple[float, Heard]]] = {}
        self.waits: list[Wait] = []
        self._listening: list[asyncio.Task[None]] = []

    @property
    def watcher(self) -> Watcher:
        return watcher_for(Connection(), JobKind.TRAINING, None, self.clock)

    def watch(self, handle: str = "job-1", due: float = NEVER, every: float = 30.0, status: str = "told") -> Wait:
        wait = self.watcher.watch(handle, self.cloud.clock.time(), due, every)
        wait.status = "InProgress (Pending)" if status == "told" else status
        self.waits.append(wait)
        self._listening.append(asyncio.ensure_future(self._listen(wait)))
        return wait

    async def _listen(self, wait: Wait) -> None:
        """Do as a trigger does: end with what is over, and go on with all else."""
        try:
            while True:
                heard = await hear(wait)
                self.heard.setdefault(wait.handle, []).append((self.clock.time() - NOW, heard))
                if isinstance(heard, Over) or (isinstance(heard, Seen) and heard.observation.is_terminal):
                    return
                if isinstance(heard, Seen):
                    due = wait.due if wait.due > self.clock.time() else NEVER
                    wait.goes_on(f"{heard.observation.status} ({heard.observation.secondary})", due)
        finally:
            wait.close()

    def of(self, handle: str = "job-1", kind: type[Any] = object) -> list[Any]:
        return [heard for _, heard in self.heard.get(handle, []) if isinstance(heard, kind)]

    def when(self, handle: str = "job-1", kind: type[Any] = object) -> list[float]:
        return [at for at, heard in self.heard.get(handle, []) if isinstance(heard, kind)]

    def wait(self, seconds: float, *handles: str, dues: Sequence[float] = (), status: str = "told") -> None:
        """Have somebody wait for each of some jobs, or for ``job-1``, and time go on.

        Args:
            seconds: How long all of that goes on.
            handles: The jobs.
            dues: When something falls due for each of them; never for those who are left.
            status: What the tasks' logs have told last.
        """

        async def act() -> None:
            for handle, due in zip(handles or ("job-1",), chain(dues, repeat(NEVER)), strict=False):
                self.watch(handle, due, status=status)
            await asyncio.sleep(seconds)

        self.run(act)

    def run(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            try:
                await act()
            finally:
                for listening in self._listening:
                    listening.cancel()
                await asyncio.gather(*self._listening, return_exceptions=True)

        virtual_time.run(main(), self.clock)


@pytest.fixture
def bench(cloud: Cloud, clock: FakeClock) -> Bench:
    return Bench(cloud, clock)


@pytest.fixture
def healthy_events() -> Iterator[None]:
    with mock.patch.object(event_source, "is_healthy", return_value=True):
        yield


def over(handle: str = "job-1") -> Hint:
    return Hint(handle, True, None)


# -- listing -------------------------------------------------------------------------------------------------


def test_a_row_alone_wakes_a_task_and_costs_no_describe(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1", (60, COMPLETED))
    bench.wait(70)
    assert bench.of(kind=Over)
    assert 60 <= bench.when()[0] < 67
    assert cloud.count("describe") == 0


def test_what_has_changed_is_described_for_the_tasks_log_and_nothing_else_is(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1", (60, TRAINING))
    cloud.has("job-2")
    bench.wait(300, "job-1", "job-2")
    assert [seen.observation.secondary for seen in bench.of("job-1", Seen)] == ["Training"]
    assert cloud.count("describe", "job-1") == 1
    assert cloud.count("describe", "job-2") == 0


def test_a_task_whose_log_has_told_nothing_yet_gets_a_first_description(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")
    bench.wait(100, status="")
    assert len(bench.of(kind=Seen)) == cloud.count("describe") == 1


def test_a_job_that_no_listing_shows_is_described(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1", (100, COMPLETED))
    cloud.hidden.add("job-1")
    bench.wait(700)
    assert bench.of(kind=Seen)


def test_a_job_that_is_gone_is_said_to_be_lost_and_never_to_be_there_again(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-2")
    bench.wait(900, "job-1", "job-2")
    assert {heard.judgement.verdict for heard in bench.of("job-1")} == {"lost"}
    assert len(bench.of("job-1")) > 10
    assert bench.of("job-2", Unseen) == []


def test_who_looks_often_has_everybody_looked_at_often_until_it_leaves(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")

    async def act() -> None:
        bench.watch(every=600.0)
        await asyncio.sleep(600)
        seldom = cloud.count("page")
        bench.watch(every=12.0)
        await asyncio.sleep(600)
        often = cloud.count("page") - seldom
        assert often > 5 * seldom
        bench.waits[1].close()
        await asyncio.sleep(600)
        assert cloud.count("page") - seldom - often < often / 5

    bench.run(act)


def test_looks_are_fewer_while_events_are_healthy(bench: Bench, cloud: Cloud, healthy_events: None) -> None:
    cloud.has("job-1")
    bench.wait(600)
    assert cloud.count("page") <= 600 / 30 + 3


def test_all_calls_together_keep_to_the_rate_though_thousands_begin_in_one_second(bench: Bench, cloud: Cloud) -> None:
    for number in range(3000):
        cloud.has(f"job-{number}", age=number * 0.5)

    async def act() -> None:
        for number in range(3000):
            bench.watch(f"job-{number}")
        await asyncio.sleep(150)

    bench.run(act)
    assert len(cloud.calls) <= 1.0 * 151 + 1
    per_second = Counter(int(call.at) for call in cloud.calls)
    assert max(per_second.values()) <= 2


# -- failures ------------------------------------------------------------------------------------------------


def test_where_jobs_may_not_be_listed_they_are_looked_at_one_by_one(
    bench: Bench, cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.failing["page"] = failed(FailureKind.DENIED, "ListTrainingJobs")
    cloud.has("job-1", (60, COMPLETED))
    cloud.has("job-2")
    bench.wait(300, "job-1", "job-2")
    assert 60 <= bench.when("job-1", Seen)[-1] < 92
    assert cloud.count("page") == 1
    assert bench.of("job-2", Unseen) == []
    assert 300 / 30 - 2 <= cloud.count("describe", "job-2") <= 300 / 30 + 2
    assert "looked at one by one" in caplog.text


def test_a_listing_that_was_denied_is_asked_for_again_after_ten_minutes(bench: Bench, cloud: Cloud) -> None:
    cloud.failing["page"] = failed(FailureKind.DENIED, "ListTrainingJobs")
    cloud.has("job-1")

    async def act() -> None:
        bench.watch()
        await asyncio.sleep(100)
        del cloud.failing["page"]
        await asyncio.sleep(900)

    bench.run(act)
    assert cloud.count("page") > 5
    assert cloud.count("describe") < 30


def test_credentials_that_fail_are_told_to_all_tried_again_with_a_new_client_and_told_to_be_well(
    bench: Bench, cloud: Cloud
) -> None:
    for number in range(50):
        cloud.has(f"job-{number}")

    async def act() -> None:
        for number in range(50):
            bench.watch(f"job-{number}")
        await asyncio.sleep(100)
        assert cloud.built == 1
        cloud.failing["page"] = cloud.failing["describe"] = failed(FailureKind.CREDENTIALS)
        await asyncio.sleep(200)
        for number in range(50):
            worries = bench.of(f"job-{number}", Unseen)
            assert 3 <= len(worries) <= 6
            assert {worry.judgement.verdict for worry in worries} == {"credentials"}
            assert not bench.of(f"job-{number}", Glimpsed)
        assert 3 <= cloud.built <= 5
        cloud.failing.clear()
        await asyncio.sleep(60)

    bench.run(act)
    assert all(len(bench.of(f"job-{number}", Glimpsed)) == 1 for number in range(50))


def test_a_listing_that_fails_for_a_moment_is_nobodys_worry(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")
    blips = iter([failed(FailureKind.SERVER)] * 3)

    async def act() -> None:
        bench.watch()
        await asyncio.sleep(60)
        cloud.failing["page"] = lambda: next(blips, None)
        await asyncio.sleep(60)

    bench.run(act)
    assert next(blips, None) is None
    assert bench.of() == []


@pytest.mark.parametrize("kind", [FailureKind.THROTTLED, FailureKind.NETWORK, FailureKind.SERVER])
def test_a_listing_that_keeps_failing_is_told_tried_ever_less_often_and_told_to_be_well(
    bench: Bench, cloud: Cloud, kind: FailureKind
) -> None:
    cloud.has("job-1")

    async def act() -> None:
        bench.watch()
        await asyncio.sleep(30)
        before = cloud.count("page")
        cloud.failing["page"] = failed(kind)
        await asyncio.sleep(300)
        assert 8 <= cloud.count("page") - before <= 40
        assert bench.of(kind=Unseen)
        cloud.failing.clear()
        await asyncio.sleep(60)

    bench.run(act)
    assert len(bench.of(kind=Glimpsed)) == 1


@pytest.mark.parametrize(
    "failing",
    [failed(FailureKind.SERVER), failed(FailureKind.THROTTLED), failed(FailureKind.DENIED), KeyError("unreadable")],
    ids=str,
)
def test_a_describe_that_always_fails_for_one_job_delays_no_other(
    bench: Bench, cloud: Cloud, failing: Exception
) -> None:
    cloud.failing["describe bad"] = failing
    cloud.has("bad", (20, TRAINING))
    cloud.has("good", (60, TRAINING), (90, COMPLETED))
    bench.wait(300, "bad", "good", dues=(NOW + 10, NOW + 75))
    assert bench.when("good", Seen)[0] < 70
    assert any(75 <= at < 78 for at in bench.when("good", Seen))
    assert bench.when("good")[-1] < 100
    assert 4 <= cloud.count("describe", "bad") <= 12


def test_an_answer_that_can_not_be_read_is_a_describe_that_failed(bench: Bench, cloud: Cloud) -> None:
    cloud.has("bad", TrainingJobName=None, SecondaryStatusTransitions=[7])
    cloud.has("good", (60, TRAINING))
    bench.wait(100, "bad", "good", dues=(NOW + 5, NOW + 6))
    assert bench.of("bad", Unseen)
    assert bench.when("good", Seen)[0] < 12


# -- what falls due, and stops -------------------------------------------------------------------------------


def test_what_falls_due_has_the_job_described_though_nothing_is_new(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")
    bench.wait(400, dues=(NOW + 200,))
    assert [round(at) for at in bench.when(kind=Seen)] == [200]


def test_what_was_due_before_the_wait_began_has_the_job_described_at_once(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")
    bench.wait(20, dues=(NOW - 100,))
    assert bench.when(kind=Seen)[0] < 3


def test_of_two_who_wait_for_a_job_the_first_for_whom_something_falls_due_counts(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")
    bench.wait(150, "job-1", "job-1", dues=(NOW + 100, NOW + 5000))
    assert [round(at) for at in bench.when(kind=Seen)] == [100, 100]


def test_a_stop_goes_out_until_it_is_taken_unless_its_wait_is_over(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")
    cloud.has("job-2", (20, COMPLETED))
    cloud.failing["stop"] = failed(FailureKind.THROTTLED)

    async def act() -> None:
        for handle in ("job-1", "job-2"):
            bench.watch(handle)
            bench.watcher.stop(Stop(handle, ""), logging.getLogger("task"))
        await asyncio.sleep(100)
        assert bench.of("job-2", Over)
        sent = cloud.count("stop", "job-2")
        cloud.failing.clear()
        await asyncio.sleep(100)
        assert cloud.count("stop", "job-2") == sent
        assert bench.of("job-1", Over)

    bench.run(act)


# -- hints ---------------------------------------------------------------------------------------------------


def test_a_hint_has_its_job_looked_at_within_two_seconds(bench: Bench, cloud: Cloud, healthy_events: None) -> None:
    cloud.has("job-1", (100, COMPLETED))

    async def act() -> None:
        bench.watch()
        await asyncio.sleep(100)
        bench.watcher.hint(over())
        await asyncio.sleep(5)

    bench.run(act)
    assert 100 <= bench.when()[0] < 102


@pytest.mark.parametrize("is_over", [True, False])
def test_a_forged_hint_wakes_nobody(bench: Bench, cloud: Cloud, is_over: bool) -> None:
    cloud.has("job-1")

    async def act() -> None:
        bench.watch()
        await asyncio.sleep(20)
        bench.watcher.hint(Hint("job-1", is_over, None))
        bench.watcher.hint(over("nobody's"))
        await asyncio.sleep(60)

    bench.run(act)
    assert bench.of(kind=Over) == []
    assert cloud.count("describe", "nobody's") == 0
    assert cloud.count("describe", "job-1") <= 2


def test_doubled_hints_cost_no_more_than_one_look(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1")
    cloud.failing["page"] = failed(FailureKind.DENIED)

    async def act() -> None:
        bench.watch(every=300.0)
        await asyncio.sleep(100)
        before = cloud.count("describe")
        for _ in range(50):
            bench.watcher.hint(over())
        await asyncio.sleep(50)
        assert cloud.count("describe") == before + 1

    bench.run(act)


class Late:
    """A watcher whose listing is of no use for hints, with hints that prove true one after the other."""

    def __init__(self, bench: Bench, cloud: Cloud) -> None:
        self.bench, self.cloud, self._number = bench, cloud, 0
        cloud.failing["page"] = failed(FailureKind.DENIED)

    async def proves(self, times: int) -> None:
        for _ in range(times):
            self._number += 1
            handle = f"proof-{self._number}"
            self.cloud.has(handle)
            self.bench.watch(handle)
            await asyncio.sleep(5)
            self.cloud.becomes(handle, COMPLETED)
            self.bench.watcher.hint(over(handle))
            await asyncio.sleep(5)
            assert self.bench.of(handle, Seen)

    async def many_hints(self, name: str) -> list[str]:
        """Give hints about jobs that aren't over, more than there are turns for; returns who believed them."""
        handles = [f"{name}-{number}" for number in range(12)]
        for handle in handles:
            self.cloud.has(handle)
            self.bench.watch(handle)
        await asyncio.sleep(30)
        for handle in handles:
            self.bench.watcher.hint(over(handle))
        await asyncio.sleep(0.5)
        woken = [handle for handle in handles if self.bench.of(handle, Over)]
        await asyncio.sleep(30)
        return woken


@pytest.mark.parametrize(("proofs", "believed"), [(2, 0), (3, 10)])
def test_hints_that_can_not_be_looked_into_are_believed_after_a_few_proofs(
    bench: Bench, cloud: Cloud, proofs: int, believed: int
) -> None:
    late = Late(bench, cloud)

    async def act() -> None:
        bench.watch("other")
        await late.proves(proofs)
        assert len(await late.many_hints("many")) == believed

    bench.run(act)


def test_a_worker_that_comes_back_ends_the_belief_in_hints(bench: Bench, cloud: Cloud) -> None:
    late = Late(bench, cloud)

    async def act() -> None:
        bench.watch("other")
        cloud.has("other")
        await late.proves(20)
        # No look says anything of these, so that nothing but the worker can.
        cloud.failing |= {
            f"describe {name}-{n}": failed(FailureKind.SERVER) for name in ("many", "more") for n in range(12)
        }
        woken = await late.many_hints("many")
        assert woken
        bench.watch(woken[0])
        assert await late.many_hints("more") == []

    bench.run(act)


def test_a_hint_that_proves_false_ends_the_belief_in_hints(bench: Bench, cloud: Cloud) -> None:
    late = Late(bench, cloud)

    async def act() -> None:
        bench.watch("other")
        cloud.has("other")
        await late.proves(20)
        bench.watcher.hint(over("other"))
        await asyncio.sleep(10)
        assert await late.many_hints("many") == []

    bench.run(act)


# -- going on, and ending ------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["_list", "_describe", "_tell"])
def test_a_loop_that_raises_goes_on(bench: Bench, cloud: Cloud, inside: str, caplog: pytest.LogCaptureFixture) -> None:
    cloud.has("job-1", (60, TRAINING), (200, COMPLETED))
    real, blips = getattr(Watcher, inside), iter([KeyError("inside")] * 2)

    async def broken(watcher: Watcher, *of: Any) -> None:
        if blip := next(blips, None):
            raise blip
        await real(watcher, *of)

    async def act() -> None:
        bench.watch(status="")
        await asyncio.sleep(230)

    with mock.patch.object(Watcher, inside, broken):
        bench.run(act)
    assert next(blips, None) is None
    assert bench.when(kind=Over)[0] < 215
    assert caplog.text.count("had an error, and goes on") == 2


@pytest.mark.parametrize("loop", ["_list_on", "_describe_on"])
def test_a_loop_that_is_cancelled_is_begun_anew(bench: Bench, cloud: Cloud, loop: str) -> None:
    cloud.has("job-1", (60, TRAINING), (200, COMPLETED))

    async def act() -> None:
        bench.watch()
        await asyncio.sleep(20)
        bench.watcher._loops._tasks[getattr(bench.watcher, loop)].cancel()
        await asyncio.sleep(230)

    bench.run(act)
    assert bench.when(kind=Seen)[0] < 70
    assert bench.when(kind=Over)[0] < 210


def test_a_clock_that_is_set_back_delays_nothing(cloud: Cloud, clock: FakeClock) -> None:
    wall = SimpleNamespace(behind=0.0, time=lambda: clock.time() - wall.behind)

    class ByTheWall(Bench):
        watcher = property(lambda self: watcher_for(Connection(), JobKind.TRAINING, None, wall))

    bench = ByTheWall(cloud, clock)
    cloud.has("job-1", (60, COMPLETED))

    async def act() -> None:
        bench.watch()
        await asyncio.sleep(30)
        wall.behind = 3600.0
        await asyncio.sleep(50)

    bench.run(act)
    assert bench.when(kind=Over)[0] < 75


def test_two_who_wait_for_a_job_both_hear_of_its_end(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1", (60, COMPLETED))
    bench.wait(70, "job-1", "job-1")
    assert bench.of() == [Over(), Over()]
    assert cloud.count("describe") == 0


def test_one_who_leaves_takes_nothing_from_another_who_waits_for_the_same_job(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1", (60, COMPLETED))

    async def act() -> None:
        bench.watch()
        bench.watch()
        await asyncio.sleep(30)
        bench.waits[0].close()
        await asyncio.sleep(40)

    bench.run(act)
    assert bench.of() == [Over()]


def test_a_wait_that_is_closed_twice_ends_nothing_of_those_who_came_after(bench: Bench, cloud: Cloud) -> None:
    cloud.has("job-1", (60, COMPLETED))

    async def act() -> None:
        first = bench.watch()
        before = bench.watcher
        first.close()
        bench.watch()
        after = bench.watcher
        first.close()
        assert after is not before
        assert bench.watcher is after
        await asyncio.sleep(70)

    bench.run(act)
    assert bench.of(kind=Over)


@pytest.mark.parametrize("failing", [None, failed(FailureKind.NETWORK)], ids=str)
def test_nothing_is_left_behind_when_the_last_wait_is_closed(
    bench: Bench, cloud: Cloud, failing: Exception | None
) -> None:
    for handle in ("job-1", "job-2"):
        cloud.has(handle)
    if failing:
        cloud.failing |= {"page": failing, "stop": failing}

    async def act() -> None:
        waits = [bench.watch("job-1"), bench.watch("job-2")]
        bench.watcher.stop(Stop("job-1", ""), logging.getLogger("task"))
        await asyncio.sleep(99)
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("sm-prefer-watch")]
        assert threads
        waits[0].close()
        assert watch._watchers
        waits[1].close()
        assert watch._watchers == {}
        await asyncio.sleep(0.1)
        ours = {asyncio.current_task(), *bench._listening}
        assert asyncio.all_tasks() <= ours
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()

    with mock.patch.object(event_source, "listen") as listen, mock.patch.object(event_source, "unlisten") as unlisten:
        bench.run(act)
    assert listen.call_args_list == unlisten.call_args_list


def test_what_the_watcher_logs_belongs_to_no_task(bench: Bench, cloud: Cloud) -> None:
    whose: contextvars.ContextVar[str] = contextvars.ContextVar("whose", default="nobody's")
    seen: list[str] = []
    cloud.failing["page"] = failed(FailureKind.DENIED)
    cloud.has("job-1")

    async def act() -> None:
        whose.set("the first task's")
        bench.watch()
        await asyncio.sleep(30)

    with mock.patch.object(watch.log, "warning", side_effect=lambda *_: seen.append(whose.get())):
        bench.run(act)
    assert seen == ["nobody's"]


def test_the_metrics_count_all_watchers_of_a_kind(bench: Bench, cloud: Cloud, clock: FakeClock) -> None:
    told: list[tuple[str, int]] = []

    async def act() -> None:
        for number in range(3):
            cloud.has(f"job-{number}")
            bench.watch(f"job-{number}")
        other = watcher_for(Connection(region_name="eu-west-1"), JobKind.TRAINING, None, clock)
        wait = other.watch("job-0", NOW, NEVER, 30.0)
        await asyncio.sleep(30)
        wait.close()

    with mock.patch.object(metrics, "waiting", lambda *of: told.append(of)):
        bench.run(act)
    assert ("training", 4) in told
    assert told[-1] == ("training", 0)


def test_each_queue_kind_and_connection_has_a_watcher_of_its_own(bench: Bench, cloud: Cloud, clock: FakeClock) -> None:
    async def act() -> None:
        of = [
            (Connection(), JobKind.TRAINING, None),
            (Connection(), JobKind.PROCESSING, None),
            (Connection(), JobKind.TRAINING, "p5"),
            (Connection(region_name="eu-west-1"), JobKind.TRAINING, None),
        ]
        watchers = [watcher_for(*each, clock) for each in of]
        assert len(set(map(id, watchers))) == 4
        assert [watcher_for(*each, clock) for each in of] == watchers
        for watcher in watchers:
            watcher.watch("job-1", NOW, NEVER, 30.0).close()

    bench.run(act)
