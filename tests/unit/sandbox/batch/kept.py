"""A sandbox with queues and a state, and kills."""

from __future__ import annotations

from tests.unit.sandbox.batch.bench import BatchBench
from tests.unit.sandbox.state.kept import Kept


class KeptBatch(Kept, BatchBench):
    """A bench with queues that keeps a state."""

    def killed(self, *, down: float = 0) -> KeptBatch:
        copy = self.copied()
        self.clock.advance(down)
        return KeptBatch(copy, clock=self.clock, scripts=self.scripts)
