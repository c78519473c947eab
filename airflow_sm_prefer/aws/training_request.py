"""A CreateTrainingJob request, checked as SageMaker would, for where nobody else does before a job waits.

AWS Batch passes a payload through without looking at it, so that a mistake would show when the job is dispatched, after
all its waiting (https://docs.aws.amazon.com/batch/latest/userguide/service-job-submit.html). The limits are those of
botocore's model. botocore itself checks types, members and minima, and neither maxima nor patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import botocore.session
from botocore.model import Shape
from botocore.validate import ParamValidator

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.written import shown

_OPERATION: Final = "CreateTrainingJob"

#: Problems that an error names; a message takes five lines at most.
_NAMED = 3


def check_training_request(request: Mapping[str, Any]) -> None:
    """Check a request against the model of the API.

    Raises:
        InvalidRequest: SageMaker would refuse it; the message names the members.
    """
    shape = _shape()
    report = ParamValidator().validate(dict(request), shape)
    problems = list(report.generate_report().splitlines()) if report.has_errors() else list(_problems(request, shape))
    if problems:
        more = f"\nand {len(problems) - _NAMED} more." if len(problems) > _NAMED else ""
        msg = "config: SageMaker would refuse it when its turn comes in the queue.\n" + "\n".join(problems[:_NAMED])
        raise InvalidRequest(f"{msg}{more}")


@lru_cache(maxsize=1)
def _shape() -> Shape:
    model = botocore.session.get_session().get_service_model("sagemaker")
    return model.operation_model(_OPERATION).input_shape


def _problems(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """Give what botocore lets pass: values that are too large, too long or of another form."""
    if shape.type_name != "structure":
        yield from _of_size(value, shape, path)
    if shape.type_name == "string":
        yield from _of_form(value, shape, path)
    for part, member, place in _parts(value, shape, path):
        yield from _problems(part, member, place)


def _parts(value: Any, shape: Shape, path: str) -> Iterator[tuple[Any, Shape, str]]:
    """Give what a value is made of, each with its shape and where it stands."""
    if shape.type_name == "structure":
        yield from ((value[n], m, f"{path}.{n}".lstrip(".")) for n, m in shape.members.items() if n in value)
    elif shape.type_name == "list":
        yield from ((item, shape.member, f"{path}[{number}]") for number, item in enumerate(value))
    elif shape.type_name == "map":
        for key, item in value.items():
            yield key, shape.key, f"{path} (key {shown(key)})"
            yield item, shape.value, f"{path}.{key}"


def _of_size(value: Any, shape: Shape, path: str) -> Iterator[str]:
    most = shape.metadata.get("max")
    if most is None:
        return
    is_number = shape.type_name in {"integer", "long", "float", "double"}
    size = value if is_number else len(value)
    if size > most:
        yield f"{path} is {size}{'' if is_number else ' long'}, and AWS takes {most} at most."


def _of_form(value: str, shape: Shape, path: str) -> Iterator[str]:
    pattern = _compiled(shape.metadata.get("pattern"))
    if pattern is not None and not pattern.fullmatch(value):
        yield f"{path} doesn't have the form that AWS wants: {shown(shape.metadata['pattern'])}."


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    """Return a pattern of the model; None for those that only Java's expressions can say, which aren't checked."""
    try:
        return re.compile(pattern) if pattern else None
    except re.error:
        return None
