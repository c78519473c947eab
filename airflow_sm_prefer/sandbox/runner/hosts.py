"""The hosts of a job: their names, and the addresses that the names stand for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path

#: The machine's own table of names; a job sees its hosts' names added to it.
HOSTS_FILE = "/etc/hosts"

_LOOPBACK = int(IPv4Address("127.0.0.0"))
_BLOCKS = 60_000


def host_names(count: int) -> list[str]:
    """Return the hosts' names, ``algo-1`` to ``algo-N``, sorted as texts.

    Source: https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-running-container.html
    """
    return sorted(f"algo-{number}" for number in range(1, count + 1))


def hosts_file(hosts: Sequence[str], job: str) -> str:
    """Return the machine's table of names with a job's hosts added.

    Each host has a loopback address of its own, so that all of them can listen on one port; so has each job, so that
    two of them at once don't meet.

    Args:
        hosts: The names.
        job: What tells this job from every other on the machine.
    """
    digest = int.from_bytes(hashlib.sha256(job.encode()).digest()[:4], "big")
    first = _LOOPBACK + 256 * (1 + digest % _BLOCKS) + 1
    named = [f"{IPv4Address(first + number)} {host}" for number, host in enumerate(hosts)]
    return "\n".join([_machine(), *named, ""])


def _machine() -> str:
    path = Path(HOSTS_FILE)
    return path.read_text(encoding="utf-8", errors="replace").rstrip("\n") if path.is_file() else "127.0.0.1 localhost"
