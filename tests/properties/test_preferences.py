"""What holds for any preference list."""

from __future__ import annotations

import copy
import json

from hypothesis import given
from hypothesis import strategies as st

from airflow_sm_prefer import catalog
from airflow_sm_prefer.errors import InvalidInput
from airflow_sm_prefer.model.early import check_what_is_plain
from airflow_sm_prefer.model.helpers import on_demand, spot, training_plan
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.rendered import normalise_prefer
from airflow_sm_prefer.model.rules import validate_request
from airflow_sm_prefer.model.scalars import coerce_scalars

TYPES = st.sampled_from(sorted(catalog.TRAINING_TYPES))
COUNTS = st.integers(1, 64)
TEXTS = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)
PLANS = {
    name: f"arn:aws:sagemaker:us-east-1:123456789012:training-plan/{name}"
    for name in sorted(catalog.RESERVABLE_TYPES & catalog.TRAINING_TYPES)
}


def plan(name, count):
    return training_plan(name, PLANS[name], count=count)


ENTRIES = st.one_of(
    TYPES,
    st.builds(lambda name, count, env: on_demand(name, count, environment=env), TYPES, st.none() | COUNTS, TEXTS),
    st.builds(spot, TYPES, st.none() | COUNTS),
    st.builds(plan, st.sampled_from(sorted(PLANS)), st.none() | COUNTS),
)
LISTS = st.lists(ENTRIES, min_size=1, max_size=12)

SCRAPS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | TYPES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "InstanceType",
                    "InstanceCount",
                    "TrainingPlanArns",
                    "Capacity",
                    "Overrides",
                    "WaitForPlan",
                    "environment",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
RESOURCE_KEYS = ("InstanceType", "InstanceCount", "InstancePreferences", "VolumeSizeInGB", "TrainingPlanArn")
RESOURCE_SCRAPS = st.fixed_dictionaries({}, optional=dict.fromkeys(RESOURCE_KEYS, SCRAPS))
CONFIG_SCRAPS = st.fixed_dictionaries(
    {},
    optional={
        "ResourceConfig": SCRAPS | RESOURCE_SCRAPS,
        "StoppingCondition": SCRAPS,
        "EnableManagedSpotTraining": SCRAPS,
        "InputDataConfig": SCRAPS,
    },
)


def parse(prefer, config):
    return parse_preferences(prefer, kind="training", config=config, known_types=catalog.TRAINING_TYPES)


def type_of(entry):
    return entry if isinstance(entry, str) else entry["InstanceType"]


@given(LISTS, st.none() | COUNTS)
def test_order_and_length_are_kept_and_every_candidate_has_a_count(prefer, count):
    config = {"ResourceConfig": {} if count is None else {"InstanceCount": count}}
    before = copy.deepcopy((prefer, config))
    found = parse(prefer, config)
    assert [p.instance_type for p in found] == [type_of(entry) for entry in prefer]
    written = [None if isinstance(entry, str) else entry.get("InstanceCount") for entry in prefer]
    assert [found.count_of(n) for n in range(len(prefer))] == [own or count or 1 for own in written]
    assert (prefer, config) == before


@given(LISTS)
def test_a_list_means_the_same_as_json_and_as_python(prefer):
    config = {"ResourceConfig": {}}
    assert parse(json.dumps(prefer), config) == parse(prefer, config)
    assert parse(repr(prefer), config) == parse(prefer, config)
    assert normalise_prefer(json.dumps(prefer)) == prefer


@given(
    st.lists(TYPES, min_size=1, max_size=8), st.lists(st.none() | COUNTS, min_size=8, max_size=8), st.none() | COUNTS
)
def test_awss_own_dicts_pass_exactly_by_awss_rules(names, counts, cluster):
    own = counts[: len(names)]
    prefer = [
        {"InstanceType": name} if count is None else {"InstanceType": name, "InstanceCount": count}
        for name, count in zip(names, own, strict=True)
    ]
    allowed = len(names) <= 5 and len(set(names)) == len(names) and (all(own) if cluster is None else not any(own))
    try:
        parse(prefer, {"ResourceConfig": {} if cluster is None else {"InstanceCount": cluster}})
    except InvalidInput:
        assert not allowed
    else:
        assert allowed


@given(SCRAPS, CONFIG_SCRAPS)
def test_whatever_is_written_is_read_or_refused_in_five_lines(prefer, config):
    before = repr((prefer, config))
    for check in (check_rendered, check_early):
        assert len(said(check, prefer, config)) <= 5
    assert repr((prefer, config)) == before


def check_rendered(prefer, config):
    request = coerce_scalars(config, "training")
    validate_request(request, parse(prefer, request), "training")


def check_early(prefer, config):
    check_what_is_plain(prefer, config, "training", known_types=catalog.TRAINING_TYPES)


def said(check, prefer, config):
    """Return the lines of the refusal; none if there is none."""
    try:
        check(prefer, config)
    except InvalidInput as error:
        return str(error).splitlines()
    return []
