"""What a process of docker-compose.yaml is called in Airflow.

The workers, the triggerers and the sandbox share a network, and with it the container's host name. So each goes by its
service's name, which Airflow shows and the health checks ask for (``[core] hostname_callable``).
"""

from __future__ import annotations

import os


def service_name() -> str:
    """Return the name of the service that this process belongs to."""
    return os.environ["SERVICE_NAME"]
