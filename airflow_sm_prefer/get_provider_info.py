"""What Airflow shows about this package, and the settings that it reads.

Airflow imports this in every process that looks for providers, so it imports nothing.
"""

from __future__ import annotations

from typing import Any

_SINCE = "0.1.0"
_INTEGRATION = "Amazon SageMaker with instance preferences"


def get_provider_info() -> dict[str, Any]:
    """Return the package's entry in Airflow's list of providers."""
    return {
        "package-name": "airflow-sm-prefer",
        "name": "SageMaker with instance preferences",
        "description": (
            "SageMaker jobs that name the instance types they may run on, in order, and sleep until one has capacity."
        ),
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": ("https://docs.aws.amazon.com/sagemaker/latest/dg/train-instance-preferences.html"),
                "tags": ["aws"],
            }
        ],
        "operators": [
            _modules(
                "airflow_sm_prefer.operators.sagemaker",
                "airflow_sm_prefer.operators.batch",
                "airflow_sm_prefer.operators.batch_priority",
                "airflow_sm_prefer.operators.queue_metrics",
                "airflow_sm_prefer.operators.reconcile",
            )
        ],
        "hooks": [_modules("airflow_sm_prefer.hooks.sagemaker", "airflow_sm_prefer.hooks.batch")],
        "triggers": [_modules("airflow_sm_prefer.triggers.sagemaker", "airflow_sm_prefer.triggers.batch")],
        "extra-links": [
            "airflow_sm_prefer.links.JobLink",
            "airflow_sm_prefer.links.JobQueueLink",
            "airflow_sm_prefer.links.JobLogLink",
        ],
        "config": {"sm_prefer": {"description": _SECTION, "options": _options()}},
    }


_SECTION = "How this Airflow runs SageMaker jobs by preference lists."


def _modules(*names: str) -> dict[str, Any]:
    return {"integration-name": _INTEGRATION, "python-modules": list(names)}


def _options() -> dict[str, dict[str, Any]]:
    return {
        "deployment": {
            "description": (
                "The name of this Airflow. It is part of every job's name and tags, so that two Airflows in one AWS"
                " account don't take each other's jobs for their own. Unset, it is derived from ``[api] base_url``;"
                " set it where components of one Airflow see different values of that.\n"
                "Changing it makes the jobs that run at the time unknown to this Airflow.\n"
            ),
            "version_added": _SINCE,
            "type": "string",
            "example": "research-prod",
            "default": None,
        },
        "clock_speed": {
            "description": (
                "How many times faster than real time the sandbox runs (its ``--speed``). Pending budgets, patience"
                " and back-off shrink by it. Anything but 1 is refused against an endpoint that isn't on this"
                " machine.\n"
            ),
            "version_added": _SINCE,
            "type": "float",
            "example": "60",
            "default": "1",
        },
        "priorities": {
            "description": (
                "Names for scheduling priorities in AWS Batch queues, so that DAGs say what a job is and one place says"
                " what that counts. Batch takes 0 to 9999 and runs the higher first, within a share. Names that aren't"
                " in the list don't exist: to add one, repeat the others.\n"
            ),
            "version_added": _SINCE,
            "type": "string",
            "example": "production=900, research=500, sweep=100, backfill=0",
            "default": "production=900, research=500, sweep=100",
        },
        "events_queue": {
            "description": (
                "The SQS queue that EventBridge's events about jobs arrive in, by its name or URL, so that an ended job"
                " is noticed within a second or two. ``{hostname}`` in it is replaced by the name of the machine: each"
                " triggerer needs a queue of its own. Unset, jobs are found by polling alone.\n"
            ),
            "version_added": _SINCE,
            "type": "string",
            "example": "sm-prefer-{hostname}",
            "default": None,
        },
        "watch_rate": {
            "description": (
                "Calls a second that all triggerers together make to look at jobs that tasks wait for. While many jobs"
                " end at once, ``list_rate`` and ``describe_rate`` hold instead, shared by the triggerers as well.\n"
            ),
            "version_added": _SINCE,
            "type": "float",
            "example": "0.5",
            "default": "1.0",
        },
        "create_rate": _rate("CreateTrainingJob, and as many of CreateProcessingJob", "1", "0.8"),
        "describe_rate": _rate("each of the Describe operations", "5", "2"),
        "list_rate": _rate("each of the List operations", "2", "1.9"),
        "stop_rate": _rate("StopTrainingJob, and as many of StopProcessingJob", "1", "0.8"),
        "triggerers": {
            "description": (
                "How many triggerers run in this account and Region: each takes its share of the rates that are for all"
                " of them together.\n"
            ),
            "version_added": _SINCE,
            "type": "integer",
            "example": "2",
            "default": "1",
        },
        "log_rate": {
            "description": (
                "Calls a second that all triggerers together make to CloudWatch Logs, in one account and Region, to"
                " copy the logs of running jobs into those of tasks that wait deferred with ``print_log``. One call"
                " reads up to a hundred streams. AWS allows 5 FilterLogEvents a second to everybody in the account"
                " together.\n"
            ),
            "version_added": _SINCE,
            "type": "float",
            "example": "2",
            "default": "0.4",
        },
    }


def _rate(operation: str, limit: str, default: str) -> dict[str, Any]:
    return {
        "description": (
            f"Calls a second that one process makes of {operation}, in one account and Region. AWS allows {limit} a"
            " second to everybody in the account together: what all triggerers and workers take should stay below it.\n"
        ),
        "version_added": _SINCE,
        "type": "float",
        "example": default,
        "default": default,
    }
