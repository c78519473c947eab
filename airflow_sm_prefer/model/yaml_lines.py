"""YAML as plain data, with the line that each part of it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

#: Keys and places in lists, from the outside in.
Path = tuple[str | int, ...]


class NotYaml(ValueError):
    """A text isn't YAML, or has a key twice; :attr:`line` is where."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document.

    Attributes:
        data: What it says, as plain data.
        lines: The lines of its parts, counted from 1; of a key in a mapping, the key's own.
    """

    data: Any
    lines: dict[Path, int]

    def line(self, path: Sequence[str | int]) -> int:
        """Return the line of a part, or of the nearest one around it that is there."""
        return next((self.lines[tuple(path[:n])] for n in range(len(path), 0, -1) if tuple(path[:n]) in self.lines), 1)


def read(text: str) -> Document:
    """Read a YAML text.

    Raises:
        NotYaml: it isn't YAML, or a mapping has a key twice.
    """
    try:
        data = yaml.safe_load(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise NotYaml(line, f"not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise NotYaml(1, f"not YAML: {error}") from None
    return Document(data, {} if root is None else dict(_lines(root, ())))


def _lines(node: yaml.Node, path: Path) -> Iterator[tuple[Path, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[Any] = set()
        for key, value in node.value:
            if key.value in seen:
                raise NotYaml(key.start_mark.line + 1, f"the key {key.value} is there already")
            seen.add(key.value)
            yield (*path, key.value), key.start_mark.line + 1
            yield from _lines(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*path, number), value.start_mark.line + 1
            yield from _lines(value, (*path, number))
