"""One List call and its answer, as whoever decides about them sees them."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_sm_prefer.model.listed import Listed

#: Rows of a full page: the most that ListTrainingJobs, ListProcessingJobs and ListServiceJobs give at once.
PAGE = 100


@dataclass(frozen=True, slots=True)
class Question:
    """What a List call asks for; instants are by AWS's clock, and AWS takes whole seconds.

    Attributes:
        created_after: Only jobs that were created after that.
        created_before: Only jobs that were created before that; None for no bound. Batch has none.
        modified_after: Only jobs that were modified after that; None for all. Batch has none.
        name_contains: Only jobs with that in their names; empty for all.
        token: Where the answer before left off.
    """

    created_after: float
    created_before: float | None = None
    modified_after: float | None = None
    name_contains: str = ""
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A List call's answer.

    Attributes:
        rows: The jobs, newest first.
        token: Where the next page begins; None if this was the last.
        date: The instant at which AWS gave it, by AWS's clock, if it says.
    """

    rows: tuple[Listed, ...]
    token: str | None = None
    date: float | None = None

    @property
    def is_cut_short(self) -> bool:
        """Whether AWS has filtered the page after cutting it: it isn't full, and not the last."""
        return self.token is not None and len(self.rows) < PAGE
