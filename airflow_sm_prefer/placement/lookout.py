"""Which List call comes next, and what its answer means to those who wait.

There are three ways to look. Who has never been seen is looked for first. What was *modified* lately is asked for every
few seconds, which finds in a call or two what has changed about ten thousand jobs, if AWS has an index for that. And
now and then, or all the time where AWS has none, the *whole* listing is gone through, so that nothing stays hidden for
ever behind a change that one answer didn't show yet.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.changes import Changes, Glance
from airflow_sm_prefer.placement.listing import PAGE, Page, Question
from airflow_sm_prefer.placement.naming import marker_of
from airflow_sm_prefer.placement.roll import Roll, Watched
from airflow_sm_prefer.placement.server_time import ServerTime
from airflow_sm_prefer.placement.sweep import FEW, Sweep

#: Real seconds between two looks for changes at least, while events tell of them.
CALM_EVERY = 30.0

#: The longest pause between two ways through a listing that has to be gone through all the time.
_LONGEST_PAUSE = 10.0

#: Real seconds between two ways through the whole listing where changes are asked for: at least, and for each call.
_HEAL_EVERY, _HEAL_PER_CALL = 120.0, 4.0

#: Real seconds between two ways to those who have never been seen.
_FRESH_EVERY = 2.0

#: The longest that a List is believed to be behind by itself, in seconds.
_LONGEST_OVERLAP = 60.0

#: So many calls for changes come in a row at most while there is a way to go on: hints may come all the time.
_IN_A_ROW = 2

#: How many calls a look for changes is worth at least that gives nothing new.
_WORTH = 3

#: A listing of so many pages is asked for changes twice as often: of so many jobs more end, and all wait for the first.
_MANY = 20

#: After so many pages of changes there may be any number of them.
_MORE = 2

#: How long AWS is held to have no index for changes, once it has shown that.
_LATE_FOR = 600.0

#: How long more Lists may be made after a job was found to be over, since others may be.
_BUSY_FOR = 15.0


@dataclass(slots=True)
class Looked:
    """What an answer has shown.

    Attributes:
        over: Rows of jobs that are over, and waited for.
        first: Rows of jobs that go on, and are seen for the first time.
        changed: Rows of jobs that go on, and show something that they didn't show before.
        missing: Jobs to look at one by one: the listing should show them, and doesn't.
        hinted: Jobs to look at one by one: they were hinted at, and the listing doesn't bear that out.
        is_whole: Whether everybody who has been seen is looked at with this.
    """

    over: list[Listed] = field(default_factory=list)
    first: list[Listed] = field(default_factory=list)
    changed: list[Listed] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    hinted: list[str] = field(default_factory=list)
    is_whole: bool = False


class Lookout:
    """Decides about the List calls of one listing; instants are by our clock, in seconds.

    Args:
        filters: Whether the listing can be asked by the time of creation from above, of modification, and by name.
    """

    def __init__(self, *, filters: bool = True) -> None:
        self._filters = filters
        self._roll = Roll()
        self._fresh: set[str] = set()
        self._hinted: dict[str, float] = {}
        self._markers: Counter[str] = Counter()
        self._time = ServerTime()
        self._way: Sweep | None = None
        self._way_to_fresh: Sweep | None = None
        self._asked: Sweep | Glance | None = None
        self._whole_began = self._fresh_began = -math.inf
        self._whole_calls = 1
        self._known_since = -math.inf
        self._last_horizon = -math.inf
        self._is_crowded = False
        self._in_a_row = 0
        self._late_until = self._busy_until = -math.inf
        # In the order in which they come: on a hint, all the time, and for what a List shows late.
        self._on_hint = Glance(every=0.5, overlap=1.0)
        self._often = Glance(every=math.inf, overlap=3.0)
        self._deep = Glance(every=60.0, overlap=90.0)
        #: Real seconds between two looks for changes at most.
        self.every = math.inf
        #: Whether events tell of changes, so that looks may be fewer.
        self.is_calm = False

    def __len__(self) -> int:
        return len(self._roll)

    def __contains__(self, handle: str) -> bool:
        return self._roll.get(handle) is not None

    # -- who is waited for -------------------------------------------------------------------------------

    def watch(self, handle: str, about: float, now: float) -> None:
        """Begin to look for a job that was created at about an instant; one that is looked for already stays."""
        if handle not in self:
            self._roll.add(handle, about, now)
            self._fresh.add(handle)
            self._markers[marker_of(handle)] += 1

    def forget(self, handle: str) -> None:
        """Look for a job no more."""
        if handle in self:
            self._roll.remove(handle)
            self._fresh.discard(handle)
            self._hinted.pop(handle, None)
            self._markers -= Counter([marker_of(handle)])

    def described(self, handle: str, created: float | None) -> None:
        """Say that a job was looked at by itself, and when AWS says that it was created."""
        watched = self._roll.get(handle)
        if watched is not None and created is not None:
            self._roll.place(watched, created)
            self._fresh.discard(handle)

    def hint(self, handle: str, now: float) -> None:
        """Say that a job may be over."""
        if handle in self:
            self._hinted[handle] = now

    # -- what is asked -----------------------------------------------------------------------------------

    def due(self, now: float) -> float:
        """Return when the next List call is wanted; infinite where nobody is waited for."""
        if not len(self):
            return math.inf
        if self._way or self._way_to_fresh:
            return now
        due = [self._whole_due(now), *(glance.due for glance in self._glances(now))]
        if self._fresh:
            due.append(self._fresh_began + _FRESH_EVERY)
        return max(now, min(due))

    def ask(self, now: float) -> Question:
        """Return the next List call; somebody has to be waited for, and the call to be due."""
        self._asked = asked = self._chosen(now)
        question = (asked.changes if isinstance(asked, Glance) else asked).question  # type: ignore[union-attr]
        assert question is not None
        return question

    def is_busy(self, now: float) -> bool:
        """Whether jobs are found to be over, and there is more to look through than a page or two."""
        changes = [glance.changes for glance in self._glances(now) if glance.changes]
        is_at_it = self._way or self._way_to_fresh or any(one.calls >= _MORE for one in changes)
        return now < self._busy_until and bool(is_at_it)

    def can_look_closely(self, now: float) -> bool:
        """Whether a hint is followed by a look through the listing that costs a call or two."""
        return self._cost() <= 1 or bool(self._glances(now))

    def has_calls_to_spare(self, now: float) -> bool:
        """Whether the listing leaves calls for others: it isn't gone through all the time, and no hint waits for it."""
        return self.can_look_closely(now) and not (self._way or self._way_to_fresh or self._hinted)

    def lag(self, now: float) -> float:
        """Return how old the oldest look is that somebody who is waited for relies on, in seconds."""
        since = [watched.since for watched in self._unseen()]
        if len(self._fresh) < len(self) and math.isfinite(self._known_since):
            since.append(self._known_since)
        return max((now - instant for instant in since), default=0.0)

    # -- what was answered -------------------------------------------------------------------------------

    def answered(self, question: Question, page: Page, now: float) -> Looked:
        """Take the answer to the question that was asked last."""
        asked, self._asked = self._asked, None
        assert asked is not None
        if page.date is not None:
            self._time.dated(page.date, now)
        looked, shown, news = Looked(), list[str](), 0
        for row in page.rows:
            if row.modified is not None:
                self._time.modified(row.modified, now)
            if (watched := self._roll.get(row.handle)) is not None:
                shown.append(row.handle)
                news += self._show(watched, row, looked, now)
        if looked.over:
            self._busy_until = now + _BUSY_FOR
        if isinstance(asked, Glance):
            self._after_changes(asked, page, news, looked, now)
        else:
            looked.missing += self._missing(asked.answered(question, page, shown))
            self._after_sweep(asked, looked)
        self._fresh.difference_update(looked.missing, looked.hinted)
        return looked

    def failed(self, *, for_good: bool = False) -> None:
        """Say that the question that was asked last had no answer.

        Args:
            for_good: Whether it will never have one, so that the way has to begin anew.
        """
        self._asked = None
        if for_good:
            self._whole_began = -math.inf if self._way else self._whole_began
            self._fresh_began = -math.inf if self._way_to_fresh else self._fresh_began
            self._way = self._way_to_fresh = None
            for glance in (self._on_hint, self._often, self._deep):
                glance.changes = None

    def _show(self, watched: Watched, row: Listed, looked: Looked, now: float) -> bool:
        """Take a row of somebody who is waited for; returns whether it says anything new."""
        shown = (row.status, row.secondary, row.reason, row.modified)
        before = watched.shown
        self._roll.place(watched, row.created)
        self._fresh.discard(row.handle)
        if row.is_over:
            looked.over.append(row)
            self._hinted.pop(row.handle, None)
        if shown == before or (before and _is_older(row.modified, before[-1])):
            return False
        watched.shown = shown
        if not row.is_over:
            (looked.changed if before else looked.first).append(row)
        if before and row.modified is not None:
            self._learn(row.modified, now)
        return True

    def _missing(self, missing: list[Watched]) -> list[str]:
        """Return who is to be described of those whom a listing doesn't show.

        Where that are many of whom nobody knows when they were created, they are looked for everywhere before.
        """
        astray = [watched for watched in missing if not (watched.is_placed or self._roll.is_anywhere(watched))]
        if len(astray) <= FEW:
            return [watched.handle for watched in missing]
        for watched in astray:
            self._roll.place_anywhere(watched)
        sought = {watched.handle for watched in astray}
        return [watched.handle for watched in missing if watched.handle not in sought]

    def _learn(self, modified: float, now: float) -> None:
        """Note a change that the last look for changes should have shown: asking further back would have."""
        behind = self._last_horizon - modified
        if behind > 0:
            self._time.mistaken(modified, now)
            self._often.overlap = min(_LONGEST_OVERLAP, max(self._often.overlap, behind + self._often.overlap))

    def _after_changes(self, glance: Glance, page: Page, news: int, looked: Looked, now: float) -> None:
        changes = glance.changes
        assert changes is not None
        changes.answered(page, news)
        if changes.question is not None:
            return
        glance.changes = None
        if changes.is_late:
            self._late_until = now + _LATE_FOR
        if changes.is_costly and glance is not self._deep:
            self._is_crowded = True
        if changes.is_complete:
            self._have_looked(changes.began, looked)
            if glance is not self._deep:
                self._last_horizon = changes.horizon

    def _after_sweep(self, sweep: Sweep, looked: Looked) -> None:
        self._known_since = self._known_since if math.isfinite(self._known_since) else sweep.began
        if sweep.question is not None:
            return
        if sweep is self._way_to_fresh:
            self._way_to_fresh = None
            return
        self._way, self._whole_calls, self._is_crowded = None, sweep.calls, False
        self._have_looked(sweep.began, looked)

    def _have_looked(self, began: float, looked: Looked) -> None:
        """Note that everybody who has been seen was looked at, after an instant."""
        self._known_since, looked.is_whole = max(self._known_since, began), True
        looked.hinted += [handle for handle, at in self._hinted.items() if at <= began]
        self._hinted = {handle: at for handle, at in self._hinted.items() if at > began}

    # -- the choice --------------------------------------------------------------------------------------

    def _chosen(self, now: float) -> Sweep | Glance:
        glance = next((glance for glance in self._glances(now) if glance.due <= now), None)
        if glance is None or (self._in_a_row >= _IN_A_ROW and self._is_way_due(now)):
            self._in_a_row = 0
            return self._next_way(now)
        self._in_a_row += 1
        if glance.changes is None:
            self._begin(glance, now)
        return glance

    def _next_way(self, now: float) -> Sweep:
        is_new = self._way is None and len(self._fresh) == len(self)
        if self._way_to_fresh is None and self._is_fresh_due(now) and not is_new:
            self._fresh_began = now
            self._way_to_fresh = self._sweep(now, fresh=True)
        if self._way_to_fresh:
            return self._way_to_fresh
        if self._way is None:
            self._whole_began = now
            self._fresh_began = now if is_new else self._fresh_began
            self._way = self._sweep(now)
        return self._way

    def _is_way_due(self, now: float) -> bool:
        return bool(self._way or self._way_to_fresh) or self._is_fresh_due(now) or self._whole_due(now) <= now

    def _is_fresh_due(self, now: float) -> bool:
        return self._fresh_began + _FRESH_EVERY <= now and any(self._is_left(watched) for watched in self._unseen())

    def _unseen(self) -> Iterator[Watched]:
        return (watched for handle in self._fresh if (watched := self._roll.get(handle)))

    def _is_left(self, watched: Watched) -> bool:
        """Whether the way through the whole listing that is under way doesn't look for somebody."""
        return self._way is None or watched.since > self._way.began

    def _glances(self, now: float) -> list[Glance]:
        """Return the ways in which changes are asked for now, the first that is due first; none where that is no use.

        It isn't where the whole listing is one call, and where AWS has no index for it.
        """
        often = self.every / 2 if self._cost() >= _MANY else self.every
        self._often.every = max(self.every, CALM_EVERY) if self.is_calm else often
        is_of_use = self._filters and not self._is_crowded and now >= self._late_until and self._cost() > 1
        if not is_of_use or self._time.at(now) is None or not math.isfinite(self._known_since):
            return []
        on_hint = [self._on_hint] if self._hinted or self._on_hint.changes else []
        return [*on_hint, self._often, self._deep]

    def _begin(self, glance: Glance, now: float) -> None:
        # The deep one goes by rows alone, so that dates which are of another clock are found out.
        is_deep = glance is self._deep
        since = (self._time.by_rows if is_deep else self._time.at)(self._known_since) or 0.0
        question = Question(
            created_after=math.floor(self._roll.oldest()) - 1.0,
            modified_after=float(math.floor(since - glance.overlap)),
            name_contains=self._name_contains(),
        )
        glance.began = now
        glance.changes = Changes(question, now, _WORTH if is_deep else max(_WORTH, self._cost() // 4))

    def _sweep(self, now: float, *, fresh: bool = False) -> Sweep:
        left = {watched.handle for watched in self._unseen() if self._is_left(watched)} if fresh else set()

        def wanted(watched: Watched) -> bool:
            return not fresh or (watched.handle in left and watched.handle in self._fresh)

        return Sweep(self._roll, wanted, now, self._name_contains(), jumps=self._filters)

    def _whole_due(self, now: float) -> float:
        cost, pause = self._cost(), max(self.every, CALM_EVERY) if self.is_calm else self.every
        if cost <= 1:
            return self._whole_began + (1.0 if self._hinted else pause)
        if self._glances(now):
            return self._whole_began + max(pause, _HEAL_EVERY, _HEAL_PER_CALL * cost)
        return self._whole_began + max(pause, min(_LONGEST_PAUSE, 2.0 * cost))

    def _cost(self) -> int:
        """Return about how many calls it takes to go through the whole listing."""
        return max(self._whole_calls, math.ceil(len(self) / PAGE))

    def _name_contains(self) -> str:
        return next(iter(self._markers)) if self._filters and len(self._markers) == 1 else ""


def _is_older(modified: float | None, than: float | None) -> bool:
    """Whether an answer is from before another that has come already."""
    return modified is not None and than is not None and modified < than
