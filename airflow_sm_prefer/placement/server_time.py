"""What time it is at AWS, as far as its answers tell: its clock and ours may differ, and its bounds are by its own."""

from __future__ import annotations

import math


class ServerTime:
    """An estimate of AWS's clock that, once it has settled, is never ahead of it.

    A row that was modified at an instant says that it is that late at AWS at least. The date of an answer says more;
    but it may come from another clock than the rows have, which is noticed when a change shows up too late.
    """

    def __init__(self) -> None:
        self._by_rows = -math.inf
        self._by_date = -math.inf
        self._trusts_dates = True

    def modified(self, instant: float, now: float) -> None:
        """Note that a row which is shown now was modified at an instant of AWS's."""
        self._by_rows = max(self._by_rows, instant - now)

    def dated(self, instant: float, now: float) -> None:
        """Note that an answer which has come now has a date of AWS's."""
        self._by_date = instant - now

    def mistaken(self, instant: float, now: float) -> None:
        """Begin anew with a row that is shown now, and go by rows alone: a change was missed by what was believed."""
        self._by_rows, self._trusts_dates = instant - now, False

    def at(self, now: float) -> float | None:
        """Return what AWS's clock shows at an instant of ours, or less; None before anything is known."""
        ahead = max(self._by_rows, self._by_date if self._trusts_dates else -math.inf)
        return None if math.isinf(ahead) else now + ahead

    def by_rows(self, now: float) -> float | None:
        """Return the same, but by what rows have shown alone."""
        return None if math.isinf(self._by_rows) else now + self._by_rows
