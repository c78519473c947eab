"""What the demo's processes see of the environment: nothing of the user's Airflow and AWS, all of the demo's."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow_sm_prefer.cli.demo.home import Home
from airflow_sm_prefer.cli.demo.ports import HOST

REGION = "us-east-1"
SPEED = 60
"""How many times faster than AWS the sandbox lives: a minute passes in a second."""

ACCESS_KEY = "demo-access-key"
SECRET_KEY = "demo-key-that-opens-nothing"  # noqa: S105 - Airflow strikes it out of every log, so it is no common word

FOREIGN = ("AIRFLOW_", "AIRFLOW__", "AWS_", "BOTO_", "SM_PREFER_", "_AIRFLOW_")
"""Beginnings of variables that steer Airflow or AWS clients; none of the user's gets through."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the two servers of a demo listen.

    Attributes:
        airflow_port: The api-server's.
        sandbox_port: The sandbox's.
    """

    airflow_port: int
    sandbox_port: int

    @property
    def ui(self) -> str:
        """The Airflow UI, and below it the REST API."""
        return f"http://{HOST}:{self.airflow_port}"

    @property
    def sandbox(self) -> str:
        """The endpoint that stands for AWS."""
        return f"http://{HOST}:{self.sandbox_port}"


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys that Airflow's processes share; new for each demo, and known to nobody else."""

    jwt: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(24))


def without_foreign(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy without anything that steers Airflow or AWS clients."""
    return {name: value for name, value in environ.items() if not name.startswith(FOREIGN)}


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what all processes of a demo see: the user's environment, but no Airflow, no AWS, and no proxy."""
    return {
        **without_foreign(environ),
        # The running interpreter's programs first, also where nobody has activated its venv.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)]),
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_DEFAULT_REGION": REGION,
    }


def shed_foreign() -> None:
    """Have this process, and no other, see what the demo's processes see: a profile of the user's steers boto too."""
    ours = base_environment(os.environ)
    os.environ.clear()
    os.environ.update(ours)


def aws_connection(addresses: Addresses) -> str:
    """Return the AWS connection as Airflow reads it from its environment: the sandbox, and keys that open nothing."""
    return json.dumps(
        {
            "conn_type": "aws",
            "login": ACCESS_KEY,
            "password": SECRET_KEY,
            "extra": {"region_name": REGION, "endpoint_url": addresses.sandbox},
        }
    )


def airflow_environment(
    environ: Mapping[str, str], home: Home, addresses: Addresses, dags: Path, keys: Secrets
) -> dict[str, str]:
    """Return the environment of the demo's Airflow processes."""
    settings = {
        "core": {
            "dags_folder": str(dags),
            "load_examples": "False",
            "executor": "LocalExecutor",
            "parallelism": "4",
            "execution_api_server_url": f"{addresses.ui}/execution/",
            # Loopback only, so the UI needs no password.
            "simple_auth_manager_all_admins": "True",
            # The default asks DNS, which can take long on a laptop without a network.
            "hostname_callable": "socket.gethostname",
        },
        "database": {"sql_alchemy_conn": f"sqlite:///{home.airflow / 'airflow.db'}"},
        "api": {
            "host": HOST,
            "port": str(addresses.airflow_port),
            "base_url": addresses.ui,
            "secret_key": keys.session,
        },
        "api_auth": {"jwt_secret": keys.jwt},
        "logging": {"colored_console_log": "False"},
        "scheduler": {
            "scheduler_idle_sleep_time": "0.5",
            "trigger_timeout_check_interval": "5",
            # In the first hours after midnight Airflow would begin that night's run too, and ours would wait for it.
            "use_job_schedule": "False",
        },
        "dag_processor": {"refresh_interval": "30", "min_file_process_interval": "10", "parsing_processes": "1"},
        # Now and then a failed task's process ends with a socket open, and Airflow waits a minute for it by default.
        "workers": {"socket_cleanup_timeout": "5"},
        "sm_prefer": {"clock_speed": str(SPEED), "deployment": "demo"},
    }
    return {
        **base_environment(environ),
        **{
            f"AIRFLOW__{section.upper()}__{option.upper()}": value
            for section, options in settings.items()
            for option, value in options.items()
        },
        "AIRFLOW_HOME": str(home.airflow),
        "AIRFLOW_CONN_AWS_DEFAULT": aws_connection(addresses),
    }
