"""What holds for any queue, whatever waits and runs in it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.scheduling.environment import Queue, decide_all
from airflow_sm_prefer.scheduling.fair_share import FairShare, FairsharePolicy
from airflow_sm_prefer.scheduling.fifo import Fifo
from airflow_sm_prefer.scheduling.quota_management import QuotaManagement
from airflow_sm_prefer.scheduling.quota_shares import UNLIMITED, QuotaShare, SharingStrategy
from airflow_sm_prefer.scheduling.snapshot import NUM_INSTANCES, Job, Placed, PreemptionReason, Snapshot
from airflow_sm_prefer.scheduling.usage import Usage

TYPES = ("ml.p4d.24xlarge", "ml.p5.48xlarge")
SHARES = ("A", "B", "C", "D")
PATIENT = settings(deadline=None)


class World:
    """A queue that lives: jobs come and end, decisions are carried out, those that are preempted stop in time."""

    def __init__(self, policy, limits, seed):
        self.policy = policy
        self.limits = limits
        self.random = random.Random(seed)
        self.now = 0
        self.runnable = ()
        self.placed = ()

    def snapshot(self):
        return Snapshot(now=self.now, runnable=self.runnable, placed=self.placed, limits=self.limits)

    def submit(self, count, largest=4):
        self.runnable += tuple(
            Job(
                id=f"{self.now}-{n}",
                instance_type=self.random.choice(TYPES),
                instances=self.random.randint(1, largest),
                submitted_at=self.now,
                sequence=n,
                share=self.random.choice(SHARES),
                priority=self.random.choice((None, 0, 1, 2)),
            )
            for n in range(count)
        )

    def shares_of_stopping(self):
        """The shares that jobs come back to when they have stopped."""
        return {one.job.share for one in self.placed if one.stopping}

    def stop(self, *, share_of_the_running=0.0):
        """Let what is being stopped stop, requeued, and some of what runs end."""
        ended = [one for one in self.placed if one.stopping or self.random.random() < share_of_the_running]
        self.runnable += tuple(one.job for one in ended if one.stopping)
        self.placed = tuple(one for one in self.placed if one not in ended)

    def step(self):
        """Decide and carry it out."""
        decision = self.policy.decide(self.snapshot())
        self.carry_out(decision)
        self.now += 1
        return decision

    def carry_out(self, decision):
        self.runnable = tuple(one for one in self.runnable if one not in decision.place)
        victims = {one.victim for one in decision.preempt}
        self.placed = tuple(replace(one, stopping=one.stopping or one.job in victims) for one in self.placed)
        self.placed += tuple(Placed(job=one, placed_at=self.now) for one in decision.place)

    def held(self, share=None):
        """Instances by type, of a share or of all."""
        counts = Counter()
        for one in self.placed:
            if share in (None, one.job.share):
                counts[one.job.instance_type] += one.job.instances
        return counts


@st.composite
def quota_shares(draw):
    def share(name):
        return QuotaShare(
            name=name,
            limits={kind: draw(st.integers(1, 5)) for kind in TYPES},
            strategy=draw(st.sampled_from(SharingStrategy)),
            borrow_limit=draw(st.sampled_from((UNLIMITED, 0, 50, 100))),
            in_share_preemption=draw(st.booleans()),
        )

    return tuple(share(name) for name in SHARES[: draw(st.integers(1, 4))])


@st.composite
def quota_worlds(draw, *, ample=False):
    """A world some way into its life. An ample environment has what all its shares' limits come to, and maybe more."""
    shares = draw(quota_shares())
    total = {kind: sum(share.limit(kind) for share in shares) for kind in TYPES}
    limits = {kind: total[kind] + draw(st.integers(0 if ample else -4, 2)) for kind in TYPES}
    world = World(QuotaManagement(shares), limits, draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(0, 8))):
        world.submit(draw(st.integers(0, 6)))
        world.step()
        if draw(st.booleans()):
            world.stop(share_of_the_running=0.2)
    world.submit(draw(st.integers(1, 6)))
    return world


def total(jobs):
    counts = Counter()
    for one in jobs:
        counts[one.instance_type] += one.instances
    return counts


@given(quota_worlds())
@PATIENT
def test_nothing_is_placed_beyond_the_environments_capacity(world):
    world.step()

    assert all(world.held()[kind] <= world.limits[kind] for kind in TYPES if world.held()[kind])


@given(quota_worlds())
@PATIENT
def test_no_share_holds_more_than_its_own_and_what_it_may_borrow(world):
    world.step()

    for share in world.policy.shares:
        for kind in TYPES:
            lent = sum(other.limit(kind) for other in world.policy.shares if other.lends and other is not share)
            assert world.held(share.name)[kind] <= share.limit(kind) + share.may_borrow(kind, lent)


@given(quota_worlds(ample=True))
@PATIENT
def test_what_is_borrowed_was_idle_with_those_who_lend(world):
    held = {(share.name, kind): world.held(share.name)[kind] for share in world.policy.shares for kind in TYPES}
    limits = {(share.name, kind): share.limit(kind) for share in world.policy.shares for kind in TYPES}
    keepers = [share.name for share in world.policy.shares if not share.lends]

    for job in world.step().place:
        kind = job.instance_type
        held[job.share, kind] += job.instances
        if held[job.share, kind] > limits[job.share, kind]:
            free = world.limits[kind] - sum(count for (_, of), count in held.items() if of == kind)
            assert free >= sum(max(0, limits[name, kind] - held[name, kind]) for name in keepers)

    for kind in TYPES:
        above = sum(max(0, held[name, of] - limits[name, of]) for name, of in held if of == kind)
        assert above <= sum(share.limit(kind) for share in world.policy.shares if share.lends)


@given(quota_worlds())
@PATIENT
def test_a_job_is_placed_once_and_only_if_it_waits(world):
    decision = world.policy.decide(world.snapshot())

    stuck = [one.job for one in decision.blocked]
    assert len(set(decision.place)) == len(decision.place)
    assert set(decision.place) <= set(world.runnable)
    assert not set(decision.place) & {one.beneficiary for one in decision.preempt}
    assert not set(decision.place) & set(stuck)
    assert len({one.share for one in stuck}) == len(stuck)


@given(quota_worlds(), st.randoms())
@PATIENT
def test_the_same_snapshot_gives_the_same_decision_in_whatever_order_it_is_written(world, shuffle):
    def shuffled(values):
        return tuple(shuffle.sample(values, len(values)))

    snapshot = world.snapshot()
    other = replace(snapshot, runnable=shuffled(world.runnable), placed=shuffled(world.placed))
    same_policy = QuotaManagement(shuffled(world.policy.shares))

    assert same_policy.decide(other) == world.policy.decide(snapshot)
    assert same_policy.order(other) == world.policy.order(snapshot)


@given(quota_worlds())
@PATIENT
def test_only_those_are_preempted_whom_the_rules_name(world):
    shares = {share.name: share for share in world.policy.shares}
    running = {one.job for one in world.placed if not one.stopping}
    decision = world.policy.decide(world.snapshot())

    gone = [one.victim for one in decision.preempt]
    assert len(set(gone)) == len(gone)
    assert set(gone) <= running
    # A share's own limit covers what it is given now before what it has running.
    given_now = {*decision.place, *(one.beneficiary for one in decision.preempt)}
    for one in decision.preempt:
        assert one.victim.instance_type == one.beneficiary.instance_type
        if one.reason is PreemptionReason.IN_SHARE:
            assert one.victim.share == one.beneficiary.share
            assert (one.victim.priority or 0) < (one.beneficiary.priority or 0)
            assert shares[one.victim.share].in_share_preemption
        else:
            assert one.victim.share != one.beneficiary.share
            kind, share = one.victim.instance_type, one.victim.share
            own = total(job for job in given_now if job.share == share)[kind]
            assert world.held(share)[kind] + own > shares[share].limit(kind)


@given(quota_worlds())
@PATIENT
def test_whom_a_job_is_preempted_for_is_placed_once_it_has_stopped(world):
    """Unless it would have to borrow then: what others lend may be called back by its owner in the meantime."""
    limits = {share.name: share for share in world.policy.shares}
    decision = world.step()
    beneficiaries = {one.beneficiary for one in decision.preempt}

    # All that are being stopped stop, those of earlier decisions too; they come back to the queue, before those of
    # their own share that they were before.
    came_back = world.shares_of_stopping()
    world.stop()
    called_for = {
        one
        for one in beneficiaries
        if one.share not in came_back
        and (
            world.held(one.share)[one.instance_type]
            + total(other for other in beneficiaries if other.share == one.share)[one.instance_type]
            <= limits[one.share].limit(one.instance_type)
        )
    }
    world.step()

    assert called_for <= {one.job for one in world.placed}


@given(quota_worlds())
@PATIENT
def test_no_victim_could_have_been_spared(world):
    """For one job. Where several are preempted for, they are told one after the other, and may be one too many."""
    snapshot = world.snapshot()
    decision = world.policy.decide(snapshot)
    several = len({one.beneficiary for one in decision.preempt}) > 1

    for spared in () if several else decision.preempt:
        others = {one.victim for one in decision.preempt} - {spared.victim}
        held = tuple(one for one in snapshot.placed if not one.stopping and one.job not in others)
        held += tuple(Placed(job=one, placed_at=world.now) for one in decision.place)
        waiting = tuple(one for one in snapshot.runnable if one not in decision.place)
        again = world.policy.decide(replace(snapshot, runnable=waiting, placed=held))
        assert not {one.beneficiary for one in decision.preempt} <= set(again.place)


@given(quota_worlds(ample=True))
@PATIENT
def test_an_owner_within_its_limits_is_never_starved_by_borrowers(world):
    heads = {}
    for one in sorted(world.runnable, key=lambda one: one.rank):
        heads.setdefault(one.share, one)
    shares = {share.name: share for share in world.policy.shares}
    owners = [
        one
        for name, one in heads.items()
        if name in shares
        and total(p.job for p in world.placed if p.job.share == name and not p.stopping)[one.instance_type]
        + one.instances
        <= shares[name].limit(one.instance_type)
    ]

    world.step()
    came_back = world.shares_of_stopping()
    world.stop()
    world.step()

    # One that is preempted comes back before those of its own share that it was before.
    assert {one for one in owners if one.share not in came_back} <= {one.job for one in world.placed}


@given(quota_worlds())
@PATIENT
def test_higher_priority_never_waits_behind_lower_of_the_same_size_in_its_share(world):
    decision = world.policy.decide(world.snapshot())

    waiting = set(world.runnable) - set(decision.place)
    for one in decision.place:
        for other in waiting:
            alike = (one.share, one.instance_type, one.instances) == (other.share, other.instance_type, other.instances)
            assert not alike or (one.priority or 0) >= (other.priority or 0)


@given(quota_worlds(ample=True))
@PATIENT
def test_a_queue_that_nobody_adds_to_comes_to_rest(world):
    """Nobody preempts those who were preempted for them."""
    for _ in range(60):
        decision = world.step()
        world.stop()
        if not decision.place and not decision.preempt:
            break

    assert not decision.place
    assert not decision.preempt


@st.composite
def counted_worlds(draw):
    weights = {name: draw(st.sampled_from((0.125, 0.5, 1.0, 3.0))) for name in SHARES}
    policy = FairsharePolicy(
        share_decay_seconds=draw(st.sampled_from((0, 60, 604_800))),
        compute_reservation=draw(st.sampled_from((0, 25, 50, 99))),
        weights=weights,
    )
    limits = {NUM_INSTANCES: draw(st.integers(1, 12))}
    usage = Usage(as_of=0)
    world = World(draw(st.sampled_from((Fifo(), FairShare(policy, usage)))), limits, draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(0, 8))):
        world.submit(draw(st.integers(0, 6)))
        world.step()
        world.stop(share_of_the_running=0.3)
    world.submit(draw(st.integers(1, 6)))
    return world


@given(counted_worlds())
@PATIENT
def test_a_counted_environment_is_never_overfull_and_its_queue_never_overtaken(world):
    before = world.policy.order(world.snapshot())

    decision = world.step()

    assert sum(world.held().values()) <= world.limits[NUM_INSTANCES]
    assert sorted(before, key=str) == sorted((*decision.place, *world.runnable), key=str)
    assert decision.place == before[: len(decision.place)]
    assert decision.preempt == ()
    assert len(decision.blocked) <= 1


@given(counted_worlds(), st.randoms())
@PATIENT
def test_a_counted_queue_doesnt_depend_on_the_order_it_is_written_in(world, shuffle):
    snapshot = world.snapshot()
    other = replace(snapshot, runnable=tuple(shuffle.sample(world.runnable, len(world.runnable))))

    assert world.policy.decide(other) == world.policy.decide(snapshot)
    assert world.policy.order(other) == world.policy.order(snapshot)


@given(st.lists(counted_worlds(), min_size=1, max_size=3), st.integers(1, 12))
@PATIENT
def test_queues_on_one_environment_never_overfill_it_together(worlds, limit):
    queues = [
        Queue(name=str(n), priority=n % 2, policy=world.policy, runnable=world.runnable)
        for n, world in enumerate(worlds)
    ]

    decisions = decide_all(queues, limits={NUM_INSTANCES: limit}, now=0)

    assert sum(one.instances for decision in decisions.values() for one in decision.place) <= limit


@given(
    st.lists(st.sampled_from((0.25, 0.5, 1.0, 2.0)), min_size=2, max_size=4),
    st.integers(1, 9),
    st.sampled_from((0, 3600)),
)
@example([0.25, 1.0, 2.0, 2.0], 9, 0)  # all end together, and the rounding of each time adds up
@settings(max_examples=20, deadline=None)
def test_fair_shares_come_to_the_ratio_of_their_weights(factors, job_seconds, decay):
    """Shares that always have jobs waiting use instances in proportion to 1 / weightFactor, to within one instance."""
    limit = 20
    weights = dict(zip(SHARES, factors, strict=False))
    policy = FairsharePolicy(share_decay_seconds=decay, weights=weights)
    usage, running, used = Usage(as_of=0), [], Counter()
    minute = 60
    for step in range(400):
        now = step * minute
        usage = usage.carried_to(now, running, decay)
        for one in running:
            used[one.job.share] += one.job.instances
        running = [one for one in running if now - one.placed_at < job_seconds * minute]
        waiting = tuple(  # of each share, enough for all that is free
            Job(id=f"{share}{step}-{n}", instance_type=TYPES[0], instances=1, submitted_at=now, share=share, sequence=n)
            for share in weights
            for n in range(max(1, limit - len(running)))
        )
        snapshot = Snapshot(now=now, runnable=waiting, placed=tuple(running), limits={NUM_INSTANCES: limit})
        decision = FairShare(policy, usage).decide(snapshot)
        running += [Placed(job=one, placed_at=now) for one in decision.place]

    inverse = sum(1 / factor for factor in factors)
    for share, factor in weights.items():
        fair = (1 / factor) / inverse
        assert abs(used[share] / used.total() - fair) < 1 / limit
