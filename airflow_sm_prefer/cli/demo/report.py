"""What was measured of a run; pure: from Airflow's record and SageMaker's Describe to numbers and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Report:
    """A demo in numbers; what a failed run never came to is None.

    Attributes:
        state: The DAG run's.
        selected_instance_type: What the training job ran on.
        selected_instance_count: How many of it.
        preference_index: The selected entry's place in the job's list; 0 is the first choice.
        pending_seconds: How long the training job waited for capacity, in real seconds.
        worker_seconds: How long the train task held a worker slot, all its stretches together.
        wall_seconds: From the demo's start to the run's end.
        artifact: Where the model is in S3.
        ui: The address of the Airflow UI.
    """

    state: str
    selected_instance_type: str | None
    selected_instance_count: int | None
    preference_index: int | None
    pending_seconds: float | None
    worker_seconds: float | None
    wall_seconds: float
    artifact: str | None
    ui: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)


def measure(
    *, state: str, job: Mapping[str, Any], events: Iterable[Mapping[str, Any]], wall_seconds: float, ui: str
) -> Report:
    """Put together what was measured.

    Args:
        state: The DAG run's.
        job: The training job as Describe shows it; empty if there never was one.
        events: Airflow's event log of the train task, oldest first.
        wall_seconds: Of the whole demo.
        ui: The address of the UI.
    """
    resources = job.get("ResourceConfig", {})
    return Report(
        state=state,
        selected_instance_type=resources.get("SelectedInstanceType"),
        selected_instance_count=resources.get("SelectedInstanceCount"),
        preference_index=preference_index(resources),
        pending_seconds=_rounded(pending_seconds(job)),
        worker_seconds=_rounded(worker_seconds(events)),
        wall_seconds=round(wall_seconds, 1),
        artifact=job.get("ModelArtifacts", {}).get("S3ModelArtifacts"),
        ui=ui,
    )


def preference_index(resources: Mapping[str, Any]) -> int | None:
    """Return the place of the selected type in the list that the job was created with."""
    types = preference_types(resources)
    selected = resources.get("SelectedInstanceType")
    return types.index(selected) if selected in types else None


def preference_types(resources: Mapping[str, Any]) -> list[str]:
    """Return the instance types of the job's list, best first."""
    return [str(entry["InstanceType"]) for entry in resources.get("InstancePreferences", [])]


def pending_seconds(job: Mapping[str, Any]) -> float | None:
    """Return how long a job was in the secondary status Pending; None for one that never was created.

    A wait that isn't over has no end yet and counts up to the job's last change.
    """
    if not job:
        return None
    waits = (step for step in job.get("SecondaryStatusTransitions", []) if step["Status"] == "Pending")
    return sum((_seconds(step["StartTime"], step.get("EndTime") or job["LastModifiedTime"]) for step in waits), 0.0)


def worker_seconds(events: Iterable[Mapping[str, Any]]) -> float | None:
    """Return how long a task's process held a worker slot: from each ``running`` to the state that followed.

    A deferred task holds none. None if it never ran; a stretch without an end, as a killed worker leaves it, counts
    for nothing.
    """
    stretches: list[float] = []
    since: datetime | None = None
    for event in events:
        at = datetime.fromisoformat(event["when"])
        if event["event"] == RUNNING:
            since = at
        elif since is not None:
            stretches.append((at - since).total_seconds())
            since = None
    return sum(stretches) if stretches else None


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


def summary(report: Report, types: Sequence[str], speed: int) -> list[str]:
    """Return what was chosen and why, what it took, and where things are, for a person."""
    lines = [f"The run ended: {report.state}."]
    if report.selected_instance_type is not None and report.preference_index is not None:
        passed = types[: report.preference_index]
        why = f"no capacity for {_listed(passed)}" if passed else "it was the first choice and had capacity"
        lines.append(
            f"Trained on {report.selected_instance_count} x {report.selected_instance_type}, "
            f"choice {report.preference_index + 1} of {len(types)}: {why}."
        )
    if report.pending_seconds is not None:
        lines.append(
            f"Waited {report.pending_seconds:.0f} s for capacity, {report.pending_seconds * speed / 60:.0f} min at the "
            f"sandbox's speed of {speed}; "
            + (f"a worker slot was held for {report.worker_seconds:.1f} s." if report.worker_seconds else "")
        )
    if report.artifact is not None:
        lines.append(f"Model: {report.artifact}")
    return lines


def _listed(types: Sequence[str]) -> str:
    return types[0] if len(types) == 1 else f"{', '.join(types[:-1])} and {types[-1]}"
