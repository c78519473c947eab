"""What a job's containers are told of their job: environment variables, and the files that hold the same."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox.runs import RunSpec

#: What of this machine's environment a job may see. Nothing else: it may hold secrets, profiles and proxies.
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
_KEPT_PREFIXES = ("OPENBLAS_", "OMP_", "MKL_")

#: When the block of the training plan that a job runs on ends.
BLOCK_END = "SAGEMAKER_CURRENT_CAPACITY_BLOCK_EXPIRATION_TIMESTAMP"

#: The name of the one group of a cluster that has no InstanceGroups.
ONE_GROUP = "homogeneousCluster"


def base_environment(spec: RunSpec, home: str, temporary: str) -> dict[str, str]:
    """Return what every container has: what this machine needs to run it, and how it reaches the sandbox.

    Args:
        spec: The job.
        home: Its home folder.
        temporary: Where its temporary files go.
    """
    kept = {key: value for key, value in os.environ.items() if key in _KEPT or key.startswith(_KEPT_PREFIXES)}
    return {
        "PATH": os.defpath,
        **kept,
        "HOME": home,
        "TMPDIR": temporary,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_REGION": spec.region,
        "AWS_DEFAULT_REGION": spec.region,
        "AWS_ENDPOINT_URL": spec.endpoint_url,
        "AWS_ACCESS_KEY_ID": spec.account,
        "AWS_SECRET_ACCESS_KEY": "sandbox",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def job_environment(spec: RunSpec) -> dict[str, str]:
    """Return what SageMaker itself sets, and what the request asks for.

    The end of a plan's block is in epoch seconds, as the sample of AWS's page on plans reads it; it isn't there for a
    job on other capacity.

    Source: https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-running-container.html,
    https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-utilization-for-training-jobs.html
    """
    word = spec.kind.upper()
    block = {} if spec.block_ends is None else {BLOCK_END: str(int(spec.block_ends))}
    return {
        f"{word}_JOB_NAME": spec.name,
        f"{word}_JOB_ARN": spec.arn,
        **block,
        **(spec.request.get("Environment") or {}),
    }


def accelerators(instance_type: str) -> tuple[int, int]:
    """Return how many GPUs, and how many AWS accelerators, a type has."""
    hardware = catalog.spec(instance_type)
    count = hardware.accelerator_count if hardware else 0
    return (0, count) if instance_type.startswith(("ml.trn", "ml.inf")) else (count, 0)


def input_data_config(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``inputdataconfig.json`` holds: each channel's settings."""
    mode = request["AlgorithmSpecification"].get("TrainingInputMode", "File")
    return {channel["ChannelName"]: _channel_config(channel, mode) for channel in request.get("InputDataConfig") or ()}


def _channel_config(channel: Mapping[str, Any], mode: str) -> dict[str, Any]:
    source = channel["DataSource"].get("S3DataSource") or {}
    config = {
        # FastFile mode is told to the container as File.
        "TrainingInputMode": channel.get("InputMode", mode).replace("FastFile", "File"),
        "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
        "RecordWrapperType": channel.get("RecordWrapperType", "None"),
    }
    return {**config, "ContentType": channel["ContentType"]} if "ContentType" in channel else config


def resource_config(spec: RunSpec, host: str, hosts: Sequence[str]) -> dict[str, Any]:
    """Return what ``resourceconfig.json`` holds: who there is, and which of them this host is."""
    group = {"instance_group_name": ONE_GROUP, "instance_type": spec.instance_type, "hosts": list(hosts)}
    return {
        "current_host": host,
        "current_instance_type": spec.instance_type,
        "current_group_name": ONE_GROUP,
        "hosts": list(hosts),
        "instance_groups": [group],
        # Hosts are on this machine's loopback; on AWS it is eth0.
        "network_interface_name": "lo",
    }
