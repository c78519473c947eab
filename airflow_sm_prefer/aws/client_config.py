"""How our boto3 clients behave, unless the user says otherwise."""

from __future__ import annotations

from botocore.config import Config

#: Attempts in all. The rest of the patience is ours: it is told to the log and counted against the budget.
ATTEMPTS = 3
CONNECT_TIMEOUT_SECONDS = 10
READ_TIMEOUT_SECONDS = 30


def with_defaults(config: Config | None) -> Config:
    """Return a client configuration in which everything that the user set holds, and the rest is ours.

    The retry mode is set because its default differs between botocore's releases.
    """
    defaults = Config(
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
    )
    merged: Config = defaults.merge(config) if config else defaults
    return merged
