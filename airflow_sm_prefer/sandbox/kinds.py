"""The kinds of job that the sandbox knows."""

from __future__ import annotations

from enum import StrEnum


class JobKind(StrEnum):
    """The two kinds of job, and how each is spelt in names of shapes."""

    TRAINING = "training"
    PROCESSING = "processing"

    @property
    def word(self) -> str:
        """``Training`` or ``Processing``, as members and operations begin."""
        return self.value.capitalize()
