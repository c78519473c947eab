import pytest

from airflow_sm_prefer.aws import instance_types
from airflow_sm_prefer.aws.instance_types import is_known, known_types
from airflow_sm_prefer.model.job import JobKind


@pytest.fixture
def newer_botocore(monkeypatch):
    """A botocore that knows a type that our catalog doesn't."""
    known_types.cache_clear()
    monkeypatch.setattr(
        instance_types,
        "_model_enums",
        lambda: {JobKind.TRAINING: ("ml.p9.48xlarge",), JobKind.PROCESSING: ()},
    )
    yield
    known_types.cache_clear()


def test_the_types_are_those_of_the_installed_model():
    assert {"ml.p5.48xlarge", "ml.m5.large"} <= known_types(JobKind.TRAINING)
    assert "ml.m5.large" in known_types(JobKind.PROCESSING)
    assert "ml.p5.48xlarge" not in known_types(JobKind.PROCESSING)


@pytest.mark.parametrize("kind", list(JobKind))
def test_a_slip_of_the_finger_is_not_known(kind):
    assert is_known(kind, "ml.m5.large")
    assert not is_known(kind, "ml.m5.lrage")


def test_what_a_newer_botocore_has_is_known_too(newer_botocore):
    assert is_known(JobKind.TRAINING, "ml.p9.48xlarge")
    assert not is_known(JobKind.PROCESSING, "ml.p9.48xlarge")


def test_a_type_of_the_catalog_needs_no_model(monkeypatch):
    known_types.cache_clear()
    monkeypatch.setattr(instance_types, "_model_enums", lambda: pytest.fail("the model was loaded"))
    assert is_known(JobKind.TRAINING, "ml.p5.48xlarge")
