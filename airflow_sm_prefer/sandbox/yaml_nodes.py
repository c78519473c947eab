"""Reading YAML so that every mistake is told with its line and what was expected there."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, TypeVar

import yaml

from airflow_sm_prefer.errors import InvalidScenario

E = TypeVar("E", bound=StrEnum)

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)(?:ec(?:onds?)?|in(?:utes?)?|ours?|ays?|rs?)?\s*", re.IGNORECASE)


class Node:
    """One value of a YAML document, and where it stands.

    Args:
        node: PyYAML's node.
        source: What the document is called in errors.
        name: What the value is called in errors.
    """

    def __init__(self, node: yaml.Node, source: str, name: str) -> None:
        self._node = node
        self._source = source
        self.name = name

    @classmethod
    def document(cls, text: str, source: str) -> Node | None:
        """Return a document's root, None for an empty one.

        Raises:
            InvalidScenario: it isn't YAML.
        """
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            msg = f"{source}, line {line}: not YAML: {error.problem}"
            raise InvalidScenario(msg) from None
        except yaml.YAMLError as error:
            msg = f"{source}: not YAML: {error}"
            raise InvalidScenario(msg) from None
        return None if root is None else cls(root, source, "the scenario")

    def error(self, expected: str) -> InvalidScenario:
        """Return an error that says where this value stands and what was expected instead."""
        line = self._node.start_mark.line + 1
        return InvalidScenario(f"{self._source}, line {line}: {self.name}: {expected}")

    def is_sequence(self) -> bool:
        """Whether it is a list."""
        return isinstance(self._node, yaml.SequenceNode)

    def is_mapping(self) -> bool:
        """Whether it is a mapping."""
        return isinstance(self._node, yaml.MappingNode)

    def items(self) -> Iterator[tuple[Node, Node]]:
        """Return the keys and values of a mapping; a key that comes twice is a mistake."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error(f"expected a mapping (key: value), not {self._shown()}")
        seen: set[str] = set()
        for key_node, value_node in self._node.value:
            key = Node(key_node, self._source, f"a key of {self.name}")
            text = key.text()
            key.name = text
            if text in seen:
                raise key.error("this key is there already")
            seen.add(text)
            yield key, Node(value_node, self._source, text)

    def members(self, known: Iterable[str], required: Iterable[str] = ()) -> dict[str, Node]:
        """Return the values of a mapping that may have these keys and must have those."""
        names = list(known)
        found = {}
        for key, value in self.items():
            if key.name not in names:
                raise key.error(f"not a key here{hint(key.name, names)}; expected one of {', '.join(names)}")
            found[key.name] = value
        for name in required:
            if name not in found:
                raise self.error(f"{name} is missing")
        return found

    def elements(self) -> list[Node]:
        """Return the values of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error(f"expected a list, not {self._shown()}")
        return [Node(node, self._source, f"an entry of {self.name}") for node in self._node.value]

    def plain(self) -> Any:
        """Return it as it is, whatever it is; its texts, numbers, lists and mappings as JSON has them."""
        loader = yaml.SafeLoader("")
        try:
            return json.loads(json.dumps(loader.construct_object(self._node, deep=True)))
        except (yaml.YAMLError, ValueError, TypeError):
            raise self.error("expected texts, numbers, lists and mappings, as JSON has them") from None
        finally:
            loader.dispose()

    def text(self) -> str:
        """Return a string; what YAML reads as a number is taken as it is written."""
        if not isinstance(self._node, yaml.ScalarNode) or self._node.tag.endswith(":null"):
            raise self.error(f"expected a text, not {self._shown()}")
        return str(self._node.value)

    def integer(self, least: int = 0) -> int:
        """Return a whole number."""
        value = self._scalar()
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.error(f"expected a whole number, {least} or more, not {self._shown()}")
        return value

    def number(self, *, above: float = 0) -> float:
        """Return a number above another."""
        value = self._scalar()
        if not isinstance(value, int | float) or isinstance(value, bool) or not above < value < math.inf:
            raise self.error(f"expected a number above {above:g}, not {self._shown()}")
        return float(value)

    def boolean(self) -> bool:
        """Return true or false."""
        value = self._scalar()
        if not isinstance(value, bool):
            raise self.error(f"expected true or false, not {self._shown()}")
        return value

    def duration(self) -> float:
        """Return seconds: a number of them, or a text such as ``90s``, ``20 min`` or ``1h 30m``."""
        value = self._scalar()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
            return float(value)
        parts = list(_PART.finditer(value)) if isinstance(value, str) else []
        if not parts or "".join(part.group() for part in parts) != value:
            raise self.error(f"expected a duration, as 90s, 20m or 1h 30m, not {self._shown()}")
        return sum(float(part.group(1)) * _UNITS[part.group(2).lower()] for part in parts)

    def choice(self, kind: type[E]) -> E:
        """Return one of an enumeration's values."""
        values = [member.value for member in kind]
        if self.text() not in values:
            expected = f"expected one of {', '.join(values)}, not {self._shown()}"
            raise self.error(expected + hint(self.text(), values))
        return kind(self.text())

    def one_of(self, values: Iterable[str], what: str) -> str:
        """Return a text that is one of many; the error suggests the nearest."""
        known = list(values)
        if self.text() not in known:
            raise self.error(f"{self._shown()} is not {what}{hint(self.text(), known)}")
        return self.text()

    def mapping_of(self, read: Callable[[Node], Any]) -> dict[str, Any]:
        """Return a mapping whose values are all read alike."""
        return {key.name: read(value) for key, value in self.items()}

    def is_off(self) -> bool:
        """Whether it is ``off``, which YAML reads as false unless it is quoted, as in JSON."""
        return self._scalar() is False or self.is_word("off")

    def is_word(self, word: str) -> bool:
        """Whether it is that very text."""
        value = self._scalar()
        return isinstance(value, str) and value == word

    def _scalar(self) -> Any:
        if not isinstance(self._node, yaml.ScalarNode):
            return None
        loader = yaml.SafeLoader("")
        try:
            return loader.construct_object(self._node)
        except (yaml.YAMLError, ValueError):
            return None
        finally:
            loader.dispose()

    def _shown(self) -> str:
        if isinstance(self._node, yaml.ScalarNode):
            return repr(self._node.value) if self._node.value else "nothing"
        return "a list" if self.is_sequence() else "a mapping"


def hint(word: str, known: Iterable[str]) -> str:
    """Return a suggestion for a slip of the finger, empty if nothing is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.75)
    return f" (did you mean {near[0]}?)" if near else ""
