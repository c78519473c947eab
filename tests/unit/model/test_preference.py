"""A preference list is a value that knows how many of each it asks for."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.model.preference import AS_WRITTEN, CapacityKind, InstancePreference, PreferenceList


def test_a_candidate_is_one_on_demand_instance_unless_told():
    one = InstancePreference("ml.g5.xlarge")
    assert (one.instance_count, one.kind, one.training_plan_arn) == (1, CapacityKind.ON_DEMAND, None)
    assert not one.overrides
    assert not one.wait_for_plan


def test_each_candidate_has_its_own_count():
    found = PreferenceList((InstancePreference("ml.g5.xlarge", 2), InstancePreference("ml.g6.xlarge", 3)))
    assert [found.count_of(n) for n in (0, 1)] == [2, 3]
    assert [p.instance_type for p in found] == ["ml.g5.xlarge", "ml.g6.xlarge"]


def test_the_count_of_the_cluster_holds_for_all():
    found = PreferenceList((InstancePreference("ml.g5.xlarge", None),) * 2, uniform_count=4)
    assert [found.count_of(n) for n in (0, 1)] == [4, 4]


def test_a_list_without_any_count_has_none_to_tell():
    with pytest.raises(ValueError, match="candidate 0 has no count"):
        PreferenceList((InstancePreference("ml.g5.xlarge", None),)).count_of(0)


def test_a_request_that_goes_as_written_has_nothing_to_choose():
    assert AS_WRITTEN.as_written
    assert list(AS_WRITTEN) == []
    assert AS_WRITTEN
