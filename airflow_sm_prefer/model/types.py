"""Names of instance types: which are right for a kind of job, and what to say of the others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from airflow_sm_prefer import catalog
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.written import did_you_mean, joined, refused

#: What tells whether the installed botocore knows a type for a kind of job.
KnownTypes = Callable[[str], bool] | Collection[str]


@dataclass(frozen=True, slots=True)
class TypeNames:
    """The names of types that may be written for a kind of job.

    Attributes:
        kind: The kind of job.
        known: What the installed botocore knows for it.
        allow_unknown: Whether other types pass too, because they are newer than botocore.
    """

    kind: JobKind
    known: KnownTypes
    allow_unknown: bool = False

    def check(self, name: str, place: str) -> None:
        """Check that a type can be asked for.

        Raises:
            InvalidPreference: it can't; the message says what was probably meant.
        """
        if self._knows(name):
            return
        if not name.startswith("ml."):
            raise refused(
                place, f"{name!r} is no SageMaker instance type, whose names begin with 'ml.'", self._meant(name)
            )
        if self.allow_unknown:
            return
        if self.kind is JobKind.PROCESSING and name in catalog.TRAINING_TYPES:
            raise refused(place, f"processing jobs can't run on {name}, only training jobs can", self._instead(name))
        problem = f"the installed botocore knows no {self.kind.value} instance type {name!r}"
        raise refused(place, problem, self._meant(name))

    def check_reservable(self, name: str, place: str) -> None:
        """Check that a training plan can be of a type, as far as this version knows.

        Raises:
            InvalidPreference: AWS offers no plans for it.
        """
        if self.may_be_reserved(name):
            return
        raise refused(
            place,
            f"there are no training plans for {name}",
            f"Plans are offered for {joined(sorted(catalog.RESERVABLE_TYPES))}.",
        )

    def may_be_reserved(self, name: str) -> bool:
        """Tell whether a plan can be of a type; one that is newer than the catalog gets the benefit of the doubt."""
        if name in catalog.RESERVABLE_TYPES or self.allow_unknown:
            return True
        return catalog.is_accelerated(name) and name not in catalog.TRAINING_TYPES

    def _knows(self, name: str) -> bool:
        return self.known(name) if callable(self.known) else name in self.known

    def _names(self) -> Collection[str]:
        if not callable(self.known):
            return self.known
        return catalog.TRAINING_TYPES if self.kind is JobKind.TRAINING else catalog.PROCESSING_TYPES

    def _meant(self, name: str) -> str:
        """Say what was probably meant, and how a type that is newer than botocore gets through."""
        prefixed = name if name.startswith("ml.") else f"ml.{name}"
        if prefixed != name and self._knows(prefixed):
            return f"Did you mean {prefixed}?"
        newer = "A type newer than the installed botocore passes with allow_unknown_types=True."
        return f"{did_you_mean(prefixed, self._names())} {newer}".strip()

    def _instead(self, name: str) -> str:
        alike = catalog.same_accelerator(name, catalog.PROCESSING_TYPES)
        if alike:
            return f"With the same accelerator they run on {joined(alike)}."
        return "Their accelerated families are g4dn, g5, g6, g6e, g7, g7e and p3, and of p5 only ml.p5.4xlarge."
