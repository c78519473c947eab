"""What a job read and wrote, for OpenLineage, where its provider is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit


class LineageMixin:
    """Tells OpenLineage the S3 addresses of a job, whether it came to a good end or not."""

    #: The last description of the job that this process has seen.
    described: Mapping[str, Any] | None = None

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Return inputs and outputs of a job that completed."""
        del task_instance  # all of it is in the job's description
        return _lineage(self.described or {})

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        """Return inputs and outputs of a job that failed, was stopped or had no capacity."""
        del task_instance
        return _lineage(self.described or {})


def _lineage(described: Mapping[str, Any]) -> Any:
    from airflow.providers.common.compat.openlineage.facet import Dataset  # noqa: PLC0415 - optional
    from airflow.providers.openlineage.extractors import OperatorLineage  # noqa: PLC0415

    def datasets(addresses: Iterator[str]) -> list[Any]:
        parts = [urlsplit(address) for address in addresses]
        return [Dataset(namespace=f"s3://{part.netloc}", name=part.path.lstrip("/")) for part in parts]

    return OperatorLineage(inputs=datasets(inputs_of(described)), outputs=datasets(outputs_of(described)))


def inputs_of(described: Mapping[str, Any]) -> Iterator[str]:
    """Give the S3 addresses that a job reads."""
    for channel in described.get("InputDataConfig", ()):
        yield from _address(channel, "DataSource", "S3DataSource", "S3Uri")
    for source in described.get("ProcessingInputs", ()):
        yield from _address(source, "S3Input", "S3Uri")


def outputs_of(described: Mapping[str, Any]) -> Iterator[str]:
    """Give the S3 addresses that a job writes."""
    yield from _address(described, "ModelArtifacts", "S3ModelArtifacts")
    for target in described.get("ProcessingOutputConfig", {}).get("Outputs", ()):
        yield from _address(target, "S3Output", "S3Uri")


def _address(part: Mapping[str, Any], *path: str) -> Iterator[str]:
    found: Any = part
    for key in path:
        found = found.get(key) or {}
    if found:
        yield found
