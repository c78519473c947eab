"""A preference list: the instance types that a job may run on, best first.

These are frozen values and nothing else. ``parsing`` makes them of what a DAG author wrote, ``helpers`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from airflow_sm_prefer.model.overrides import Overrides

#: How many entries AWS takes in one InstancePreferences (SageMaker API reference, ``InstancePreferenceList``).
NATIVE_LIST_LIMIT = 5


class CapacityKind(StrEnum):
    """Where the instances of a preference come from."""

    TRAINING_PLAN = "training_plan"
    ON_DEMAND = "on_demand"
    SPOT = "spot"


@dataclass(frozen=True, slots=True)
class Queue:
    """A job queue of AWS Batch, and whose share of it a job takes.

    Attributes:
        name: Its name, or its ARN.
        share_identifier: The share, where its scheduling policy is fair share.
        quota_share: The name of the quota share, where it manages quotas.
    """

    name: str
    share_identifier: str | None = None
    quota_share: str | None = None

    @property
    def share(self) -> str | None:
        """The share of either kind; None where the queue has none."""
        return self.share_identifier or self.quota_share


@dataclass(frozen=True, slots=True)
class InstancePreference:
    """One candidate of a list.

    Attributes:
        instance_type: SageMaker's name of the type, such as ``ml.p5.48xlarge``.
        instance_count: How many of them; None only where the count of the whole cluster applies.
        kind: Where they come from.
        training_plan_arn: The plan that they come from; set for training plans only.
        overrides: What else of the request changes when the job is sent for this candidate.
        wait_for_plan: Whether to wait for the plan's capacity instead of passing the candidate over.
        queue: The AWS Batch queue that the job waits in; None sends it to SageMaker itself.
    """

    instance_type: str
    instance_count: int | None = 1
    kind: CapacityKind = CapacityKind.ON_DEMAND
    training_plan_arn: str | None = None
    overrides: Overrides = field(default_factory=Overrides)
    wait_for_plan: bool = False
    queue: Queue | None = None


@dataclass(frozen=True, slots=True)
class PreferenceList:
    """Candidates in order, best first; any number of them, and a type may come twice.

    Attributes:
        preferences: The candidates; none only if the request goes out as it is written.
        uniform_count: The InstanceCount of the whole cluster, if it was written beside a list without counts.
        as_written: Whether the request says in a way of its own what to run on (InstanceGroups,
            InstancePlacementConfig, ServerlessJobConfig), so that there is nothing to choose and nothing to change.
    """

    preferences: tuple[InstancePreference, ...]
    uniform_count: int | None = None
    as_written: bool = False

    def __iter__(self) -> Iterator[InstancePreference]:
        return iter(self.preferences)

    def count_of(self, index: int) -> int:
        """Return how many instances the candidate at an index asks for.

        Raises:
            IndexError: there is no such candidate.
            ValueError: neither the candidate nor the cluster has a count, which parsing never lets through.
        """
        count = self.preferences[index].instance_count
        if count is None:
            count = self.uniform_count
        if count is None:
            msg = f"candidate {index} has no count, and the list has none either"
            raise ValueError(msg)
        return count


#: A request that says in a way of its own what to run on.
AS_WRITTEN = PreferenceList((), as_written=True)
