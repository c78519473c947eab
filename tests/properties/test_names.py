"""Names of jobs, over as many task instances as a large Airflow has in years."""

from __future__ import annotations

import random
import string

from airflow_sm_prefer.placement.naming import TaskIdentity, job_name
from tests.unit.placement.test_naming import PATTERN


def test_a_hundred_thousand_task_instances_have_a_hundred_thousand_valid_names() -> None:
    draw = random.Random(20)
    letters = string.ascii_letters + string.digits + "_-.:+ äß/"
    names = set()
    for _ in range(100_000):
        words = ["".join(draw.choices(letters, k=draw.randint(1, 250))) for _ in range(5)]
        identity = TaskIdentity(words[0], words[1], words[2], words[3], draw.randint(-1, 1000))
        names.add(job_name(identity, words[4], draw.randint(1, 1_000_000)))
    assert len(names) == 100_000
    assert all(PATTERN.fullmatch(name) for name in names)
