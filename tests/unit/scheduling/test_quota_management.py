"""Quota management: within limits, by borrowing, and by preemption."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from airflow_sm_prefer.scheduling.quota_management import QuotaManagement
from airflow_sm_prefer.scheduling.quota_shares import QuotaShare
from airflow_sm_prefer.scheduling.snapshot import Snapshot
from tests.unit.scheduling.builders import (
    G6,
    P4,
    P5,
    blocked,
    borrowing,
    job,
    lending,
    names,
    placed,
    reserving,
    typed,
    victims,
)


@dataclass(frozen=True)
class Case:
    """A queue at an instant, and what is to be decided."""

    shares: tuple[QuotaShare, ...]
    snapshot: Snapshot
    place: tuple[str, ...] = ()
    preempt: tuple[tuple[str, str, str], ...] = ()
    blocked: tuple[tuple[str, str], ...] = ()

    def check(self):
        decision = QuotaManagement(self.shares).decide(self.snapshot)
        assert tuple(names(decision.place)) == self.place
        assert tuple(victims(decision)) == self.preempt
        assert tuple(blocked(decision)) == self.blocked


A, B = borrowing("A", 4), borrowing("B", 4)


def jobs(share, count, size=1, *, at=0, **fields):
    return [job(f"{share}{n}", size, share=share, at=at + n, **fields) for n in range(1, count + 1)]


WITHIN_LIMITS = {
    "nothing waits": Case((A, B), typed(8)),
    "each share has what is its own": Case(
        (reserving("A", 1), reserving("B", 2)),
        typed(3, [*jobs("A", 3), *jobs("B", 3, at=10)]),
        place=("A1", "B1", "B2"),
    ),
    "higher priority goes first in a share, then arrival": Case(
        (reserving("A", 2),),
        typed(
            2,
            [
                job("first", share="A", at=1),
                job("zero", share="A", at=2, priority=0),
                job("high", share="A", at=3, priority=7),
            ],
        ),
        place=("high", "first"),
    ),
    "priority means nothing between shares": Case(
        (reserving("A", 1), reserving("B", 1)),
        typed(1, [job("a", share="A", at=1), job("b", share="B", at=2, priority=9999)]),
        place=("a",),
    ),
    "a head that waits holds back its share": Case(
        (reserving("A", 4),),
        typed(4, [job("big", 3, share="A", at=1), job("small", share="A", at=2)], [placed("r", 2, share="A")]),
    ),
    "also where those behind it need another type": Case(
        (reserving("A", {P4: 2, P5: 2}),),
        typed(
            {P4: 2, P5: 2},
            [job("p4", 2, share="A", at=1), job("p5", share="A", at=2, instance_type=P5)],
            [placed("r", share="A")],
        ),
    ),
    "a head that waits doesn't hold back other shares": Case(
        (reserving("A", 2), reserving("B", 2)),
        typed(4, [job("a", 2, share="A", at=1), job("b", 2, share="B", at=2)], [placed("r", share="A")]),
        place=("b",),
    ),
    "each type has its own limit": Case(
        (reserving("A", {P4: 1, P5: 2}),),
        typed({P4: 1, P5: 2}, [job("p4", share="A", at=1), job("p5", 2, share="A", at=2, instance_type=P5)]),
        place=("p4", "p5"),
    ),
    "the environment bounds shares whose limits are more than it": Case(
        (reserving("A", 3), reserving("B", 3)),
        typed(4, [job("a", 3, share="A", at=1), job("b", 3, share="B", at=2)]),
        place=("a",),
    ),
    "and what an earlier job waits for there isn't taken by a later one": Case(
        (reserving("A", 3), reserving("B", 3)),
        typed(4, [job("a", 3, share="A", at=1), job("b", share="B", at=2)], [placed("r", 2, share="B")]),
    ),
    "what is about to be free isn't given away yet": Case(
        (reserving("A", 4),),
        typed(4, jobs("A", 2, 2), [placed("r", 2, share="A", stopping=True)]),
        place=("A1",),
    ),
    "an environment whose limit was lowered places nothing until there is room": Case(
        (reserving("A", 4),), typed(2, [job("a", share="A")], [placed("r", 3, share="A")])
    ),
}

BORROWING = {
    "what is idle is lent": Case((A, B), typed(8, jobs("A", 6)), place=("A1", "A2", "A3", "A4", "A5", "A6")),
    "RESERVE lends nothing": Case((A, reserving("B", 4)), typed(8, jobs("A", 5)), place=("A1", "A2", "A3", "A4")),
    "RESERVE borrows nothing": Case((reserving("A", 4), B), typed(8, jobs("A", 5)), place=("A1", "A2", "A3", "A4")),
    "LEND borrows nothing": Case((lending("A", 4), B), typed(8, jobs("A", 5)), place=("A1", "A2", "A3", "A4")),
    "LEND lends": Case((A, lending("B", 4)), typed(8, [job("a", 8, share="A")]), place=("a",)),
    "AWS: five with a borrow limit of 100 percent may hold ten": Case(
        # create-quota-shares, the example of the CLI.
        (borrowing("A", 5, borrow_limit=100), lending("B", 9)),
        typed(14, jobs("A", 11)),
        place=tuple(f"A{n}" for n in range(1, 11)),
    ),
    "AWS: a borrow limit of 200 percent is twice its own on top": Case(
        # API_QuotaShareResourceSharingConfiguration.
        (borrowing("A", 2, borrow_limit=200), lending("B", 9)),
        typed(11, jobs("A", 7)),
        place=tuple(f"A{n}" for n in range(1, 7)),
    ),
    "the borrow limit counts by type": Case(
        (borrowing("A", {P4: 2, P5: 4}, borrow_limit=50), lending("B", {P4: 9, P5: 9})),
        typed(
            {P4: 11, P5: 13},
            [job("p4", 3, share="A", at=1), job("p5", 6, share="A", at=2, instance_type=P5), *jobs("A", 1, at=3)],
        ),
        place=("p4", "p5"),
    ),
    "a part of an instance isn't borrowed": Case(
        (borrowing("A", 3, borrow_limit=50), B), typed(7, jobs("A", 6)), place=("A1", "A2", "A3", "A4")
    ),
    "a borrow limit of 0 borrows nothing": Case(
        (borrowing("A", 1, borrow_limit=0), B), typed(5, jobs("A", 2)), place=("A1",)
    ),
    "a share's own idle instances aren't among those it borrows": Case(
        (A, lending("B", 4)),
        typed(10, [job("a", 4, share="A")], [placed("ra", 2, share="A"), placed("rb", 3, share="B")]),
    ),
    "what is lent already isn't lent again": Case(
        (A, B, borrowing("C", 1)),
        typed(13, [job("a", 2, share="A")], [placed("ra", 4, share="A"), placed("rc", 4, share="C")]),
    ),
    "owners go before borrowers that came earlier": Case(
        (A, B),
        typed(8, [job("lent", 4, share="A", at=1), job("own", 4, share="B", at=2)], [placed("r", 4, share="A")]),
        place=("own",),
    ),
    "of borrowers the earlier goes first": Case(
        (A, B, lending("C", 2)),
        typed(
            10,
            [job("later", 2, share="A", at=2, priority=9), job("earlier", 2, share="B", at=1)],
            [placed("ra", 4, share="A"), placed("rb", 4, share="B")],
        ),
        place=("earlier",),
    ),
    "what an earlier borrower waits for isn't lent to a later one": Case(
        (A, B, lending("C", 2)),
        typed(
            10,
            [job("later", 1, share="A", at=2), job("earlier", 2, share="B", at=1)],
            [placed("ra", 4, share="A"), placed("rb", 4, share="B"), placed("rc", 1, share="C")],
        ),
    ),
    "not even its own share's idle ones, which it waits to use": Case(
        (A, B),
        typed(
            8,
            [job("later", 1, share="A", at=2), job("earlier", 3, share="B", at=1)],
            [placed("ra", 4, share="A"), placed("rb", 2, share="B")],
        ),
    ),
    "a borrower at its own borrow limit keeps nobody else from borrowing": Case(
        (A, borrowing("B", 4, borrow_limit=25), lending("C", 4)),
        typed(
            12,
            [job("later", 1, share="A", at=2), job("at its limit", 2, share="B", at=1)],
            [placed("ra", 4, share="A"), placed("rb", 4, share="B")],
        ),
        place=("later",),
    ),
    "a borrower of one type keeps nobody from borrowing another": Case(
        (borrowing("A", {P4: 1, P5: 1}), borrowing("B", {P4: 1, P5: 1}), lending("C", {P4: 2, P5: 2})),
        typed(
            {P4: 4, P5: 4},
            [job("p5", 2, share="A", at=2, instance_type=P5), job("p4", 3, share="B", at=1)],
            [placed("rc", 2, share="C")],
        ),
        place=("p5",),
    ),
    "what no share has as its own isn't lent": Case((A, B), typed(20, jobs("A", 10)), place=tuple(names(jobs("A", 8)))),
    "what is kept for shares that lend nothing stays free, also where limits are more than there is": Case(
        (A, lending("B", 4), reserving("C", 4)), typed(8, jobs("A", 5)), place=("A1", "A2", "A3", "A4")
    ),
}

CROSS, IN = "cross-share", "in-share"

RECLAIMING = {
    "an owner's job takes back what is lent": Case(
        (A, B),
        typed(8, [job("own", 2, share="B")], [placed("ra", 4, share="A", at=1), placed("lent", 4, share="A", at=2)]),
        preempt=(("lent", "own", CROSS),),
    ),
    "it takes no more than it needs": Case(
        (A, B),
        typed(
            8,
            [job("own", 2, share="B")],
            [placed("ra", 4, share="A", at=1), *(placed(f"lent{n}", share="A", at=n) for n in (2, 3, 4, 5))],
        ),
        preempt=(("lent5", "own", CROSS), ("lent4", "own", CROSS)),
    ),
    "one large victim is better than one too many": Case(
        (A, B),
        typed(
            8,
            [job("own", 3, share="B")],
            [placed("ra", 4, share="A", at=1), placed("large", 3, share="A", at=2), placed("small", share="A", at=3)],
        ),
        preempt=(("large", "own", CROSS),),
    ),
    "of several ways the one that spares the job that costs more": Case(
        (A, B),
        typed(
            8,
            [job("own", 3, share="B")],
            [
                placed("ra", 4, share="A", at=1),
                placed("longest", 2, share="A", at=2),
                placed("longer", share="A", at=3),
                placed("shortest", share="A", at=4),
            ],
        ),
        preempt=(("shortest", "own", CROSS), ("longest", "own", CROSS)),
    ),
    "what is free is used first": Case(
        (A, B),
        typed(
            8,
            [job("own", 4, share="B")],
            [placed("ra", 4, share="A", at=1), placed("l1", share="A", at=2), placed("l2", share="A", at=3)],
        ),
        preempt=(("l2", "own", CROSS), ("l1", "own", CROSS)),
    ),
    "of jobs that borrow, the lowest priority goes first": Case(
        (A, B, borrowing("C", 1)),
        typed(
            9,
            [job("own", share="B")],
            [
                placed("ra", 4, share="A", at=1, priority=9),
                placed("low", 2, share="A", at=2, priority=1),
                placed("rc", share="C", at=1, priority=9),
                placed("high", 2, share="C", at=3, priority=2),
            ],
        ),
        preempt=(("low", "own", CROSS),),
    ),
    "then the shortest run": Case(
        (A, B, borrowing("C", 1)),
        typed(
            9,
            [job("own", share="B")],
            [
                placed("ra", 4, share="A", at=1),
                placed("long", 2, share="A", at=2),
                placed("rc", share="C", at=1),
                placed("short", 2, share="C", at=3),
            ],
        ),
        preempt=(("short", "own", CROSS),),
    ),
    "one that holds some of its share's own goes where those that only borrow aren't enough": Case(
        (A, B, borrowing("C", 1)),
        typed(
            9,
            [job("own", 4, share="B")],
            [
                placed("part", 6, share="A", at=9),
                placed("rc", share="C", at=1, priority=9),
                placed("all", 2, share="C", at=2, priority=9),
            ],
        ),
        preempt=(("part", "own", CROSS),),
    ),
    "of two that would do, the one that only borrows": Case(
        (A, B, borrowing("C", 1)),
        typed(
            9,
            [job("own", 2, share="B")],
            [
                placed("part", 6, share="A", at=9),
                placed("rc", share="C", at=1, priority=9),
                placed("all", 2, share="C", at=2, priority=9),
            ],
        ),
        preempt=(("all", "own", CROSS),),
    ),
    "AWS: lowering a running job's priority makes it the victim": Case(
        # preemption.html, on UpdateServiceJob.
        (A, B),
        typed(
            8,
            [job("own", 4, share="B")],
            [placed("lowered", 4, share="A", at=1, priority=1), placed("other", 4, share="A", at=2, priority=2)],
        ),
        preempt=(("lowered", "own", CROSS),),
    ),
    "AWS: jobs above a limit that was lowered are given up, even under RESERVE": Case(
        # quota-shares.html, on capacity restoration.
        (reserving("A", 2), reserving("B", 6)),
        typed(
            8,
            [job("own", 6, share="B")],
            [placed("a1", 2, share="A", at=1), placed("a2", 2, share="A", at=2)],
        ),
        preempt=(("a2", "own", CROSS),),
    ),
    "but only when somebody needs them": Case(
        (reserving("A", 2), reserving("B", 6)),
        typed(8, [], [placed("a1", 2, share="A", at=1), placed("a2", 2, share="A", at=2)]),
    ),
    "jobs of a share that is gone are given up": Case(
        (B,), typed(4, [job("own", 4, share="B")], [placed("gone", 2, share="A")]), preempt=(("gone", "own", CROSS),)
    ),
    "a job that would have to borrow takes nothing back": Case(
        (A, B),
        typed(8, [job("more", 5, share="B")], [placed("ra", 4, share="A", at=1), placed("lent", 4, share="A", at=2)]),
    ),
    "nor does one of a share without borrowed jobs to take from": Case(
        (reserving("A", 4), reserving("B", 4)),
        typed(6, [job("own", 4, share="B")], [placed("ra", 4, share="A")]),
    ),
    "nobody is preempted where it wouldn't be enough": Case(
        (borrowing("A", 3), reserving("B", 4), lending("C", 1)),
        typed(6, [job("own", 4, share="B")], [placed("ra", 3, share="A", at=1), placed("lent", 1, share="A", at=2)]),
    ),
    "all of an owner's jobs call at once, also those that are behind one that waits": Case(
        (A, B),
        typed(
            8,
            jobs("B", 3),
            [placed("ra", 4, share="A", at=1), *(placed(f"lent{n}", share="A", at=n) for n in (2, 3, 4, 5))],
        ),
        preempt=(("lent5", "B1", CROSS), ("lent4", "B2", CROSS), ("lent3", "B3", CROSS)),
    ),
    "but behind one that waits nothing is placed": Case(
        (A, borrowing("B", {P4: 4, P5: 1})),
        typed(
            {P4: 8, P5: 1},
            [job("p4", share="B", at=1), job("p5", share="B", at=2, instance_type=P5)],
            [placed("ra", 4, share="A", at=1), placed("lent", 4, share="A", at=2)],
        ),
        preempt=(("lent", "p4", CROSS),),
    ),
    "nor does one behind it wait for what others lend": Case(
        (A, borrowing("B", {P4: 4, P5: 1}), lending("C", {P5: 2}), borrowing("D", {P5: 1})),
        typed(
            {P4: 8, P5: 4},
            [
                job("p4", share="B", at=1),
                job("p5", 3, share="B", at=2, instance_type=P5),
                job("d", 2, share="D", at=3, instance_type=P5),
            ],
            [placed("ra", 4, share="A", at=1), placed("lent", 4, share="A", at=2)],
        ),
        place=("d",),
        preempt=(("lent", "p4", CROSS),),
    ),
    "while the victims stop, nobody else is preempted and nothing is placed": Case(
        (A, B),
        typed(
            8,
            [job("own", 4, share="B", at=9), *jobs("A", 2)],
            [placed("ra", 4, share="A", at=1), placed("lent", 4, share="A", at=2, stopping=True)],
        ),
    ),
    "once they have stopped, the owner's job is placed and not the victim": Case(
        (A, B),
        typed(8, [job("own", 4, share="B", at=9), job("lent", 4, share="A", at=2)], [placed("ra", 4, share="A", at=1)]),
        place=("own",),
    ),
}

TEAM = borrowing("A", 4, in_share_preemption=True)

IN_SHARE = {
    "a job of higher priority preempts a lower one of its share": Case(
        (TEAM,),
        typed(4, [job("high", 2, share="A", priority=2)], [placed("low", 4, share="A", priority=1)]),
        preempt=(("low", "high", IN),),
    ),
    "unless that is disabled": Case(
        (A,), typed(4, [job("high", 2, share="A", priority=2)], [placed("low", 4, share="A", priority=1)])
    ),
    "not one of the same priority": Case(
        (TEAM,), typed(4, [job("high", 2, share="A", priority=2)], [placed("same", 4, share="A", priority=2)])
    ),
    "0 isn't higher than none": Case(
        (TEAM,), typed(4, [job("zero", 2, share="A", priority=0)], [placed("none", 4, share="A")])
    ),
    "not one of another share, whatever its priority": Case(
        (borrowing("A", 2, in_share_preemption=True), borrowing("B", 2, in_share_preemption=True)),
        typed(
            4,
            [job("high", 2, share="A", priority=9)],
            [placed("own", 2, share="A", priority=9), placed("low", 2, share="B", priority=0)],
        ),
    ),
    "not one of another type": Case(
        (borrowing("A", {P4: 1, P5: 1}, in_share_preemption=True),),
        typed(
            {P4: 1, P5: 1},
            [job("high", share="A", priority=9)],
            [placed("same", share="A", priority=9), placed("p5", share="A", instance_type=P5)],
        ),
    ),
    "the lowest priority goes first, then the shortest run": Case(
        (TEAM,),
        typed(
            4,
            [job("high", 2, share="A", priority=9)],
            [
                placed("low long", share="A", at=1, priority=1),
                placed("low short", share="A", at=2, priority=1),
                placed("higher", share="A", at=3, priority=2),
                placed("lowest", share="A", at=0, priority=0),
            ],
        ),
        preempt=(("lowest", "high", IN), ("low short", "high", IN)),
    ),
    "only as many as it needs": Case(
        (TEAM,),
        typed(
            4,
            [job("high", 3, share="A", priority=9)],
            [placed("small", share="A", at=2, priority=1), placed("large", 3, share="A", at=1, priority=1)],
        ),
        preempt=(("large", "high", IN),),
    ),
    "not where those of lower priority don't hold enough": Case(
        (TEAM,),
        typed(
            4,
            [job("high", 3, share="A", priority=2)],
            [placed("same", 2, share="A", priority=2), placed("low", 2, share="A", priority=1)],
        ),
    ),
    "where it can borrow, it does that": Case(
        (TEAM, lending("B", 4)),
        typed(8, [job("high", 2, share="A", priority=2)], [placed("low", 4, share="A", priority=1)]),
        place=("high",),
    ),
    "in a share that borrows it takes the place of a lower one, which borrowed no more than it": Case(
        (TEAM, lending("B", 2)),
        typed(
            6,
            [job("high", 2, share="A", priority=2)],
            [placed("low1", 4, share="A", at=1), placed("low2", 2, share="A", at=2)],
        ),
        preempt=(("low2", "high", IN),),
    ),
    "and gets it before others who wait to borrow": Case(
        (TEAM, lending("B", 2), borrowing("C", 1)),
        typed(
            7,
            [job("high", 2, share="A", at=9, priority=2), job("c", 2, share="C", at=1)],
            [placed("low1", 4, share="A", at=1), placed("rc", share="C")],
        ),
        place=("high",),
    ),
    "above its share's limits priority preempts nobody": Case(
        (TEAM, lending("B", 2)),
        typed(
            6,
            [job("high", 2, share="A", priority=2)],
            [placed("own", 4, share="A", at=1, priority=2), placed("low", 2, share="A", at=2)],
        ),
    ),
    "what is lent is taken back as well where both are needed": Case(
        (TEAM, borrowing("B", 2)),
        typed(
            6,
            [job("high", 4, share="A", priority=2)],
            [
                placed("low", 2, share="A", priority=1),
                placed("rb", 2, share="B", at=1),
                placed("lent", 2, share="B", at=2),
            ],
        ),
        preempt=(("low", "high", IN), ("lent", "high", CROSS)),
    ),
    "not where another share's earlier job would get what the victim leaves": Case(
        (borrowing("A", 4, in_share_preemption=True), reserving("B", 4)),
        typed(
            4,
            [job("earlier", 2, share="B", at=1), job("high", 2, share="A", at=2, priority=2)],
            [placed("low", 4, share="A")],
        ),
    ),
    "but where that needs another type": Case(
        (borrowing("A", 4, in_share_preemption=True), reserving("B", {P5: 4})),
        typed(
            {P4: 4, P5: 4},
            [job("earlier", 4, share="B", at=1, instance_type=P5), job("high", 2, share="A", at=2, priority=2)],
            [placed("low", 4, share="A"), placed("p5", share="B", instance_type=P5)],
        ),
        preempt=(("low", "high", IN),),
    ),
    "what can be taken back isn't taken from its own share": Case(
        (borrowing("A", 6, in_share_preemption=True), borrowing("B", 2)),
        typed(
            8,
            [job("high", 4, share="A", priority=2)],
            [
                placed("low1", 2, share="A", at=1),
                placed("low2", 2, share="A", at=2),
                placed("rb", 2, share="B", at=1),
                placed("lent", 2, share="B", at=2),
            ],
        ),
        preempt=(("low2", "high", IN), ("lent", "high", CROSS)),
    ),
    "jobs behind it that are higher than some preempt at once": Case(
        (TEAM,),
        typed(
            4,
            [job("first", 2, share="A", at=1, priority=3), job("second", 2, share="A", at=2, priority=2)],
            [placed("low1", 2, share="A", at=1), placed("low2", 2, share="A", at=2)],
        ),
        preempt=(("low2", "first", IN), ("low1", "second", IN)),
    ),
    "the lowest priority goes, though it has more instances": Case(
        (TEAM,),
        typed(
            4,
            [job("high", share="A", priority=2)],
            [placed("low", 3, share="A", at=1), placed("middle", share="A", at=2, priority=1)],
        ),
        preempt=(("low", "high", IN),),
    ),
    "nobody is preempted for a job that the first victim would pass when it comes back": Case(
        (TEAM,),
        typed(
            4,
            [job("first", 3, share="A", at=8, priority=3), job("second", share="A", at=9, priority=2)],
            [placed("low", share="A", at=1), placed("middle", 3, share="A", at=2, priority=2)],
        ),
        preempt=(("middle", "first", IN),),
    ),
    "a victim that fits beside the one it made room for keeps its place before others": Case(
        (TEAM,),
        typed(
            4,
            [job("first", share="A", at=8, priority=3), job("second", share="A", at=9, priority=2)],
            [placed("middle", 3, share="A", at=2, priority=2), placed("same", share="A", at=1, priority=3)],
        ),
        preempt=(("middle", "first", IN),),
    ),
    "a job that was just placed isn't preempted": Case(
        (TEAM,),
        typed(
            4,
            [job("first", 2, share="A", at=1, priority=3), job("second", 4, share="A", at=2, priority=2)],
            [placed("low", 2, share="A", at=1)],
        ),
        place=("first",),
    ),
    "AWS: raising a waiting job's priority lets it preempt": Case(
        # preemption.html, on UpdateServiceJob.
        (TEAM,),
        typed(
            4,
            [job("raised", 4, share="A", at=2, priority=5), job("other", 4, share="A", at=1, priority=4)],
            [placed("running", 4, share="A", priority=4)],
        ),
        preempt=(("running", "raised", IN),),
    ),
}

# Amazon Search: a hundred P4, 60 for one experiment's jobs and 40 for another's.
FIRST, SECOND = borrowing("ProdExp1", 60, in_share_preemption=True), borrowing("ProdExp2", 40, in_share_preemption=True)
SEARCH = {
    "Amazon Search: while the second uses 25, the first may use 75": Case(
        (FIRST, SECOND),
        typed(100, jobs("ProdExp1", 16, 5), [placed("second", 25, share="ProdExp2")]),
        place=tuple(f"ProdExp1{n}" for n in range(1, 16)),
    ),
    "Amazon Search: when the second wants its 40 back, jobs of the first are preempted": Case(
        (FIRST, SECOND),
        typed(
            100,
            [job("wants 15", 15, share="ProdExp2")],
            [
                placed("second", 25, share="ProdExp2"),
                *(placed(f"first{n}", 15, share="ProdExp1", at=n) for n in range(1, 6)),
            ],
        ),
        preempt=(("first5", "wants 15", CROSS),),
    ),
    "Amazon Search: 60 in use, priority 90 that needs 15 preempts priority 10": Case(
        (FIRST, SECOND),
        typed(
            100,
            [job("production", 15, share="ProdExp1", priority=90)],
            [
                placed("research", 45, share="ProdExp1", at=1, priority=50),
                placed("sweep", 15, share="ProdExp1", at=0, priority=10),
                placed("second", 40, share="ProdExp2"),
            ],
        ),
        preempt=(("sweep", "production", IN),),
    ),
    "Amazon Search: below the limit priority preempts nobody": Case(
        (FIRST, SECOND),
        typed(
            100,
            [job("production", 15, share="ProdExp1", priority=90)],
            [placed("sweep", 45, share="ProdExp1", priority=10), placed("second", 40, share="ProdExp2")],
        ),
        place=("production",),
    ),
}

MISCONFIGURED = {
    "more than the environment has": Case(
        (borrowing("A", 20),), typed(10, [job("a", 11, share="A")]), blocked=(("a", "ENVIRONMENT_TOO_SMALL"),)
    ),
    "a type that the environment has no limit for": Case(
        (borrowing("A", {G6: 4}),),
        typed(10, [job("a", share="A", instance_type=G6)]),
        blocked=(("a", "ENVIRONMENT_TOO_SMALL"),),
    ),
    "a type that the share has no limit for, though it could be borrowed": Case(
        (A, lending("B", {P5: 4})),
        typed({P4: 4, P5: 4}, [job("a", share="A", instance_type=P5)]),
        blocked=(("a", "ABOVE_QUOTA"),),
    ),
    "more than the limit of a share that doesn't borrow": Case(
        (reserving("A", 4), B), typed(8, [job("a", 5, share="A")]), blocked=(("a", "ABOVE_QUOTA"),)
    ),
    "more than the limit and the borrow limit": Case(
        (borrowing("A", 4, borrow_limit=50), B), typed(8, [job("a", 7, share="A")]), blocked=(("a", "ABOVE_QUOTA"),)
    ),
    "more than all others together lend": Case(
        (A, B, reserving("C", 4)), typed(12, [job("a", 9, share="A")]), blocked=(("a", "ABOVE_QUOTA"),)
    ),
    "a share that isn't there": Case((A,), typed(4, [job("x", share="X")]), blocked=(("x", "ABOVE_QUOTA"),)),
    "no share at all": Case((A,), typed(4, [job("x")]), blocked=(("x", "ABOVE_QUOTA"),)),
    "it blocks its share once it is the head, and no other": Case(
        (A, B),
        typed(
            8,
            [
                job("first", share="A", at=1),
                job("huge", 9, share="A", at=2),
                job("after", share="A", at=3),
                job("b", share="B", at=4),
            ],
        ),
        place=("first", "b"),
        blocked=(("huge", "ENVIRONMENT_TOO_SMALL"),),
    ),
    "not while another waits before it": Case(
        (A,),
        typed(4, [job("first", 4, share="A", at=1), job("huge", 9, share="A", at=2)], [placed("r", share="A")]),
    ),
    "not while the one before it waits for its victims": Case(
        (A, B),
        typed(
            8,
            [job("own", share="B", at=1), job("huge", 9, share="B", at=2)],
            [placed("ra", 4, share="A", at=1), placed("lent", 4, share="A", at=2)],
        ),
        preempt=(("lent", "own", CROSS),),
    ),
}

CASES = {**WITHIN_LIMITS, **BORROWING, **RECLAIMING, **IN_SHARE, **SEARCH, **MISCONFIGURED}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_decided(case):
    case.check()


def test_the_order_has_every_job_those_that_need_not_borrow_first():
    waiting = [*jobs("A", 3), *jobs("B", 2, at=10), job("huge", 99, share="B", at=0, priority=-1)]
    policy = QuotaManagement((borrowing("A", 2), borrowing("B", 2)))

    assert names(policy.order(typed(4, waiting))) == ["A1", "A2", "B1", "B2", "huge", "A3"]


def test_the_order_counts_what_runs_but_not_what_is_being_stopped():
    policy = QuotaManagement((borrowing("A", 2), borrowing("B", 2)))
    running = [placed("ra", share="A"), placed("rb", 2, share="B", stopping=True)]

    assert names(policy.order(typed(4, [*jobs("A", 2), *jobs("B", 1, at=9)], running))) == ["A1", "B1", "A2"]
