"""Names and tags: how a job says whose it is.

A job's name begins with the user's (or the DAG's and the task's), then comes our marker with the deployment, a digest
of the task instance, and the submission number. Whoever knows the task instance knows the names, so that looking a
job up needs no List call; and the marker alone finds every job of a deployment.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from airflow_sm_prefer.model.job import JobKind

#: ``[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}``, https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html
NAME_LIMIT = 63

_MARKER = "smp"
_DEPLOYMENT_LENGTH = 4
_DIGEST_LENGTH = 12
#: How long a tag's value may be, https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_Tag.html
TAG_LIMIT = 256

_OF_A_DEPLOYMENT = re.compile(rf"{_MARKER}[a-z2-7]{{{_DEPLOYMENT_LENGTH}}}(?=-[a-z2-7]{{{_DIGEST_LENGTH}}}-)")
_TAG_SAFE = re.compile(r"[^A-Za-z0-9 _.:/+@-]")
#: Neither a DAG's id nor a task's has a slash in it; a run's may.
_WRITTEN = re.compile(r"([^/]+)/(.+)/([^/\[\]]+)(?:\[(\d+)\])?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TaskIdentity:
    """One task instance of one Airflow, over its whole life: retries and clears don't change it.

    Attributes:
        deployment: The name of this Airflow.
        dag_id: The DAG's id.
        run_id: The DAG run's id.
        task_id: The task's id.
        map_index: Its index when mapped, else -1.
    """

    deployment: str
    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1

    def __str__(self) -> str:
        mapped = f"[{self.map_index}]" if self.map_index >= 0 else ""
        return f"{self.dag_id}/{self.run_id}/{self.task_id}{mapped}"

    @property
    def digest(self) -> str:
        """Sixty bits that stand for this task instance: equal for equal ones only."""
        return _digest("\0".join(self.fields), _DIGEST_LENGTH)

    @property
    def fields(self) -> tuple[str, ...]:
        """What tells it from every other."""
        return (self.deployment, self.dag_id, self.run_id, self.task_id, str(self.map_index))


def deployment_marker(deployment: str) -> str:
    """Return what the name of every job of this deployment contains."""
    return f"{_MARKER}{_digest(deployment, _DEPLOYMENT_LENGTH)}"


def task_marker(identity: TaskIdentity) -> str:
    """Return what the name of every job of this task instance contains."""
    return f"{deployment_marker(identity.deployment)}-{identity.digest}"


def marker_of(name: str) -> str:
    """Return the marker of the deployment that a job's name carries; empty where it carries none."""
    found = _OF_A_DEPLOYMENT.search(name)
    return found.group(0) if found else ""


def job_name(identity: TaskIdentity, prefix: str, submission: int, *, limit: int = NAME_LIMIT) -> str:
    """Name a task instance's nth job.

    Args:
        identity: Whose job it is.
        prefix: What the name begins with. Characters that a name can't hold become hyphens, and it is cut where
            the rest needs the room; the digest keeps names apart that were cut to the same.
        submission: Counts from 1 over the task instance's whole life.
        limit: How many characters there are: 63, and 23 through AWS Batch.
    """
    ending = f"{task_marker(identity)}-{submission}"
    room = limit - len(ending) - 1
    beginning = re.sub(r"[^a-zA-Z0-9]+", "-", prefix)[: max(room, 0)].strip("-")
    return f"{beginning}-{ending}" if beginning else ending


#: The parts of a request that make it another job when they change; the list, limits and tags don't.
_FINGERPRINT_PARTS: Mapping[JobKind, Mapping[str, str]] = {
    JobKind.TRAINING: {
        "image": "AlgorithmSpecification",
        "role": "RoleArn",
        "inputs": "InputDataConfig",
        "outputs": "OutputDataConfig",
        "hyperparameters": "HyperParameters",
        "environment": "Environment",
    },
    JobKind.PROCESSING: {
        "image": "AppSpecification",
        "role": "RoleArn",
        "inputs": "ProcessingInputs",
        "outputs": "ProcessingOutputConfig",
        "environment": "Environment",
    },
}


def read_identity(deployment: str, written: str, name: str) -> TaskIdentity | None:
    """Read a task instance back from what :func:`encode` made of it.

    Args:
        deployment: The Airflow that it belongs to.
        written: ``dag/run/task``, with ``[index]`` if it is mapped, encoded.
        name: The name of a job of it.

    Returns:
        None unless the name carries that very task instance's marker: then the text was cut or is somebody else's.
    """
    found = _WRITTEN.fullmatch(_decode(written))
    if found is None:
        return None
    dag_id, run_id, task_id, index = found.groups()
    identity = TaskIdentity(deployment, dag_id, run_id, task_id, int(index) if index else -1)
    return identity if f"{task_marker(identity)}-" in name else None


def fingerprint(kind: JobKind, request: Mapping[str, Any]) -> str:
    """Digest what a job does, part by part, so that two can be compared and the difference named.

    Returns:
        ``image:1f0c9a2e/role:…``; each part is cut to 32 bits, too few to give a secret in it away.
    """
    parts = _FINGERPRINT_PARTS[kind]
    return "/".join(f"{part}:{_part_digest(request.get(key))}" for part, key in parts.items())


def differing_parts(ours: str, theirs: str) -> list[str]:
    """Name the parts in which two fingerprints differ, in their order; those only one of them has differ too."""
    mine, other = _parts(ours), _parts(theirs)
    return [part for part in {**mine, **other} if mine.get(part) != other.get(part)]


def encode_tag(value: str) -> str:
    """Write any text so that a tag's value can hold it: ``=2B`` for what tags don't allow, 256 characters at most.

    Source: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_Tag.html
    """
    encoded = encode(value)
    if len(encoded) <= TAG_LIMIT:
        return encoded
    return f"{encoded[: TAG_LIMIT - 13]}-{_digest(value, 12)}"


def encode(value: str) -> str:
    """Write any text in the characters that a tag's value can hold, as long as it takes."""
    return _TAG_SAFE.sub(lambda found: "".join(f"={byte:02X}" for byte in found.group(0).encode()), value)


def _decode(encoded: str) -> str:
    return unquote(encoded.replace("=", "%"), errors="replace")


def _parts(printed: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in printed.split("/") if ":" in part)


def _part_digest(part: Any) -> str:
    if part in (None, {}, []):
        return "none"
    return hashlib.sha256(json.dumps(part, sort_keys=True, default=str).encode()).hexdigest()[:8]


def _digest(text: str, length: int) -> str:
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().lower()[:length]
