"""The sections of a file of queues: their keys, and what each of them may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from airflow_sm_prefer.model.queues import ANY_TYPE, DEFAULT_DECAY, UNLIMITED, Sharing, TimeLimit
from airflow_sm_prefer.model.written import did_you_mean, joined, shown

#: The type of errors that are worded here; ``ctx`` has the ``text``, and what is ``below`` the place.
TOLD_BY_US: Final = "sm_prefer"

_DURATION = re.compile(r"(\d+)\s*([smhd])\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _told(text: str, *below: str) -> PydanticCustomError:
    return PydanticCustomError(TOLD_BY_US, "{text}", {"text": text, "below": below})


def _counts(value: Any) -> Any:
    """Take a number alone for a count of instances of any type."""
    if isinstance(value, bool) or (isinstance(value, int) and value < 1):
        raise _told(f"expected a number of instances, 1 or more, not {shown(value)}.")
    return {ANY_TYPE: value} if isinstance(value, int) else value


def _seconds(value: Any) -> Any:
    """Read ``90s``, ``20m``, ``12h``, ``1d`` or ``1h 30m``; a number is seconds."""
    if not isinstance(value, str):
        return value
    parts = _DURATION.findall(value)
    if not parts or _DURATION.sub("", value):
        raise _told(f"expected seconds, or a text as 90s, 20m or 1h 30m, not {shown(value)}.")
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def _shaped(pattern: str, expected: str) -> AfterValidator:
    """Hold a text to a pattern, which a person is told in words."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise _told(f"expected {expected}, not {shown(value)}.")
        return value

    return AfterValidator(check)


def _one_of(members: Iterable[str]) -> Callable[[Any], Any]:
    """Make a text a member of an enumeration, which strict validation doesn't do."""
    by_value = {str(member): member for member in members}

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in by_value:
            hint = did_you_mean(str(value), by_value)
            raise _told(f"expected one of {joined(by_value)}, not {shown(value)}. {hint}".rstrip())
        return by_value[value]

    return read


_NAME = _shaped(r"[A-Za-z0-9_-]{1,128}", "a name of letters, digits, - and _, 128 at most")
_IDENTIFIER = _shaped(r"[A-Za-z0-9]{1,254}[A-Za-z0-9*]?", "letters and digits, and maybe a * behind them, 255 at most")
_UNIT = _shaped(r"NUM_INSTANCES|ml\.[a-z0-9-]+\.[a-z0-9-]+", "an instance type, as ml.p5.48xlarge")
_PLAN = _shaped(r"arn:[^:]+:sagemaker:[^:]+:\d{12}:training-plan/.+", "the ARN of a training plan")

Name = Annotated[str, _NAME]
Count = Annotated[int, Field(ge=1)]
ByType = Annotated[dict[Annotated[str, _UNIT], Count], Field(min_length=1)]
Instances = Annotated[ByType, BeforeValidator(_counts)]
Weight = Annotated[float, Field(ge=0.0001, le=999.9999)]
Decay = Annotated[int, Field(ge=1, le=604_800), BeforeValidator(_seconds)]
Limit = Annotated[int, Field(ge=600, le=86_400), BeforeValidator(_seconds)]
Tags = dict[Annotated[str, Field(min_length=1, max_length=128)], Annotated[str, Field(max_length=256)]]


class Section(BaseModel):
    """A mapping in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return {} if value is None else value
        for key in value:
            if key not in cls.model_fields:
                hint = did_you_mean(str(key), cls.model_fields)
                text = " ".join(filter(None, ("not a key here.", hint, f"Expected one of {joined(cls.model_fields)}.")))
                raise _told(text, str(key))
        # A key with nothing behind it is as if it weren't there.
        return {key: below for key, below in value.items() if below is not None}


class EnvironmentSection(Section):
    """One of ``environments``."""

    instances: Instances
    training_plan: Annotated[str, _PLAN] | None = None
    enabled: bool = True
    tags: Tags = {}


class PolicySection(Section):
    """One of ``policies``: a fair share."""

    weights: dict[Annotated[str, _IDENTIFIER], Weight] = {}
    decay: Decay = DEFAULT_DECAY
    reservation: Annotated[int, Field(ge=0, le=99)] = 0
    tags: Tags = {}


class ShareSection(Section):
    """One of a queue's ``quota_shares``."""

    instances: Annotated[ByType, Field(max_length=5)]
    sharing: Annotated[Sharing, BeforeValidator(_one_of(Sharing))] = Sharing.LEND_AND_BORROW
    borrow_limit: Annotated[int, Field(ge=UNLIMITED)] = UNLIMITED
    in_share_preemption: bool = False
    enabled: bool = True
    tags: Tags = {}


class QueueSection(Section):
    """One of ``queues``."""

    environment: Name
    priority: Annotated[int, Field(ge=0, le=1000)] = 1
    policy: Name | None = None
    quota_shares: Annotated[dict[Name, ShareSection], Field(max_length=20)] = {}
    time_limits: dict[Annotated[TimeLimit, BeforeValidator(_one_of(TimeLimit))], Limit] = {}
    enabled: bool = True
    tags: Tags = {}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.policy and self.quota_shares:
            raise _told("has a fair-share policy and quota_shares; AWS Batch takes one of the two.", "policy")
        return self


class QueuesFile(Section):
    """The whole file."""

    environments: dict[Name, EnvironmentSection] = {}
    policies: dict[Name, PolicySection] = {}
    queues: dict[Name, QueueSection] = {}
    tags: Tags = {}
