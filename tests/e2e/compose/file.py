"""What docker-compose.yaml says of each service, as Compose reads it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[3] / "docker-compose.yaml"

COMPLETED, HEALTHY = "service_completed_successfully", "service_healthy"

_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+):-(?P<default>[^}]*)\})")


@dataclass(frozen=True)
class Service:
    """A service, with everything that runs in it.

    Attributes:
        name: Its name.
        command: What it runs.
        environment: What that sees, besides the image's own.
        check: What tells whether it is healthy; empty for one that ends.
        needs: What it waits for, and in which condition each has to be.
        open_files: How many files each of its processes may have open, if that is said.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    check: Sequence[str]
    needs: Mapping[str, str]
    open_files: int | None = None

    def rewritten(self, rewrite: Callable[[str], str]) -> Service:
        """Return it with every text that it runs and sees put through a function."""
        return replace(
            self,
            command=[rewrite(word) for word in self.command],
            environment={name: rewrite(value) for name, value in self.environment.items()},
            check=[rewrite(word) for word in self.check],
        )


def read(variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the file, with the variables that it names put in; without one, the file's default holds."""
    given = variables or {}

    def value(found: re.Match[str]) -> str:
        return (given.get(found["name"]) or found["default"]) if found["name"] else "$"

    return _put_in(yaml.safe_load(FILE.read_text()), value)


def _put_in(said: Any, value: Callable[[re.Match[str]], str]) -> Any:
    """Put values in as Compose does: into the texts of the file that was read, so that an empty one is a text too."""
    match said:
        case dict():
            return {key: _put_in(part, value) for key, part in said.items()}
        case list():
            return [_put_in(part, value) for part in said]
        case str():
            return _VARIABLE.sub(value, said)
    return said


def services(variables: Mapping[str, str] | None = None) -> dict[str, Service]:
    """Return the services by name, in the file's order."""
    return {name: _service(name, said) for name, said in read(variables)["services"].items()}


def _service(name: str, said: Mapping[str, Any]) -> Service:
    environment = {key: str(value) for key, value in said.get("environment", {}).items()}
    needs = {needed: how["condition"] for needed, how in said.get("depends_on", {}).items()}
    command, open_files = shlex.split(said.get("command", "")), said.get("ulimits", {}).get("nofile", {}).get("hard")
    return Service(name, command, environment, _check(said["healthcheck"]), needs, open_files)


def _check(said: Mapping[str, Any]) -> Sequence[str]:
    if said.get("disable"):
        return []
    kind, *words = said["test"]
    return ["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words
