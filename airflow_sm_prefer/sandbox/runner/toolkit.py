"""What SageMaker's training toolkit does in a container: it runs a program of the user's, with ``SM_*`` variables.

An image of SageMaker's own begins with it, unless the request has a ContainerEntrypoint. Sources:
https://github.com/aws/sagemaker-training-toolkit/blob/master/ENVIRONMENT_VARIABLES.md and its ``environment.py``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from airflow_sm_prefer.sandbox.runner.environment import accelerators, input_data_config, resource_config
from airflow_sm_prefer.sandbox.runs import RunSpec

#: Where the toolkit unpacks the program, and runs it.
CODE = "/opt/ml/code"

_PREFIX = "sagemaker_"
#: Hyperparameters of the toolkit's own; others with its prefix are for a framework.
_OWN = frozenset(
    {
        "sagemaker_program",
        "sagemaker_submit_directory",
        "sagemaker_enable_cloudwatch_metrics",
        "sagemaker_region",
        "sagemaker_container_log_level",
        "sagemaker_job_name",
        "sagemaker_s3_output",
    }
)


def program_of(request: Mapping[str, Any]) -> str | None:
    """Return the program that the toolkit runs in a training job; None for a job that has another beginning."""
    hyperparameters = request.get("HyperParameters") or {}
    if "sagemaker_program" not in hyperparameters or request["AlgorithmSpecification"].get("ContainerEntrypoint"):
        return None
    return str(parsed(hyperparameters["sagemaker_program"]))


def command(program: str, python: str, hyperparameters: Mapping[str, str]) -> list[str]:
    """Return how the toolkit runs a program, in :data:`CODE`: hyperparameters become its options."""
    options = arguments(hyperparameters)
    if PurePath(program).suffix == ".py":
        return [python, program, *options]
    return ["/bin/sh", "-c", f"./{program} {' '.join(options)}"]


def arguments(hyperparameters: Mapping[str, str]) -> list[str]:
    """Return hyperparameters as a program's command line has them: ``--epochs 3``, sorted."""
    shown = sorted(_users_own(hyperparameters).items())
    return [part for key, value in shown for part in (f"-{key}" if len(key) == 1 else f"--{key}", _option(value))]


def toolkit_environment(spec: RunSpec, host: str, hosts: Sequence[str]) -> dict[str, str]:
    """Return the variables that the toolkit sets.

    Args:
        spec: A training job.
        host: This host's name.
        hosts: All hosts' names.
    """
    hyperparameters: Mapping[str, str] = spec.request.get("HyperParameters") or {}
    told = _training_env(spec, host, hosts)
    shown, channels = told["hyperparameters"], told["channel_input_dirs"]
    group = told["resource_config"]["instance_groups"][0]
    variables = {
        **told,
        "hps": shown,
        "framework_params": told["additional_framework_parameters"],
        "channels": sorted(channels),
        "instance_groups_dict": {group["instance_group_name"]: group},
        "training_env": told,
        "user_args": arguments(hyperparameters),
        **{f"channel_{name}": path for name, path in channels.items()},
        **{f"hp_{name}": value for name, value in shown.items()},
    }
    renamed = {"hyperparameters", "channel_input_dirs", "additional_framework_parameters"}
    shown_by_name = {f"SM_{name.upper()}": _shown(value) for name, value in variables.items() if name not in renamed}
    return {**shown_by_name, "PYTHONPATH": CODE}


def _training_env(spec: RunSpec, host: str, hosts: Sequence[str]) -> dict[str, Any]:
    """Return what the toolkit knows of its place, as ``SM_TRAINING_ENV`` has it."""
    request = spec.request
    hyperparameters: Mapping[str, str] = request.get("HyperParameters") or {}
    resources = resource_config(spec, host, hosts)
    gpus, neurons = accelerators(spec.instance_type)
    program = str(parsed(hyperparameters.get("sagemaker_program", "")))
    own = {key: parsed(value) for key, value in hyperparameters.items() if key in _OWN}
    framework = {
        key: parsed(value) for key, value in hyperparameters.items() if key.startswith(_PREFIX) and key not in _OWN
    }
    return {
        "additional_framework_parameters": framework,
        "channel_input_dirs": {name: f"/opt/ml/input/data/{name}" for name in input_data_config(request)},
        "current_host": host,
        "current_instance_group": resources["current_group_name"],
        "current_instance_group_hosts": list(hosts),
        "current_instance_type": spec.instance_type,
        "distribution_hosts": [],
        "distribution_instance_groups": [],
        "framework_module": None,
        "hosts": list(hosts),
        "hyperparameters": _users_own(hyperparameters),
        "input_config_dir": "/opt/ml/input/config",
        "input_data_config": input_data_config(request),
        "input_dir": "/opt/ml/input",
        "instance_groups": [group["instance_group_name"] for group in resources["instance_groups"]],
        "is_hetero": False,
        "is_master": host == hosts[0],
        "job_name": spec.name,
        "log_level": own.get("sagemaker_container_log_level", 20),
        "master_hostname": hosts[0],
        "model_dir": "/opt/ml/model",
        "module_dir": own.get("sagemaker_submit_directory", CODE),
        "module_name": program.removesuffix(".py"),
        "network_interface_name": resources["network_interface_name"],
        "num_cpus": os.cpu_count() or 1,
        "num_gpus": gpus,
        "num_neurons": neurons,
        "output_data_dir": "/opt/ml/output/data",
        "output_dir": "/opt/ml/output",
        "output_intermediate_dir": "/opt/ml/output/intermediate",
        "resource_config": resources,
        "user_entry_point": program,
    }


def _users_own(hyperparameters: Mapping[str, str]) -> dict[str, Any]:
    return {key: parsed(value) for key, value in hyperparameters.items() if not key.startswith(_PREFIX)}


def _option(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}={part}" for key, part in sorted(value.items()))
    return "" if value is None else str(value)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def parsed(value: str) -> Any:
    """Read a hyperparameter as JSON where it is some: the SDK sends strings in quotes."""
    try:
        return json.loads(value)
    except ValueError:
        return value
