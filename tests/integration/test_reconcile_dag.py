"""The maintenance DAG's file: when it runs, and what makes it stop anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer import SageMakerReconcileOperator

DAGS = Path(__file__).parents[2] / "dags"


@pytest.fixture(scope="module")
def dag() -> Any:
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # before Airflow 3.2
        from airflow.models.dagbag import DagBag

    bag = DagBag(str(DAGS / "reconcile.py"))
    assert not bag.import_errors
    return bag.dags["reconcile"]


def test_it_runs_every_ten_minutes_and_never_twice_at_once(dag: Any) -> None:
    assert dag.schedule == "*/10 * * * *"
    assert (dag.max_active_runs, dag.catchup, dag.is_paused_upon_creation) == (1, False, True)


class Variables:
    """Airflow's ``var.value``."""

    def __init__(self, **there: str) -> None:
        self.there = there

    def get(self, name: str, default: Any) -> Any:
        return self.there.get(name, default)


@pytest.mark.parametrize(
    ("variables", "param", "stop"),
    [({}, False, "False"), ({}, True, "True"), ({"reconcile_stop": "true"}, False, "true")],
)
def test_it_stops_only_what_it_is_told_to(dag: Any, variables: dict[str, str], param: bool, stop: str) -> None:
    operator = dag.get_task("reconcile")
    assert isinstance(operator, SageMakerReconcileOperator)
    rendered = operator.prepare_for_execution()
    rendered.render_template_fields({"params": {"stop": param}, "var": {"value": Variables(**variables)}})
    assert rendered.stop == stop
