from __future__ import annotations

import json

from airflow_sm_prefer.placement.fullest import fullest

from .builders import new_state, planned_state, reserved
from .test_state import FULL


def test_the_fullest_state_is_larger_than_any_that_a_run_comes_to() -> None:
    of_a_run = FULL.but(attempts=FULL.attempts[:1])
    at_most = fullest(new_state("ml.p5.48xlarge", "ml.g5.xlarge", waves=((0,), (1,))))
    assert len(json.dumps(at_most.to_json())) > len(json.dumps(of_a_run.to_json()))


def test_it_has_an_attempt_at_every_wave_and_the_end_of_every_plan() -> None:
    at_most = fullest(planned_state(reserved(), reserved(), waves=((0,), (1,))))
    assert [past.wave for past in at_most.attempts] == [0, 1]
    assert all(entry.ends for entry in at_most.entries)
