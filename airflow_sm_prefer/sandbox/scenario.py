"""What happens in a sandbox: a scenario, as values. :mod:`~airflow_sm_prefer.sandbox.scenario_file` reads one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_sm_prefer.sandbox.batch.spec import BatchSpec
from airflow_sm_prefer.sandbox.capacity import Timeline
from airflow_sm_prefer.sandbox.faults import CallFault, JobFault
from airflow_sm_prefer.sandbox.plans import PlanSpec
from airflow_sm_prefer.sandbox.rates import DEFAULT_RATES
from airflow_sm_prefer.sandbox.settings import Settings


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that is given when a sandbox begins; without a word, capacity and quotas are ample.

    Attributes:
        capacity: On-Demand instances by type, over time.
        spot: Spot instances by type, over time.
        plans: Training plans.
        quotas: Service quotas by name, as ``ml.p5.48xlarge for training job usage``.
        rates: Calls a second by operation.
        call_faults: Calls that go wrong.
        job_faults: Jobs that AWS fails.
        missing_types: Instance types that this Region doesn't have.
        algorithms: By pattern of a training image, the patterns of the types that it supports.
        images: By pattern of an image, the Python that stands for it on this machine.
        batch: What every account has of AWS Batch.
        settings: How the sandbox behaves where AWS doesn't say.
    """

    capacity: Mapping[str, Timeline] = field(default_factory=dict)
    spot: Mapping[str, Timeline] = field(default_factory=dict)
    plans: tuple[PlanSpec, ...] = ()
    quotas: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_RATES))
    call_faults: tuple[CallFault, ...] = ()
    job_faults: tuple[JobFault, ...] = ()
    missing_types: frozenset[str] = frozenset()
    algorithms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    batch: BatchSpec = field(default_factory=BatchSpec)
    settings: Settings = field(default_factory=Settings)
