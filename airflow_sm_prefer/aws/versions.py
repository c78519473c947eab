"""Whether the installed botocore can say what we have to say."""

from __future__ import annotations

import re
from typing import Final

import botocore

from airflow_sm_prefer.errors import InvalidSetting

#: The first release whose model has InstancePreferences, and MaxPendingTimeInSeconds from 1800.
NEEDED: Final = (1, 43, 90)


def check_botocore(installed: str = botocore.__version__) -> None:
    """Make sure that botocore knows preference lists.

    An older one refuses to send them and, worse, drops SelectedInstanceType from answers without a word.

    Raises:
        InvalidSetting: it doesn't; the message says what to install.
    """
    if _parsed(installed) < NEEDED:
        needed = ".".join(map(str, NEEDED))
        msg = (
            f"botocore {installed} doesn't know SageMaker's instance preference lists; {needed} and later do.\n"
            f"pip install 'boto3>={needed}' 'botocore>={needed}'"
        )
        raise InvalidSetting(msg)


def _parsed(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
