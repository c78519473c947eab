"""The data files that lie beside this module."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def read(name: str) -> Any:
    """Return one JSON file of this package, parsed."""
    return json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
