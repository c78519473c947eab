"""The lookout against a small model of AWS: whatever AWS does, every end is heard of, in time and at the rate."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.placement.roll import SLACK, Roll, Watched

from .model_listing import START, Aws, Job, Regime, Run, name_of

EVERY, RATE = 5.0, 1.4
LENGTH = 900.0

#: What is in an account besides, so that a look for all that was modified in 90 s is no more than three pages.
MOST = 300

#: A look and a Describe take turns.
TURN = 2 / RATE

SKEWS = st.sampled_from([-600.0, 0.0, 600.0])
REGIMES = st.builds(
    Regime,
    modified_late=st.booleans(),
    name_late=st.booleans(),
    lag=st.sampled_from([0.0, 0.0, 30.0]),
    skew=SKEWS,
    date_skew=st.one_of(SKEWS, st.none()),
    failing=st.sampled_from([0.0, 0.0, 0.15]),
    filters=st.sampled_from([True, True, True, False]),
)


def bound(regime: Regime) -> float:
    """Return how many seconds may pass from a job's end, or from when it is waited for, to when that is known.

    To go through everything takes a call for each page and one more, and of three calls two may be for changes.
    Before that comes the pause: five seconds, or ten where AWS has no index for changes. A way that began before the
    end has to be over first, so that it is two of them. An answer that is behind, or dates of another clock, may hide
    an end until the look that asks further back, which comes once a minute; or until the next way through everything,
    which is behind by as much at most. Calls that fail wait for 30 s at most each; of three in a row, one in 300 does.
    """
    way = (MOST / 100 + 2) * TURN * 3
    is_misled = regime.lag > 0 or regime.date_skew != regime.skew
    return 10.0 + 2 * way + (60.0 + 2 * regime.lag if is_misled else 0.0) + (120.0 if regime.failing else 0.0)


def created_at(draw: random.Random) -> float:
    return round(
        START
        + draw.choice(
            [
                -draw.choice([10, 100, 1000]),
                -draw.uniform(0, 60),
                -draw.uniform(0, 3_600),
                -draw.uniform(0, 10 * 86_400),
                draw.uniform(0, LENGTH / 2),
            ]
        ),
        3,
    )


def a_job(draw: random.Random, name: str) -> Job:
    created = created_at(draw)
    changes, at = [(created, "InProgress", "Starting")], created
    for secondary in ("Downloading", "Training"):
        at = round(at + draw.uniform(1, 400), 3)
        changes.append((at, "InProgress", secondary))
    if draw.random() < 0.6:
        end = round(max(created + 1, START + draw.uniform(-50, 0.8 * LENGTH)), 3)
        changes = [change for change in changes if change[0] < end] + [(end, "Completed", "Completed")]
    deleted = max(created, START) + draw.uniform(0, LENGTH / 2) if draw.random() < 0.05 else math.inf
    return Job(name, created, changes, deleted)


def plan_hints(run: Run, job: Job, hints: str, draw: random.Random) -> None:
    """Have events come: late, doubled, lost, out of order; and forged ones."""
    if hints != "none" and job.ended < math.inf:
        for _ in range(draw.choice([0, 1, 2])):
            run.plan(max(START, job.ended) + draw.choice([0.2, 3.0, 40.0]), "hint", job.name)
    if hints == "forged":
        for _ in range(5):
            run.plan(START + draw.uniform(0, LENGTH), "hint", job.name)


def a_run(seed: int, regime: Regime, number: int, hints: str) -> tuple[Run, dict[str, float]]:
    """Return a run that is over, and since when each job was waited for."""
    draw = random.Random(seed)
    others = draw.randint(0, MOST - number)
    jobs = [a_job(draw, name_of(n, ours=n < number or draw.random() < 0.5)) for n in range(number + others)]
    run, since = Run(Aws(jobs, regime, draw), every=EVERY, rate=RATE), dict[str, float]()
    for job in jobs[:number]:
        since[job.name] = max(START, job.created + 0.5) + draw.choice([0.0, 0.0, draw.uniform(0, LENGTH / 4)])
        run.plan(since[job.name], "watch", job.name)
        plan_hints(run, job, hints, draw)
    run.until(START + LENGTH)
    return run, since


def assert_ends_are_known(run: Run, since: dict[str, float], within: float) -> None:
    for name, began in since.items():
        job = run.aws.jobs[name]
        due = max(began, job.ended) + within
        if due < START + LENGTH and job.deleted > due:
            assert run.seen.over.get(name, math.inf) <= due, (name, due - START)


def assert_who_is_gone_is_described(run: Run, since: dict[str, float], within: float) -> None:
    """A way through everything misses whoever isn't there; it comes every two minutes, where it is a few calls."""
    for name, began in since.items():
        job = run.aws.jobs[name]
        due = max(began, job.deleted) + within
        if due < min(job.ended, START + LENGTH):
            assert run.seen.gone.get(name, math.inf) <= due, (name, due - START)


def assert_rate_is_kept(run: Run) -> None:
    """A call in each turn, and a List in each of its own turns while jobs are found to be over."""
    lists = [at for at, _ in run.seen.lists]
    assert all(later - earlier > 1 / 1.9 - 1e-3 for earlier, later in pairwise(lists))
    calls = sorted(lists + [at for at, _ in run.seen.describes])
    for n, at in enumerate(calls):
        assert bisect_right(calls, at + 60) - n <= 60 * (1.9 + RATE) + 2


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    regime=REGIMES,
    number=st.sampled_from([1, 6, 90, 150, 250]),
    hints=st.sampled_from(["none", "honest", "forged"]),
)
def test_every_end_is_known_in_time(seed: int, regime: Regime, number: int, hints: str) -> None:
    run, since = a_run(seed, regime, number, hints)
    assert_ends_are_known(run, since, bound(regime))
    assert_who_is_gone_is_described(run, since, 120 + bound(regime))
    assert_rate_is_kept(run)
    if hints != "forged":
        # A few who are far down a long listing are described each time it has been asked for, and so is one behind.
        most = 3 + LENGTH / EVERY if number <= 6 or regime.lag or regime.failing else 5
        for name in since:
            if run.aws.jobs[name].deleted == run.aws.jobs[name].ended == math.inf:
                assert run.seen.doubts[name] <= most, name


# -- large numbers -------------------------------------------------------------------------------------------


def many(number: int, regime: Regime, *, created: float, ends: float, modified: float | None = None) -> Run:
    """Have so many jobs of one second waited for from one second on, some of which end in one more."""
    jobs = []
    for n in range(number):
        changes = [(START + created, "InProgress", "Starting")]
        if modified is not None:
            changes.append((START + modified, "InProgress", "Training"))
        jobs.append(Job(name_of(n), START + created, [*changes, (START + ends, "Completed", "Completed")]))
    run = Run(Aws(jobs, regime, random.Random(1)), every=EVERY, rate=RATE)
    for job in jobs:
        run.plan(START, "watch", job.name)
    return run


@pytest.mark.parametrize("late", [True, False])
def test_many_of_one_second_end_in_one_second(*, late: bool) -> None:
    run = many(2_000, Regime(modified_late=late), created=-60.25, ends=60.75)
    run.until(START + 60.75 + 1.2 * 20 / 1.4 + 12)
    assert len(run.seen.over) == 2_000
    assert not run.seen.doubts


def test_what_all_have_been_modified_in_one_second_is_read_twice_and_not_for_ever() -> None:
    run = many(1_900, Regime(), created=-600, modified=60, ends=9_000)
    run.until(START + 300)
    late = [asked for at, asked in run.seen.lists if at > START + 150 and asked.modified_after is not None]
    assert len(late) <= 150 / EVERY + 150 / 60 + 2, "a call each time, and one a minute that asks further back"
    assert not run.seen.over


def test_one_that_is_ten_days_older_costs_a_page_of_its_own_and_not_ten_days() -> None:
    jobs = [Job(name_of(n), START - n, [(START - n, "InProgress", "Training")]) for n in range(150)]
    old = Job(name_of(999), START - 864_000, [(START - 864_000, "InProgress", "Training")])
    between = [Job(name_of(n, ours=False), START - n * 90, [(START, "InProgress", "")]) for n in range(2, 9_000)]
    run = Run(Aws([*jobs, old, *between], Regime(name_late=True), random.Random(1)), every=EVERY, rate=RATE)
    for job in [*jobs, old]:
        run.plan(START, "watch", job.name)
    run.until(START + 20)
    assert len(run.lookout) == 151
    assert run.lookout.lag(run.clock.time()) < 20
    assert len(run.seen.lists) < 15


def test_one_that_is_waited_for_while_a_way_is_under_way_is_looked_for_before_its_end() -> None:
    run = many(2_000, Regime(modified_late=True), created=-60, ends=9_000)
    late = Job(name_of(9_999), START + 4, [(START + 4, "InProgress", ""), (START + 5, "Completed", "Completed")])
    run.aws.jobs[late.name] = late
    run.aws.order.insert(0, late)
    run.plan(START + 6, "watch", late.name)
    run.until(START + 6 + 2 + 2 * TURN)
    assert late.name in run.seen.over


# -- the roll ------------------------------------------------------------------------------------------------

SECONDS = st.integers(-2 * int(SLACK), 2 * int(SLACK)).map(float)


@settings(max_examples=100, deadline=None)
@given(
    does=st.lists(st.tuples(st.sampled_from(["add", "place", "anywhere", "remove"]), st.integers(0, 7), SECONDS)),
    until=SECONDS,
    after=SECONDS,
)
def test_a_roll_answers_as_a_plain_list_would(does: list[tuple[str, int, float]], until: float, after: float) -> None:
    roll = Roll()
    for what, number, second in does:
        _do(roll, what, str(number), START + second)
    everybody, until, after = list(roll), START + until, START + after
    assert len(roll) == len(everybody)
    assert roll._order == sorted((watched.latest, watched.handle) for watched in everybody)
    assert roll.oldest() == min((watched.earliest for watched in everybody), default=0.0)
    fits = [watched for watched in everybody if watched.earliest <= until]
    found = roll.newest(lambda _: True, until)
    assert (found is None) is (not fits)
    if found:
        assert found.latest == max(watched.latest for watched in fits)
    between = roll.between(after, until, lambda _: True)
    assert {watched.handle for watched in between} == {
        watched.handle for watched in everybody if after < watched.earliest and watched.latest <= until
    }


def _do(roll: Roll, what: str, handle: str, at: float) -> None:
    watched: Watched | None = roll.get(handle)
    if what == "remove":
        roll.remove(handle)
    elif watched is None:
        roll.add(handle, at, START)
    elif what == "place":
        roll.place(watched, at)
    elif what == "anywhere":
        roll.place_anywhere(watched)
