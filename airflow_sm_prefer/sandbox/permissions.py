"""What IAM's policy simulator says of a role: whether its policies allow an action.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_testing-policies.html and
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

Document = Mapping[str, Any]
"""A policy, as its JSON has it."""


class Decision(StrEnum):
    """The values of EvalDecision."""

    ALLOWED = "allowed"
    EXPLICIT_DENY = "explicitDeny"
    IMPLICIT_DENY = "implicitDeny"


def decide(documents: Iterable[Document], action: str, resource: str = "*") -> Decision:
    """Evaluate an action on a resource.

    A statement with a Condition doesn't apply: the simulator is given no context, and a condition whose key is missing
    is false.

    Args:
        documents: A principal's policies. Without any, nobody has said what it may do, and since the sandbox refuses
            nobody anything, it may do everything. IAM itself would deny.
        action: As ``sagemaker:CreateTrainingJob``.
        resource: An ARN, or ``*``.
    """
    statements = [statement for document in documents for statement in _statements(document)]
    if not statements:
        return Decision.ALLOWED
    effects = {str(s.get("Effect")) for s in statements if _applies(s, action, resource)}
    if "Deny" in effects:
        return Decision.EXPLICIT_DENY
    return Decision.ALLOWED if "Allow" in effects else Decision.IMPLICIT_DENY


def _statements(document: Document) -> list[Mapping[str, Any]]:
    return _as_list(document.get("Statement", []))


def _applies(statement: Mapping[str, Any], action: str, resource: str) -> bool:
    if "Condition" in statement:
        return False
    return _covers(statement, "Action", action.lower(), fold=True) and _covers(statement, "Resource", resource)


def _covers(statement: Mapping[str, Any], element: str, value: str, *, fold: bool = False) -> bool:
    """Whether an element, or the opposite of its Not form, has a pattern for a value; actions know no case."""
    negated = f"Not{element}" in statement
    patterns = _as_list(statement.get(f"Not{element}" if negated else element, []))
    found = any(_pattern(str(p).lower() if fold else str(p)).fullmatch(value) for p in patterns)
    return found is not negated


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
