"""AWS on your machine, with GPUs that run out when told to."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_sm_prefer.sandbox.client import SandboxControl
    from airflow_sm_prefer.sandbox.sandbox import Sandbox
    from airflow_sm_prefer.sandbox.scenario import Scenario
    from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner
    from airflow_sm_prefer.sandbox.server import SandboxServer

__all__ = ["Sandbox", "SandboxControl", "SandboxServer", "Scenario", "Script", "ScriptedRunner"]

_HOMES = {
    "Sandbox": "sandbox",
    "SandboxControl": "client",
    "SandboxServer": "server",
    "Scenario": "scenario",
    "Script": "scripted",
    "ScriptedRunner": "scripted",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: moto takes its time, and the runner doesn't need it."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
