"""Free ports on loopback."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"
"""Where everything of the demo listens, and nowhere else."""


def pick(preferred: int) -> int:
    """Return the preferred port if it is free on loopback, else one that is.

    Another program can take the port before ours does; then that process fails to start and says so.
    """
    for port in (preferred, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # As servers bind: a port in TIME_WAIT is free, one that somebody listens on is not.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    msg = f"no port on {HOST} is free"
    raise OSError(msg)


def is_open(port: int) -> bool:
    """Return whether somebody listens on that port of loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
