"""A small model of AWS's listings, and of the two loops that ask it; time is virtual, in seconds."""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from airflow_sm_prefer.aws.pacing import WATCH, Pacing
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.describing import Describing, Urgency
from airflow_sm_prefer.placement.listing import PAGE, Page, Question
from airflow_sm_prefer.placement.lookout import Looked, Lookout

START = 1_800_000_000.0
MARKER = "smpabcd"
LATENCY = 0.1
STALE_AFTER, DETAIL_EVERY = 600.0, 3.0


class Throttled(Exception):
    """The call had no answer, and may be made again."""


class Expired(Exception):
    """The token of the call is good no more."""


def name_of(number: int, *, ours: bool = True) -> str:
    return f"job-{MARKER}-{number:012d}".translate(str.maketrans("0189", "abcd")) + "-1" if ours else f"other-{number}"


@dataclass
class Job:
    """A job, with the instants by our clock at which it changed, and what to."""

    name: str
    created: float
    changes: list[tuple[float, str, str]]
    deleted: float = math.inf

    @property
    def ended(self) -> float:
        at, status, _ = self.changes[-1]
        return at if status == "Completed" else math.inf

    def at(self, instant: float) -> tuple[float, str, str]:
        return self.changes[max(0, bisect_right(self.changes, (instant, "~", "~")) - 1)]


@dataclass(frozen=True)
class Regime:
    """How AWS behaves.

    Attributes:
        modified_late: Whether what was modified is filtered only after the page is cut.
        name_late: Whether names are.
        lag: How far an answer may be behind at most.
        skew: How far AWS's clock is ahead of ours.
        date_skew: How far the clock of the Date header is ahead of ours; None for no header.
        failing: How likely a call fails.
        filters: Whether it is SageMaker's listing, and not that of a queue of Batch.
    """

    modified_late: bool = False
    name_late: bool = False
    lag: float = 0.0
    skew: float = 0.0
    date_skew: float | None = 0.0
    failing: float = 0.0
    filters: bool = True


class Aws:
    """The listing and the Describe of an account."""

    def __init__(self, jobs: list[Job], regime: Regime, draw: random.Random) -> None:
        self.jobs = {job.name: job for job in jobs}
        self.order = sorted(jobs, key=lambda job: (-job.created, job.name))
        self.regime, self.draw = regime, draw

    def page(self, question: Question, now: float) -> Page:
        assert all(at is None or at == math.floor(at) for at in (question.created_after, question.modified_after))
        regime = self.regime
        if self.draw.random() < regime.failing:
            raise Expired if question.token and self.draw.random() < 0.3 else Throttled
        view = now - self.draw.uniform(0, regime.lag)
        rows, last = [], (None if question.token is None else int(question.token))
        candidates = self._candidates(question, view, last)
        for number, job in candidates:
            last = number
            rows.append(job)
            if len(rows) == PAGE:
                break
        token = str(last) if next(candidates, None) is not None else None
        shown = tuple(self._row(job, view) for job in rows if self._passes(job, question, view))
        return Page(shown, token, self._date(now))

    def describe(self, name: str, now: float) -> Job | None:
        if self.draw.random() < self.regime.failing:
            raise Throttled
        job = self.jobs[name]
        return job if job.deleted > now else None

    def _date(self, now: float) -> float | None:
        return None if self.regime.date_skew is None else math.floor(now + self.regime.date_skew)

    def _candidates(self, question: Question, view: float, last: int | None) -> Iterator[tuple[int, Job]]:
        for number, job in enumerate(self.order):
            if (last is not None and number <= last) or job.created > view or job.deleted <= view:
                continue
            created = job.created + self.regime.skew
            if created <= question.created_after:
                return
            if question.created_before is not None and created >= question.created_before:
                continue
            if self._is_early(job, question, view):
                yield number, job

    def _is_early(self, job: Job, question: Question, view: float) -> bool:
        if not self.regime.name_late and question.name_contains not in job.name:
            return False
        return self.regime.modified_late or self._is_modified(job, question, view)

    def _is_modified(self, job: Job, question: Question, view: float) -> bool:
        return question.modified_after is None or job.at(view)[0] + self.regime.skew > question.modified_after

    def _passes(self, job: Job, question: Question, view: float) -> bool:
        return question.name_contains in job.name and self._is_modified(job, question, view)

    def _row(self, job: Job, view: float) -> Listed:
        at, status, secondary = job.at(view)
        skew = self.regime.skew
        return Listed(
            job.name,
            f"arn:{job.name}",
            status,
            job.created + skew,
            at + skew if status == "Completed" else None,
            at + skew if self.regime.filters else None,
            secondary,
        )


@dataclass
class Seen:
    """What has come of a run."""

    over: dict[str, float] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    lists: list[tuple[float, Question]] = field(default_factory=list)
    describes: list[tuple[float, str]] = field(default_factory=list)
    doubts: Counter[str] = field(default_factory=Counter)
    wholes: int = 0


class Run:
    """The loops of a watcher, as a process has them."""

    def __init__(self, aws: Aws, *, every: float = 5.0, rate: float = 1.4) -> None:
        self.aws, self.clock = aws, FakeClock(START)
        self.pacing = Pacing(self.clock, {WATCH: rate})
        self.lookout, self.describing, self.seen = Lookout(filters=aws.regime.filters), Describing(), Seen()
        self.every, self.failures, self.last_detail = every, 0, -math.inf
        self.plans: list[tuple[float, int, str, str]] = []
        self.same: tuple[Question | None, int] = None, 0
        self.stirred = False

    def plan(self, at: float, what: str, name: str) -> None:
        heapq.heappush(self.plans, (at, len(self.plans), what, name))

    def until(self, end: float) -> None:
        loops = {"list": self._list_on(), "describe": self._describe_on()}
        wake = {name: (self.clock.time(), True) for name in loops}
        while self.clock.time() < end:
            name = min(wake, key=lambda name: wake[name][0])
            at = min(wake[name][0], self.plans[0][0] if self.plans else math.inf, end)
            self.clock.sleep(at - self.clock.time())
            if self.plans and self.plans[0][0] <= at:
                _, _, what, handle = heapq.heappop(self.plans)
                self._happens(what, handle)
            elif at >= wake[name][0]:
                wake[name] = next(loops[name])
            else:
                return
            if self.stirred:
                wake = {one: (at if rests else due, rests) for one, (due, rests) in wake.items()}
                self.stirred = False

    def _happens(self, what: str, name: str) -> None:
        now = self.clock.time()
        self.stirred = True
        if what == "watch":
            self.lookout.watch(name, self.aws.jobs[name].created, now)
            self.lookout.every = self.every
            self.describing.want_at(name, now + STALE_AFTER, Urgency.STALE)
        elif name in self.lookout:
            if self.lookout.can_look_closely(now):
                self.lookout.hint(name, now)
            else:
                self.describing.want(name, Urgency.HINTED, now)

    def _list_on(self) -> Generator[tuple[float, bool]]:
        while True:
            now = self.clock.time()
            due = self.lookout.due(now)
            if due > now:
                yield due, True
                continue
            if not self.lookout.is_busy(now):
                yield now + self.pacing.acquire(WATCH), False
            if self.lookout.due(self.clock.time()) <= self.clock.time():
                yield from self._list()

    def _list(self) -> Generator[tuple[float, bool]]:
        question = self.lookout.ask(self.clock.time())
        yield self.clock.time() + self.pacing.acquire("ListTrainingJobs"), False
        self.seen.lists.append((self.clock.time(), question))
        try:
            page = self.aws.page(question, self.clock.time())
        except (Throttled, Expired) as error:
            self.failures += 1
            self.lookout.failed(for_good=isinstance(error, Expired))
            yield self.clock.time() + min(30.0, 2.0 ** min(self.failures, 5)), False
            return
        self.failures = 0
        yield self.clock.time() + LATENCY, False
        self._goes_on(question, page)
        self._hear(self.lookout.answered(question, page, self.clock.time()))

    def _goes_on(self, question: Question, page: Page) -> None:
        """Nobody gets ahead who asks the same again and again, without the pause between two ways."""
        is_soon = len(self.seen.lists) > 1 and self.seen.lists[-1][0] - self.seen.lists[-2][0] < 4
        times = self.same[1] + 1 if question == self.same[0] and page.token and is_soon else 0
        self.same = question, times
        assert times < 10, question

    def _hear(self, looked: Looked) -> None:
        now = self.clock.time()
        self.stirred = True
        self.seen.wholes += looked.is_whole
        for row in looked.over:
            self._is_over(row.handle)
        for row in [*looked.first, *looked.changed]:
            assert not row.is_over
            self.describing.want(row.handle, Urgency.CHANGED, now)
        for handle in [*looked.missing, *looked.hinted]:
            self.seen.doubts[handle] += 1
            self.describing.want(handle, Urgency.MISSING if handle in looked.missing else Urgency.HINTED, now)

    def _is_over(self, name: str) -> None:
        now = self.clock.time()
        assert self.aws.jobs[name].ended <= now, name
        self.seen.over.setdefault(name, now)
        self.lookout.forget(name)
        self.describing.forget(name)

    def _describe_due(self, now: float) -> float:
        first = self.describing.next(now)
        if first is None:
            return self.describing.due(now)
        can_wait = first[1] >= Urgency.CHANGED and not self.lookout.has_calls_to_spare(now)
        return max(now, self.last_detail + DETAIL_EVERY) if can_wait else now

    def _describe_on(self) -> Generator[tuple[float, bool]]:
        while True:
            now = self.clock.time()
            due = self._describe_due(now)
            if due > now:
                yield due, True
                continue
            yield now + self.pacing.acquire(WATCH), False
            if first := self.describing.next(self.clock.time()):
                yield from self._describe(first[0])

    def _describe(self, name: str) -> Generator[tuple[float, bool]]:
        self.last_detail = now = self.clock.time()
        self.seen.describes.append((now, name))
        try:
            job = self.aws.describe(name, now)
        except Throttled:
            self.describing.failed(name, now)
            return
        yield now + LATENCY, False
        if name not in self.lookout:
            self.describing.described(name)
        elif job is None:
            self.seen.gone.setdefault(name, now)
            self.lookout.forget(name)
            self.describing.forget(name)
        elif job.ended <= now:
            self._is_over(name)
        else:
            self.describing.described(name)
            self.lookout.described(name, job.created + self.aws.regime.skew)
            self.describing.want_at(name, self.clock.time() + STALE_AFTER, Urgency.STALE)
