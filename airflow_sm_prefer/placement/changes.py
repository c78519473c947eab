"""Asking a listing for what was modified lately, which is a page or two where AWS has an index for that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from airflow_sm_prefer.placement.listing import PAGE, Page, Question


class Changes:
    """One question for what was modified after an instant, and its pages.

    Args:
        question: The question.
        now: The instant, by our clock.
        worth: How many calls it is worth at most that give nothing new.
    """

    def __init__(self, question: Question, now: float, worth: int) -> None:
        self.question: Question | None = question
        #: When it began, by our clock.
        self.began = now
        #: After when it asks for changes, by AWS's clock.
        self.horizon = question.modified_after or 0.0
        #: Whether all of the answer has come.
        self.is_complete = False
        #: Whether AWS filters after it has cut its pages, so that this costs as much as going through everybody.
        self.is_late = False
        #: How many calls it took so far.
        self.calls = 0
        self._worth, self._known = worth, 0

    @property
    def is_costly(self) -> bool:
        """Whether it gives too much that is known already."""
        return self._known > self._worth * PAGE

    def answered(self, page: Page, news: int) -> None:
        """Go on from a page with so many rows that say something new about somebody who is waited for."""
        assert self.question is not None
        self.calls += 1
        self._known += len(page.rows) - news
        self.is_late = page.is_cut_short
        if page.token is None:
            self.question, self.is_complete = None, True
        elif self.is_late or self.is_costly:
            self.question = None
        else:
            self.question = replace(self.question, token=page.token)


@dataclass(slots=True)
class Glance:
    """One of the ways to ask for changes: how often, and how far back.

    Attributes:
        every: Real seconds between two beginnings.
        overlap: How far back before the last look it asks, in seconds: a List may show a change late.
        began: When it last began, by our clock.
        changes: The question that is being asked; None between two.
    """

    every: float
    overlap: float
    began: float = -math.inf
    changes: Changes | None = None

    @property
    def due(self) -> float:
        """When its next call is wanted."""
        return self.began if self.changes else self.began + self.every
