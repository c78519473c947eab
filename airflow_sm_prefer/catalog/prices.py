"""What some types cost in some Regions. Only what was read somewhere; no price is derived from another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache

from airflow_sm_prefer.catalog._data import read


@dataclass(frozen=True, slots=True)
class Price:
    """One price of one type, and where and when it was read.

    Attributes:
        usd_per_hour: US dollars for one instance for an hour, On-Demand.
        region: The Region that it holds for.
        as_of: The day that it held on; None if the source doesn't say.
        source: Where it was read.
    """

    usd_per_hour: float
    region: str
    as_of: date | None
    source: str


@cache
def _prices() -> dict[str, tuple[Price, ...]]:
    found: dict[str, tuple[Price, ...]] = {}
    for table in read("prices.json"):
        as_of = date.fromisoformat(table["as_of"]) if table["as_of"] else None
        for name, dollars in table["usd_per_hour"].items():
            row = Price(dollars, table["region"], as_of, table["source"])
            found[name] = (*found.get(name, ()), row)
    return found


def price(instance_type: str) -> tuple[Price, ...] | None:
    """Return the known prices of a type, the most recent first; None if none is known.

    Prices differ by Region and change: show the Region and the day beside them. The ratio to EC2's price falls
    with an instance's size, so a missing one can't be computed. AWS's own: https://aws.amazon.com/sagemaker/ai/pricing/
    """
    return _prices().get(instance_type)
