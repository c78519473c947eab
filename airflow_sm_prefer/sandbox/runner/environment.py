"""The environment variables of a job's containers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox.runs import RunSpec

#: What of this machine's environment a job may see. Nothing else: it may hold secrets.
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
_KEPT_PREFIXES = ("OPENBLAS_", "OMP_", "MKL_")

#: The name of the one group of a cluster that has no InstanceGroups.
ONE_GROUP = "homogeneousCluster"


def base_environment(spec: RunSpec, home: str) -> dict[str, str]:
    """Return what every container has: what this machine needs to run it, and how it reaches the sandbox's S3."""
    kept = {key: value for key, value in os.environ.items() if key in _KEPT or key.startswith(_KEPT_PREFIXES)}
    return {
        **kept,
        "HOME": home,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_REGION": spec.region,
        "AWS_DEFAULT_REGION": spec.region,
        "AWS_ENDPOINT_URL": spec.endpoint_url,
        "AWS_ACCESS_KEY_ID": "sandbox",
        "AWS_SECRET_ACCESS_KEY": "sandbox",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def training_environment(spec: RunSpec, host: str, hosts: Sequence[str], workdir: str) -> dict[str, str]:
    """Return what a training container has besides, the toolkit's ``SM_*`` among it.

    Source: https://github.com/aws/sagemaker-training-toolkit/blob/master/ENVIRONMENT_VARIABLES.md

    Args:
        spec: The job.
        host: This host's name.
        hosts: All hosts' names.
        workdir: Where scripts are, ``/opt/ml/code``.
    """
    request = spec.request
    gpus, neurons = accelerators(spec.instance_type)
    hyperparameters: Mapping[str, str] = request.get("HyperParameters") or {}
    channels = [channel["ChannelName"] for channel in request.get("InputDataConfig") or ()]
    shown = {key: parsed(value) for key, value in hyperparameters.items() if not key.startswith("sagemaker_")}
    toolkit: dict[str, Any] = {
        "MODEL_DIR": "/opt/ml/model",
        "OUTPUT_DATA_DIR": "/opt/ml/output/data",
        "OUTPUT_DIR": "/opt/ml/output",
        "OUTPUT_INTERMEDIATE_DIR": "/opt/ml/output/intermediate",
        "INPUT_DIR": "/opt/ml/input",
        "INPUT_CONFIG_DIR": "/opt/ml/input/config",
        "INPUT_DATA_CONFIG": json.dumps(input_data_config(request)),
        "RESOURCE_CONFIG": json.dumps(resource_config(spec, host, hosts)),
        "MODULE_DIR": workdir,
        "CHANNELS": json.dumps(sorted(channels)),
        "CURRENT_HOST": host,
        "HOSTS": json.dumps(list(hosts)),
        "NUM_HOSTS": len(hosts),
        "MASTER_ADDR": hosts[0],
        "NETWORK_INTERFACE_NAME": "lo",
        "CURRENT_INSTANCE_TYPE": spec.instance_type,
        "CURRENT_INSTANCE_GROUP": ONE_GROUP,
        "CURRENT_INSTANCE_GROUP_HOSTS": json.dumps(list(hosts)),
        "INSTANCE_GROUPS": json.dumps([ONE_GROUP]),
        "IS_HETERO": "false",
        "NUM_GPUS": gpus,
        "NUM_NEURONS": neurons,
        "NUM_CPUS": os.cpu_count() or 1,
        "HPS": json.dumps(shown),
        "USER_ARGS": json.dumps(arguments(hyperparameters)),
        "JOB_NAME": spec.name,
        "LOG_LEVEL": parsed(hyperparameters.get("sagemaker_container_log_level", "20")),
    }
    if "sagemaker_program" in hyperparameters:
        program = str(parsed(hyperparameters["sagemaker_program"]))
        toolkit |= {"USER_ENTRY_POINT": program, "MODULE_NAME": program.removesuffix(".py")}
    toolkit |= {f"CHANNEL_{name.upper()}": f"/opt/ml/input/data/{name}" for name in channels}
    toolkit |= {f"HP_{key.upper().replace('-', '_')}": value for key, value in shown.items()}
    return {
        **{f"SM_{key}": str(value) for key, value in toolkit.items()},
        "TRAINING_JOB_NAME": spec.name,
        "TRAINING_JOB_ARN": spec.arn,
        **(request.get("Environment") or {}),
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
        "TrainingInputMode": channel.get("InputMode", mode),
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
        "network_interface_name": "lo",
    }


def processing_environment(spec: RunSpec) -> dict[str, str]:
    """Return what a processing container has besides."""
    return {
        "PROCESSING_JOB_NAME": spec.name,
        "PROCESSING_JOB_ARN": spec.arn,
        **(spec.request.get("Environment") or {}),
    }


def arguments(hyperparameters: Mapping[str, str]) -> list[str]:
    """Return hyperparameters as a script's command line has them: ``--epochs 3``, sorted."""
    shown = sorted((key, value) for key, value in hyperparameters.items() if not key.startswith("sagemaker_"))
    return [part for key, value in shown for part in (f"-{key}" if len(key) == 1 else f"--{key}", str(parsed(value)))]


def parsed(value: str) -> Any:
    """Read a hyperparameter as JSON where it is some: the SDK sends strings in quotes."""
    try:
        return json.loads(value)
    except ValueError:
        return value
