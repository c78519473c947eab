"""The nightly DAG's file: its shape, its form, and where its lists come from."""

from __future__ import annotations

import ast
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import joblib
import jsonschema
import numpy as np
import pytest
from jinja2 import Environment, StrictUndefined
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

DAGS = Path(__file__).parents[2] / "dags"


@pytest.fixture(scope="module")
def dag() -> Any:
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # before Airflow 3.2
        from airflow.models.dagbag import DagBag

    bag = DagBag(str(DAGS))
    assert not bag.import_errors
    return bag.dags["nightly_training"]


class Variables:
    """Airflow's ``var`` in a template."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    @property
    def json(self) -> Variables:
        return self

    def get(self, name: str, default: Any) -> Any:
        return self._values.get(name, default)


def rendered(template: str, dag: Any, **variables: Any) -> str:
    environment = Environment(undefined=StrictUndefined)
    return environment.from_string(template).render(var=Variables(**variables), params=dict(dag.params))


def test_it_runs_nightly_once_at_a_time_and_only_when_wanted(dag: Any) -> None:
    assert dag.schedule == "@daily"
    assert dag.catchup is False
    assert dag.max_active_runs == 1
    assert dag.is_paused_upon_creation is True


def test_the_jobs_and_the_check_follow_each_other(dag: Any) -> None:
    assert dag.task_dict["prepare"].downstream_task_ids == {"train"}
    assert dag.task_dict["train"].downstream_task_ids == {"check"}
    assert dag.task_dict["check"].downstream_task_ids == set()


def test_every_param_has_a_form_and_fits_its_own_schema(dag: Any) -> None:
    for name in dag.params:
        param = dag.params.get_param(name)
        jsonschema.validate(param.value, param.schema)
        assert param.schema["title"], name
    assert dag.params.get_param("train_on").schema["items"] == {"type": "string"}


@pytest.mark.parametrize("wrong", [[], "ml.g5.xlarge", [1], ["ml.g5.xlarge"] * 6])
def test_the_form_refuses_what_is_no_list_of_types(dag: Any, wrong: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, dag.params.get_param("train_on").schema)


@pytest.mark.parametrize(("task_id", "name"), [("train", "train_on"), ("prepare", "prepare_on")])
def test_the_list_is_the_variables_if_there_is_one_else_the_params(dag: Any, task_id: str, name: str) -> None:
    template = dag.task_dict[task_id].prefer
    assert ast.literal_eval(rendered(template, dag)) == dag.params[name]
    changed = ["ml.p5.48xlarge", {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2}]
    assert ast.literal_eval(rendered(template, dag, **{f"nightly_{name}": changed})) == changed


def test_a_run_without_a_logical_date_has_a_place_in_s3(dag: Any) -> None:
    assert "run_after" in json.dumps(dag.task_dict["train"].config)
    assert "logical_date" not in json.dumps(dag.task_dict["train"].config)


def packed(model: Any) -> bytes:
    content, archive = io.BytesIO(), io.BytesIO()
    joblib.dump(model, content)
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("./model.joblib")
        member.size = content.tell()
        content.seek(0)
        tar.addfile(member, content)
    return archive.getvalue()


class FakeS3:
    """Airflow's S3 hook over a dict."""

    def __init__(self, objects: dict[tuple[str, str], bytes]) -> None:
        self._objects = objects

    def parse_s3_url(self, url: str) -> tuple[str, str]:
        bucket, _, key = url.removeprefix("s3://").partition("/")
        return bucket, key

    def __call__(self) -> FakeS3:
        return self

    def get_key(self, key: str, bucket: str) -> FakeS3:
        return FakeS3({("", ""): self._objects[bucket, key]})

    def get(self) -> dict[str, Any]:
        return {"Body": io.BytesIO(self._objects["", ""])}


def checked(dag: Any, monkeypatch: pytest.MonkeyPatch, labels: np.ndarray) -> float:
    """Run the check of a model that has learnt those labels."""
    from airflow.providers.amazon.aws.hooks import s3

    pixels, digits = load_digits(return_X_y=True)
    test = io.StringIO()
    np.savetxt(test, np.column_stack([digits, pixels / 16])[1000:], delimiter=",")
    model = LogisticRegression(max_iter=1000).fit(pixels[:1000] / 16, labels[:1000])
    objects = {("b", "run/model.tar.gz"): packed(model), ("b", "run/split/test/test.csv"): test.getvalue().encode()}
    monkeypatch.setattr(s3, "S3Hook", FakeS3(objects))
    trained = {"Training": {"ModelArtifacts": {"S3ModelArtifacts": "s3://b/run/model.tar.gz"}}}
    return float(dag.task_dict["check"].python_callable(trained, "s3://b/run"))


def test_a_model_that_knows_nine_of_ten_digits_passes(dag: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(dag, monkeypatch, load_digits().target) >= 0.9


def test_a_model_that_knows_fewer_fails_the_run(dag: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.common.compat.sdk import AirflowFailException

    guessed = np.random.default_rng(0).permutation(load_digits().target)
    with pytest.raises(AirflowFailException, match="90% are needed"):
        checked(dag, monkeypatch, guessed)
