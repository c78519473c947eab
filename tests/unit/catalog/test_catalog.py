"""The catalog says what the sources say, and by rule what they don't list."""

from __future__ import annotations

from datetime import date

import botocore.session
import pytest

from airflow_sm_prefer import catalog


@pytest.mark.parametrize(
    "name",
    [
        "ml.p3.2xlarge",
        "ml.p6-b200.48xlarge",
        "ml.p6e-gb200.36xlarge",
        "ml.g5.xlarge",
        "ml.trn1n.32xlarge",
        "ml.g9.x",
    ],
)
def test_p_g_and_trn_families_are_accelerated(name):
    assert catalog.is_accelerated(name)


@pytest.mark.parametrize("name", ["ml.m5.large", "ml.c6g.large", "ml.inf2.xlarge", "p5.48xlarge", "ml.r5d.large"])
def test_other_families_are_not_accelerated(name):
    assert not catalog.is_accelerated(name)


@pytest.mark.parametrize(
    "name",
    [
        "ml.p3dn.24xlarge",
        "ml.g4dn.xlarge",
        "ml.p9.48xlarge",
        "ml.r5d.large",
        "ml.m5d.large",
        "ml.c6gd.large",
        "ml.m5dn.large",
        "ml.i3.large",
        "ml.i4i.large",
        "ml.d3.xlarge",
    ],
)
def test_families_with_disks_are_known_by_their_name(name):
    assert catalog.has_local_storage(name)


@pytest.mark.parametrize(
    "name",
    ["ml.p2.xlarge", "ml.p3.16xlarge", "ml.m5.large", "ml.t3.medium", "ml.r8i-flex.large", "ml.inf2.xlarge"],
)
def test_ebs_only_families_have_no_disks(name):
    assert not catalog.has_local_storage(name)
    assert catalog.local_storage_gb(name) == 0


def test_local_storage_is_a_size_only_where_it_is_known():
    assert catalog.local_storage_gb("ml.g5.xlarge") == 250
    assert catalog.local_storage_gb("ml.r5d.large") is None


@pytest.mark.parametrize("name", sorted(catalog.TRAINING_TYPES | catalog.PROCESSING_TYPES))
def test_rule_and_table_agree_on_local_storage(name):
    known = catalog.spec(name)
    if known is not None:
        assert catalog.has_local_storage(name) == (known.nvme_gb > 0)


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        (catalog.TRAINING_TYPES, "TrainingInstanceType"),
        (catalog.PROCESSING_TYPES, "ProcessingInstanceType"),
        (
            catalog.RESERVABLE_TYPES - {"ml.g6.xlarge", "ml.g6.4xlarge", "ml.p6e-gb200.72xlarge"},
            "ReservedCapacityInstanceType",
        ),
    ],
)
def test_the_installed_botocore_knows_every_type_of_the_floor(names, shape):
    model = botocore.session.get_session().get_service_model("sagemaker")
    assert names
    assert names <= set(model.shape_for(shape).enum)


def test_every_accelerated_type_but_the_undocumented_ones_has_a_spec():
    without = {t for t in catalog.TRAINING_TYPES if catalog.is_accelerated(t) and catalog.spec(t) is None}
    assert without == {"ml.p2.xlarge", "ml.p2.8xlarge", "ml.p2.16xlarge", "ml.p6e-gb200.36xlarge"}


def test_a_spec_tells_what_is_inside():
    assert catalog.spec("ml.g5.12xlarge") == catalog.InstanceSpec("A10G", 4, 24, 48, 192, 3800)
    assert catalog.spec("ml.g5.16xlarge").accelerator_count == 1
    assert catalog.spec("ml.trn2.48xlarge") == catalog.InstanceSpec("Trainium2", 16, 96, 192, 2048, 7600)
    assert catalog.spec("ml.m5.large") is None


def test_prices_come_with_region_day_and_source():
    newest, undated, oldest = catalog.price("ml.g5.xlarge")
    assert (newest.usd_per_hour, newest.region, newest.as_of) == (1.41, "us-west-2", date(2026, 9, 1))
    assert (undated.usd_per_hour, undated.region, undated.as_of) == (1.408, "us-east-1", None)
    assert (oldest.usd_per_hour, oldest.region, oldest.as_of) == (1.57, "eu-west-1", date(2024, 1, 17))
    assert all(row.source for row in (newest, undated, oldest))


def test_a_price_that_was_not_read_is_not_invented():
    assert catalog.price("ml.g6e.xlarge") is None
    assert [row.usd_per_hour for row in catalog.price("ml.p4d.24xlarge")] == [25.251286]
    assert [row.usd_per_hour for row in catalog.price("ml.p3.2xlarge")] == [4.14]


def test_the_same_accelerator_elsewhere_is_found_biggest_first():
    found = catalog.same_accelerator("ml.p3dn.24xlarge", catalog.PROCESSING_TYPES)
    assert found == ["ml.p3.16xlarge", "ml.p3.8xlarge", "ml.p3.2xlarge"]
    assert catalog.same_accelerator("ml.p4d.24xlarge", catalog.PROCESSING_TYPES) == []
    assert catalog.same_accelerator("ml.m5.large", catalog.PROCESSING_TYPES) == []
