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
    hardware = catalog.spec(spec.instance_type)
    hyperparameters: Mapping[str, str] = request.get("HyperParameters") or {}
    channels = [channel["ChannelName"] for channel in request.get("InputDataConfig") or ()]
    shown = {key: parsed(value) for key, value in hyperparameters.items() if not key.startswith("sagemaker_")}
    toolkit: dict[str, Any] = {
        "MODEL_DIR": "/opt/ml/model",
        "OUTPUT_DATA_DIR": "/opt/ml/output/data",
        "OUTPUT_DIR": "/opt/ml/output",
        "INPUT_DIR": "/opt/ml/input",
        "INPUT_CONFIG_DIR": "/opt/ml/input/config",
        "MODULE_DIR": workdir,
        "CHANNELS": json.dumps(sorted(channels)),
        "CURRENT_HOST": host,
        "HOSTS": json.dumps(list(hosts)),
        "NUM_HOSTS": len(hosts),
        "MASTER_ADDR": hosts[0],
        "NETWORK_INTERFACE_NAME": "lo",
        "CURRENT_INSTANCE_TYPE": spec.instance_type,
        "NUM_GPUS": hardware.accelerator_count if hardware else 0,
        "NUM_CPUS": os.cpu_count() or 1,
        "HPS": json.dumps(shown),
        "USER_ARGS": json.dumps(arguments(hyperparameters)),
        "JOB_NAME": spec.name,
    }
    toolkit |= {f"CHANNEL_{name.upper()}": f"/opt/ml/input/data/{name}" for name in channels}
    toolkit |= {f"HP_{key.upper().replace('-', '_')}": value for key, value in shown.items()}
    return {
        **{f"SM_{key}": str(value) for key, value in toolkit.items()},
        "TRAINING_JOB_NAME": spec.name,
        "TRAINING_JOB_ARN": spec.arn,
        **(request.get("Environment") or {}),
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
