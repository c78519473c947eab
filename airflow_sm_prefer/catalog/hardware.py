"""What is inside an accelerated instance type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from airflow_sm_prefer.catalog._data import read
from airflow_sm_prefer.catalog.families import has_local_storage


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """The hardware of one type, as EC2's DescribeInstanceTypes tells it: ``ml.`` and EC2's name make ours.

    Attributes:
        accelerator: The model of accelerator, such as ``A100``.
        accelerator_count: How many of them one instance has.
        accelerator_memory_gib: The memory of each, in GiB, by its maker's nominal size.
        vcpu: Virtual CPUs.
        memory_gib: Main memory, in GiB.
        nvme_gb: Local disks in all, in GB; 0 if it has none.
    """

    accelerator: str
    accelerator_count: int
    accelerator_memory_gib: int
    vcpu: int
    memory_gib: int
    nvme_gb: int


@cache
def _specs() -> dict[str, InstanceSpec]:
    return {name: InstanceSpec(*row) for name, row in read("specs.json").items()}


def spec(instance_type: str) -> InstanceSpec | None:
    """Return what is known of an accelerated type's hardware; None for CPU types and for what isn't known."""
    return _specs().get(instance_type)


def local_storage_gb(instance_type: str) -> int | None:
    """Return the size of a type's own disks in GB: 0 if it has none, None if it has some of unknown size.

    SageMaker refuses a processing job that asks for more than that in VolumeSizeInGB (SageMaker API
    reference, ``ProcessingClusterConfig``).
    """
    known = spec(instance_type)
    if known is not None:
        return known.nvme_gb
    return None if has_local_storage(instance_type) else 0


def same_accelerator(instance_type: str, among: frozenset[str]) -> list[str]:
    """Return the types among some with the same model of accelerator, the one with most of them first."""
    wanted = spec(instance_type)
    if wanted is None:
        return []
    alike = [
        (-found.accelerator_count, name)
        for name, found in _specs().items()
        if found.accelerator == wanted.accelerator and name in among and name != instance_type
    ]
    return [name for _, name in sorted(alike)]
