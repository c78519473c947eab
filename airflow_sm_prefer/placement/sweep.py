"""Going through a listing to look at the jobs that are waited for, and at as few others as can be.

AWS gives a page of a hundred jobs, newest first, and may apply every filter but that of the creation time only after it
has cut the page. So what is between two jobs that are waited for is jumped over by the time of their creation.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice

from airflow_sm_prefer.placement.listing import Page, Question
from airflow_sm_prefer.placement.roll import Roll, Wanted, Watched

#: After so many pages in a row that show nobody who is wanted, they are looked at one by one too, however many.
_BARREN = 20

#: So few who are left far down the listing, or aren't where they should be, are looked at one by one.
FEW = 5


class Sweep:
    """One way through a listing, from the newest job that is wanted to the oldest.

    Args:
        roll: Who is waited for.
        wanted: Whether somebody is looked for.
        now: The instant, by our clock.
        name_contains: What the names of all of them contain.
        jumps: Whether the listing takes a bound of the creation time from above.
    """

    def __init__(self, roll: Roll, wanted: Wanted, now: float, name_contains: str, *, jumps: bool = True) -> None:
        self._roll, self._of_interest, self._jumps = roll, wanted, jumps
        self._done: set[str] = set()
        #: When it began, by our clock.
        self.began = now
        #: How many calls it took so far.
        self.calls = 0
        self._barren = 0
        first = roll.newest(self._is_wanted)
        #: How far down it has come: everybody who was created after that has been shown.
        self._low = first.latest if first else 0.0
        #: The next call; None when the sweep is over.
        self.question: Question | None = None
        if first is not None:
            before = math.floor(first.latest) + 1.0 if jumps and math.isfinite(first.latest) else None
            self.question = Question(math.floor(roll.oldest()) - 1.0, before, name_contains=name_contains)

    def answered(self, asked: Question, page: Page, shown: Collection[str]) -> list[Watched]:
        """Go on from an answer.

        Args:
            asked: The question that it is an answer to.
            page: The answer.
            shown: The handles of those who are waited for and have a row there.

        Returns:
            Those who are to be looked at one by one, while the sweep goes on without them: whom the listing doesn't
            show, though it should have by now, and a few who are left far down.
        """
        self.calls += 1
        self._barren = 0 if shown else self._barren + 1
        self._done.update(shown)
        self._low = self._reached(asked, page)
        missing = self._pass_over(self._roll.between(self._low, math.inf, self._is_wanted))
        following = self._roll.newest(self._is_wanted, self._low)
        if following is None or page.token is None:
            self.question = None
            return missing
        self.question = self._next(asked, following, page.token)
        if self.question.token is None or not self._barren:
            return missing
        few = self._some_wanted(FEW + 1)
        if len(few) <= FEW or self._barren >= _BARREN:
            self.question = None
            missing += self._pass_over(filter(self._is_wanted, list(self._roll)))
        return missing

    def _reached(self, asked: Question, page: Page) -> float:
        if page.token is None:
            return asked.created_after
        # Whoever was jumped over isn't wanted, and a page may have no rows.
        reached = self._low if asked.created_before is None else min(self._low, asked.created_before)
        return min(reached, page.rows[-1].created) if page.rows else reached

    def _is_wanted(self, watched: Watched) -> bool:
        is_ours = watched.since <= self.began and watched.handle not in self._done
        return is_ours and self._of_interest(watched)

    def _pass_over(self, those: Iterable[Watched]) -> list[Watched]:
        passed = list(those)
        self._done.update(watched.handle for watched in passed)
        return passed

    def _some_wanted(self, number: int) -> list[Watched]:
        return list(islice((watched for watched in self._roll if self._is_wanted(watched)), number))

    def _next(self, asked: Question, following: Watched, token: str) -> Question:
        newest = min(following.latest, self._low)
        # Two seconds are the least that whole ones can pass over.
        if self._jumps and math.isfinite(newest) and math.floor(newest) + 2.0 <= self._low:
            return replace(asked, created_before=math.floor(newest) + 1.0, token=None)
        return replace(asked, token=token)
