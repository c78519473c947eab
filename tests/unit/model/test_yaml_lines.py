"""YAML is read with the line of each of its parts."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.model.yaml_lines import NotYaml, read

TEXT = """\
a:
  b: 1
  c:
    - x
    - y: 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [(("a",), 1), (("a", "b"), 2), (("a", "c", 0), 4), (("a", "c", 1, "y"), 5), (("a", "b", "gone"), 2), (("z",), 1)],
)
def test_a_part_has_its_line_or_that_of_what_is_around_it(path, line):
    assert read(TEXT).line(path) == line


def test_the_data_are_plain():
    assert read(TEXT).data == {"a": {"b": 1, "c": ["x", {"y": 2}]}}
    assert read("").data is None


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: 2\na: 3", 3), ("a: [", 1), ("a: 1\n b: 2", 2), ("? [x]\n: 1", 1), ("a: \x07", 1), ("a: 2026-99-99", 1)],
)
def test_what_is_not_yaml_is_told_with_its_line(text, line):
    with pytest.raises(NotYaml) as caught:
        read(text)
    assert caught.value.line == line
