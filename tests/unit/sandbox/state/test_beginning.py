"""What a sandbox begins with, with a state and without."""

import pytest

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.scenario import Scenario
from airflow_sm_prefer.sandbox.scenario_file import parse
from airflow_sm_prefer.sandbox.state.beginning import Beginning, take_up
from airflow_sm_prefer.sandbox.state.folder import StateFolder

SHORT = parse("capacity: {ml.g5.xlarge: 0}")


def test_without_a_state_it_is_what_is_asked_for():
    assert take_up(None, SHORT, 60) == (None, Beginning(SHORT, 60))
    assert take_up(None, None, None) == (None, Beginning(Scenario(), 1.0))


def test_a_new_state_begins_with_what_is_asked_for_and_keeps_it(tmp_path):
    folder, began = take_up(tmp_path / "state", SHORT, 60)
    folder.close()
    assert began == Beginning(SHORT, 60)
    for scenario, speed in ((None, None), (SHORT, 60.0)):
        folder, again = take_up(str(tmp_path / "state"), scenario, speed)
        folder.close()
        assert again == began


def test_a_folder_that_is_open_already_is_used_as_it_is(tmp_path):
    folder = StateFolder(tmp_path / "state")
    assert take_up(folder, SHORT, None)[0] is folder
    assert take_up(folder, SHORT, None)[1] == Beginning(SHORT, 1.0)
    folder.close()


def test_a_wrong_speed_leaves_no_state_behind(tmp_path):
    with pytest.raises(InvalidSetting, match="speed is 0"):
        take_up(tmp_path / "state", None, 0)
    assert not (tmp_path / "state").exists()
