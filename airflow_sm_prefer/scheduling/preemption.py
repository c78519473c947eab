"""Whom to preempt for a job, in quota management."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from airflow_sm_prefer.scheduling.ledger import Ledger
from airflow_sm_prefer.scheduling.snapshot import Job, Placed, PreemptionReason

Victims = tuple[tuple[Placed, PreemptionReason], ...]


def make_room(job: Job, ledger: Ledger) -> Victims:
    """Return the placed jobs to stop so that a job fits; none if stopping any would not make it fit.

    In-share preemption first brings the job within its share's own limits: jobs of lower priority in the same share
    give way. Cross-share preemption then takes back what other shares hold above their limits. A job that its share's
    own limits don't hold, those of lower priority aside, preempts nobody: it waits for idle instances. Nor does one
    before which a job of another share would get what the victims leave.

    AWS says that it considers how many instances a job borrows, priorities and run times, in a heuristic that it
    doesn't publish. Here the first to go are jobs whose instances are all borrowed, then the lowest priority, then the
    shortest run. No job is stopped without which it would do as well.

    Source: https://docs.aws.amazon.com/batch/latest/userguide/preemption.html
    """
    if not ledger.is_covered(job) or ledger.is_awaited(job.instance_type):
        return ()
    borrowed = ledger.borrowed(job.instance_type)
    lenders_want = [placed for placed, amount in borrowed.items() if amount and placed.job.share != job.share]
    reclaimable = sum(placed.job.instances for placed in lenders_want)
    in_share = _fewest(
        _by_cost(ledger.lower_in_share(job), borrowed),
        enough=lambda victims: ledger.without(victims).fits(job, reclaimable=reclaimable),
    )
    short = job.instances - ledger.without(in_share).free(job.instance_type)
    cross_share = _fewest(
        _by_cost(lenders_want, borrowed),
        enough=lambda victims: sum(victim.job.instances for victim in victims) >= short,
    )
    if not ledger.without((*in_share, *cross_share)).fits(job):
        return ()
    return (
        *((victim, PreemptionReason.IN_SHARE) for victim in in_share),
        *((victim, PreemptionReason.CROSS_SHARE) for victim in cross_share),
    )


def _by_cost(candidates: Iterable[Placed], borrowed: Mapping[Placed, int]) -> list[Placed]:
    """Sort jobs, those whose end costs least first."""
    latest_first = sorted(candidates, key=lambda placed: (placed.placed_at, placed.job.arrival), reverse=True)
    return sorted(latest_first, key=lambda placed: (borrowed[placed] < placed.job.instances, placed.job.priority or 0))


def _fewest(candidates: list[Placed], *, enough: Callable[[tuple[Placed, ...]], bool]) -> tuple[Placed, ...]:
    """Return the first so many candidates that are enough, less those that can be spared; or all of them."""
    chosen: tuple[Placed, ...] = ()
    for candidate in candidates:
        if enough(chosen):
            break
        chosen = (*chosen, candidate)
    for candidate in reversed(chosen):
        rest = tuple(placed for placed in chosen if placed is not candidate)
        if enough(rest):
            chosen = rest
    return chosen
