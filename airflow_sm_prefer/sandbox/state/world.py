"""What there is besides jobs, as documents: each section by itself, so that only what has changed is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.sandbox.accounts import Account, Caller
from airflow_sm_prefer.sandbox.batch.dispatcher import Dispatcher
from airflow_sm_prefer.sandbox.documents import decode, encode
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.operations.offerings import Offerings
from airflow_sm_prefer.sandbox.pace import Pace
from airflow_sm_prefer.sandbox.plans import Plan, PlanSpec
from airflow_sm_prefer.sandbox.rates import RateLimits

Document = dict[str, Any]


class World:
    """Reads and writes everything that can change and isn't a job.

    Args:
        engine: Whose.
        rates: The limits of its API.
        offerings: The plans that can be bought.
        dispatcher: Batch's objects.
    """

    def __init__(self, engine: Engine, rates: RateLimits, offerings: Offerings, dispatcher: Dispatcher) -> None:
        self._engine, self._rates, self._offerings, self.dispatcher = engine, rates, offerings, dispatcher

    def document(self) -> Document:
        """Return every section, by name."""
        engine = self._engine
        return {
            "pace": encode(engine.time.pace),
            "numbers": engine.numbers,
            "capacity": engine.capacity.document(),
            "quotas": dict(engine.quotas),
            "rates": self._rates.document(),
            "faults": engine.faults.document(),
            "events": engine.announcer.document(),
            "plans": encode(engine.plan_specs),
            "owned": [
                [caller.account, caller.region, encode(account.plans.values())]
                for caller, account in engine.accounts.items()
            ],
            "offered": self._offerings.document(),
            "batch": self.dispatcher.document(),
        }

    def restore(self, document: Mapping[str, Any]) -> None:
        """Make everything what the sections say."""
        engine = self._engine
        engine.time.pace = decode(Pace, document["pace"])
        engine.numbers = document["numbers"]
        engine.capacity.restore(document["capacity"])
        engine.quotas = dict(document["quotas"])
        self._rates.restore(document["rates"])
        engine.faults.restore(document["faults"])
        engine.announcer.restore(document["events"])
        engine.plan_specs = [decode(PlanSpec, spec) for spec in document["plans"]]
        for name, region, plans in document["owned"]:
            account = Account(Caller(name, region))
            account.plans = {plan.arn: plan for plan in (decode(Plan, plan) for plan in plans)}
            engine.accounts[account.caller] = account
        self._offerings.restore(document["offered"])
        if "batch" in document:  # else it is of a version that had none
            self.dispatcher.restore(document["batch"])
