"""Names of types: known ones pass, others are told what was probably meant."""

from __future__ import annotations

import pytest

from airflow_sm_prefer import catalog
from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.types import TypeNames

TRAINING = TypeNames(JobKind.TRAINING, catalog.TRAINING_TYPES)
PROCESSING = TypeNames(JobKind.PROCESSING, catalog.PROCESSING_TYPES)
ASKING = TypeNames(JobKind.PROCESSING, catalog.PROCESSING_TYPES.__contains__)


def said(types, name):
    with pytest.raises(InvalidPreference) as caught:
        types.check(name, "entry 1")
    return str(caught.value)


@pytest.mark.parametrize("types", [TRAINING, PROCESSING, ASKING])
def test_a_known_type_passes(types):
    types.check("ml.g5.xlarge", "entry 1")


def test_a_slip_of_the_finger_gets_a_suggestion():
    text = said(TRAINING, "ml.g5.xlagre")
    assert text.startswith("entry 1: the installed botocore knows no training instance type 'ml.g5.xlagre'.\n")
    assert "Did you mean ml.g5.xlarge" in text
    assert "allow_unknown_types=True" in text


def test_suggestions_are_types_that_the_kind_of_job_has():
    assert "Did you mean ml.p5.4xlarge" in said(ASKING, "ml.p5.4xlrage")
    assert "p5.48" not in said(ASKING, "ml.p5.4xlrage")
    asking = TypeNames(JobKind.TRAINING, catalog.TRAINING_TYPES.__contains__)
    assert "Did you mean ml.p5.48xlarge" in said(asking, "ml.p5.48xlrage")


def test_nothing_close_means_no_suggestion():
    assert "Did you mean" not in said(TRAINING, "ml.zzz")


def test_a_missing_prefix_is_seen():
    assert said(TRAINING, "p5.48xlarge").endswith("\nDid you mean ml.p5.48xlarge?")
    assert "Did you mean ml.g5.xlarge" in said(TRAINING, "g5.xlagre")


@pytest.mark.parametrize("kind", JobKind)
def test_types_newer_than_botocore_pass_when_told_so(kind):
    TypeNames(kind, frozenset(), allow_unknown=True).check("ml.p9.48xlarge", "entry 1")


def test_a_name_without_prefix_never_passes():
    assert "begin with" in said(TypeNames(JobKind.TRAINING, frozenset(), allow_unknown=True), "p9.48xlarge")


def test_a_type_that_processing_lacks_is_told_from_a_typo():
    text = said(PROCESSING, "ml.p3dn.24xlarge")
    assert "processing jobs can't run on ml.p3dn.24xlarge, only training jobs can" in text
    assert text.endswith("With the same accelerator they run on ml.p3.16xlarge, ml.p3.8xlarge, ml.p3.2xlarge.")
    assert said(PROCESSING, "ml.p5.48xlarge").endswith("they run on ml.p5.4xlarge.")
    assert "g4dn, g5, g6, g6e, g7, g7e" in said(PROCESSING, "ml.p4d.24xlarge")


@pytest.mark.parametrize("name", ["ml.p5.48xlarge", "ml.g6.xlarge", "ml.p9.48xlarge"])
def test_plans_are_offered_or_may_be_one_day(name):
    TRAINING.check_reservable(name, "entry 1")


@pytest.mark.parametrize("name", ["ml.g5.xlarge", "ml.m5.large", "ml.m9.large"])
def test_a_plan_for_what_is_not_offered_is_refused(name):
    with pytest.raises(InvalidPreference, match=f"entry 1: there are no training plans for {name}.\nPlans are offered"):
        TRAINING.check_reservable(name, "entry 1")
    TypeNames(JobKind.TRAINING, frozenset(), allow_unknown=True).check_reservable(name, "entry 1")
