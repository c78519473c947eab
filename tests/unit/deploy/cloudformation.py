"""As much of CloudFormation as it takes to see what a template makes of its parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

#: What AWS::NoValue leaves behind.
NO_VALUE = object()


class Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as the long ones: ``!Ref X`` is ``{"Ref": "X"}``."""


def _long_form(loader: Loader, suffix: str, node: yaml.Node) -> Any:
    name = suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {name: loader.construct_sequence(node, deep=True)}


Loader.add_multi_constructor("!", _long_form)


def load(template: Path) -> dict[str, Any]:
    """Return a template as data."""
    document: dict[str, Any] = yaml.load(template.read_text(encoding="utf-8"), Loader)
    return document


class Stack:
    """A template with its parameters.

    Args:
        document: The template.
        parameters: Those that don't have their default.
    """

    def __init__(self, document: Mapping[str, Any], **parameters: Any) -> None:
        self._document = document
        defaults = {name: p["Default"] for name, p in document["Parameters"].items()}
        lists = {n for n, p in document["Parameters"].items() if p["Type"] == "CommaDelimitedList"}
        given = {name: str(value) for name, value in (defaults | parameters).items()}
        self.values: dict[str, Any] = {n: v.split(",") if n in lists else v for n, v in given.items()}
        self.values |= {"AWS::StackName": "gpus", "AWS::Region": "us-east-1", "AWS::NoValue": NO_VALUE}

    def resources(self, kind: str) -> dict[str, Any]:
        """Return the properties of the resources of a type whose condition holds."""
        there = {n: r for n, r in self._document["Resources"].items() if r["Type"] == kind and self._holds(r)}
        return {name: self.resolve(resource["Properties"]) for name, resource in there.items()}

    def resolve(self, value: Any) -> Any:
        """Return a value with its functions carried out."""
        if isinstance(value, list):
            return [v for v in map(self.resolve, value) if v is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (name, argument) = next(iter(value.items()))
            function = getattr(self, f"_{name.removeprefix('Fn::').lower()}", None)
            if function and (name.startswith("Fn::") or name in {"Ref", "Condition"}):
                return function(argument)
        resolved = {key: self.resolve(below) for key, below in value.items()}
        return {key: below for key, below in resolved.items() if below is not NO_VALUE}

    def _holds(self, resource: Mapping[str, Any]) -> bool:
        return "Condition" not in resource or self._condition(resource["Condition"])

    def _condition(self, name: str) -> bool:
        return bool(self.resolve(self._document["Conditions"][name]))

    def _ref(self, name: str) -> Any:
        return self.values[name]

    def _getatt(self, name: str) -> str:
        return str(self.values[name])

    def _sub(self, text: str) -> str:
        return re.sub(r"\$\{([^}]+)\}", lambda match: str(self.values[match[1]]), text)

    def _if(self, argument: list[Any]) -> Any:
        condition, yes, no = argument
        return self.resolve(yes if self._condition(condition) else no)

    def _equals(self, argument: list[Any]) -> bool:
        one, other = map(self.resolve, argument)
        return str(one) == str(other)

    def _not(self, argument: list[Any]) -> bool:
        return not self.resolve(argument[0])

    def _and(self, argument: list[Any]) -> bool:
        return all(map(self.resolve, argument))

    def _or(self, argument: list[Any]) -> bool:
        return any(map(self.resolve, argument))

    def _select(self, argument: list[Any]) -> Any:
        place, values = argument
        return self.resolve(values)[int(place)]
