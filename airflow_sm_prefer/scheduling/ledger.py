"""Who holds what in quota management, and what is idle, lent and borrowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from airflow_sm_prefer.scheduling.quota_shares import QuotaShare, SharingStrategy
from airflow_sm_prefer.scheduling.snapshot import Job, Placed, Snapshot

Account = tuple[str, str]
"""A quota share's name and an instance type."""


class Ledger:
    """Instances by quota share and type, on which a decision is worked out before anything is done.

    Whatever a share holds above its own limit is borrowed, also where its limit was lowered under running jobs. Only
    what shares lend can be borrowed: instances of the environment that are no share's own stay free.
    """

    def __init__(self, shares: Iterable[QuotaShare], free: Mapping[str, int]) -> None:
        """Begin with nothing held, and so many instances of each type free."""
        self._shares = {share.name: share for share in shares}
        self._free = Counter(free)
        self._held = Counter[Account]()
        self._placed: dict[Account, list[Placed]] = {}
        self._granted = Counter[Account]()
        self._withheld = Counter[str]()
        self._awaited: set[str] = set()

    @classmethod
    def of(cls, snapshot: Snapshot, shares: Iterable[QuotaShare], *, stopping: bool) -> Ledger:
        """Return what is held at an instant, with or without the jobs that are being stopped."""
        free = {unit: limit - snapshot.elsewhere.get(unit, 0) for unit, limit in snapshot.limits.items()}
        ledger = cls(shares, free)
        for placed in snapshot.placed:
            if stopping or not placed.stopping:
                ledger._placed.setdefault(_account(placed.job), []).append(placed)
                ledger._count(placed.job, placed.job.instances)
        return ledger

    def without(self, victims: Iterable[Placed]) -> Ledger:
        """Return a ledger in which some placed jobs have stopped."""
        other = Ledger(self._shares.values(), self._free)
        other._held = self._held.copy()
        other._placed = {account: list(jobs) for account, jobs in self._placed.items()}
        other._granted = self._granted.copy()
        other._withheld = self._withheld.copy()
        other._awaited = self._awaited.copy()
        for victim in victims:
            other._placed[_account(victim.job)].remove(victim)
            other._count(victim.job, -victim.job.instances)
        return other

    def grant(self, job: Job) -> None:
        """Count a job as holding its instances; no later job of this decision takes them."""
        self._granted[_account(job)] += job.instances
        self._count(job, job.instances)

    def withhold(self, job: Job) -> None:
        """Keep what a job waits for from those that come after it.

        That is what is free, if its share's own limits hold it, else what others lend.
        """
        instance_type = job.instance_type
        if self.is_covered(job):
            self._free[instance_type] = min(0, self._free[instance_type])
            self._awaited.add(instance_type)
        elif self._held[_account(job)] + job.instances <= self.most(job):
            self._withheld[instance_type] = self._pool(instance_type)

    def is_awaited(self, instance_type: str) -> bool:
        """Whether the next free instances of a type go to a job that its share's own limits hold.

        It only waits so where the shares' limits come to more than the environment's.
        """
        return instance_type in self._awaited

    def share(self, job: Job) -> QuotaShare:
        """Return a job's quota share; one that isn't there has no limits."""
        return self._named(job.share or "")

    def free(self, instance_type: str) -> int:
        """Return how many instances of a type nobody holds."""
        return self._free[instance_type]

    def most(self, job: Job) -> int:
        """Return how many instances of its type a job's share can ever hold: its own, and those it may borrow."""
        share = self.share(job)
        lent = sum(other.limit(job.instance_type) for other in self._lenders() if other is not share)
        return share.limit(job.instance_type) + share.may_borrow(job.instance_type, lent)

    def owns_room(self, job: Job) -> bool:
        """Whether a job's share holds it without borrowing."""
        return self._held[_account(job)] + job.instances <= self.share(job).limit(job.instance_type)

    def is_covered(self, job: Job) -> bool:
        """Whether a job's share holds it without borrowing, not counting those that the job may preempt there."""
        lower = sum(placed.job.instances for placed in self.lower_in_share(job))
        return self._held[_account(job)] - lower + job.instances <= self.share(job).limit(job.instance_type)

    def lower_in_share(self, job: Job) -> list[Placed]:
        """Return the placed jobs of a job's own share and type that it may preempt: those of lower priority."""
        if not self.share(job).in_share_preemption:
            return []
        placed = self._placed.get(_account(job), ())
        return [one for one in placed if (one.job.priority or 0) < (job.priority or 0)]

    def fits(self, job: Job, *, reclaimable: int = 0) -> bool:
        """Whether a job can be placed, within its share's own limits or by borrowing.

        Args:
            job: The job.
            reclaimable: Lent instances that count as free for a job that need not borrow.
        """
        instance_type, free = job.instance_type, self._free[job.instance_type]
        if self.owns_room(job):
            return job.instances <= free + reclaimable
        idle = self._idle(self.share(job), instance_type)
        return (
            self._held[_account(job)] + job.instances <= self.most(job)
            and job.instances - idle <= self._pool(instance_type) - idle - self._withheld[instance_type]
            and job.instances <= free - self._reserved(instance_type)
        )

    def borrowed(self, instance_type: str) -> dict[Placed, int]:
        """Return how many of its instances each placed job of a type borrows.

        A share's own limit holds its jobs of higher priority first, and of equals those that run longest. So lowering
        a job's priority makes it more likely to be preempted, as UpdateServiceJob is meant to.
        """
        return {
            placed: amount
            for account, jobs in sorted(self._placed.items(), key=lambda entry: entry[0])
            if account[1] == instance_type
            for placed, amount in self._borrowed_in(account, jobs)
        }

    def _borrowed_in(self, account: Account, jobs: list[Placed]) -> Iterator[tuple[Placed, int]]:
        room = max(0, self._named(account[0]).limit(account[1]) - self._granted[account])
        for placed in sorted(jobs, key=_seniority):
            own = min(room, placed.job.instances)
            room -= own
            yield placed, placed.job.instances - own

    def _count(self, job: Job, instances: int) -> None:
        self._held[_account(job)] += instances
        self._free[job.instance_type] -= instances

    def _named(self, name: str) -> QuotaShare:
        return self._shares.get(name) or QuotaShare(name=name, limits={}, strategy=SharingStrategy.RESERVE)

    def _lenders(self) -> Iterator[QuotaShare]:
        return (share for share in self._shares.values() if share.lends)

    def _idle(self, share: QuotaShare, instance_type: str) -> int:
        return max(0, share.limit(instance_type) - self._held[share.name, instance_type])

    def _pool(self, instance_type: str) -> int:
        """What shares lend and nobody has borrowed yet."""
        idle = sum(self._idle(share, instance_type) for share in self._lenders())
        above = sum(
            max(0, held - self._named(name).limit(instance_type))
            for (name, kind), held in self._held.items()
            if kind == instance_type
        )
        return idle - above

    def _reserved(self, instance_type: str) -> int:
        """What stays free for shares that don't lend."""
        return sum(self._idle(share, instance_type) for share in self._shares.values() if not share.lends)


def _account(job: Job) -> Account:
    return (job.share or "", job.instance_type)


def _seniority(placed: Placed) -> tuple[int, float, tuple[float, int, str]]:
    return (-(placed.job.priority or 0), placed.placed_at, placed.job.arrival)
