from __future__ import annotations

from itertools import pairwise

import pytest

from airflow_sm_prefer.placement.handed import NOTHING, Handed, Mark
from airflow_sm_prefer.placement.log_cursors import HOLD, Event, JobLog
from airflow_sm_prefer.placement.log_turns import HELD, READ_EVERY, Find, Followed, LogTurns, Read

GROUP = "/aws/sagemaker/TrainingJobs"
NOW = 1_800_000_000.0
MS = 1_800_000_000_000


def follow(turns: LogTurns, name: str, now: float = NOW, group: str = GROUP) -> Followed:
    return turns.follow(JobLog(group, name), now)


def find(turns: LogTurns, now: float) -> Find:
    turn = turns.turn(now)
    assert isinstance(turn, Find)
    return turn


def read(turns: LogTurns, now: float) -> Read:
    """Return the next read; jobs that are asked about before have no more streams than they had."""
    while isinstance(turn := turns.turn(now), Find):
        same = [(stream.name, stream.created) for stream in turn.job.log.streams.values()]
        assert same, turn.job.log.job_name
        turns.found(turn, same, None, now)
    assert turn
    return turn


def running(turns: LogTurns, *names: str, hosts: int = 1, group: str = GROUP) -> list[Followed]:
    """Follow jobs whose streams have been found."""
    jobs = [follow(turns, name, group=group) for name in names]
    for _ in names:
        turn = find(turns, NOW)
        name = turn.job.log.job_name
        turns.found(turn, [(f"{name}/algo-{n + 1}-1", MS) for n in range(hosts)], None, NOW)
    return jobs


def event(at: float, job: str, text: str = "line", host: int = 1) -> Event:
    return Event(round(at * 1000), f"{job}/algo-{host}-1", f"{at}{text}", text)


def test_nobody_asks_for_anything_while_nobody_follows() -> None:
    turns = LogTurns()
    assert turns.turn(NOW) is None
    assert turns.wait(NOW) > 60
    assert len(turns) == 0


def test_a_job_without_streams_is_asked_about_ever_more_seldom_once_a_minute_at_last() -> None:
    turns, now, waits = LogTurns(), NOW, []
    follow(turns, "job")
    for _ in range(7):
        assert turns.wait(now) == 0
        turns.found(find(turns, now), [], None, now)
        assert turns.turn(now) is None
        waits.append(turns.wait(now))
        now += waits[-1]
    assert waits == [10, 20, 40, 60, 60, 60, 60]


def test_a_job_with_streams_is_read_and_seldom_asked_about_for_more() -> None:
    turns = LogTurns()
    running(turns, "job")
    finds, now = [], NOW
    while now < NOW + 3_600:
        now += turns.wait(now)
        if isinstance(turn := turns.turn(now), Find):
            finds.append(now - NOW)
            turns.found(turn, [("job/algo-1-1", MS)], None, now)
        elif turn:
            turns.lines(turn, [], None, now)
    assert len(finds) < 12
    assert finds[0] <= 20


def test_all_pages_of_a_listing_are_one_answer() -> None:
    turns = LogTurns()
    follow(turns, "job")
    made = MS - HOLD
    turns.found(find(turns, NOW), [("job/algo-1-1", made)], "more", NOW)
    second = find(turns, NOW)
    assert second.token == "more"
    turns.found(second, [("job/algo-2-1", made)], None, NOW)
    assert read(turns, NOW + 5).streams == ["job/algo-1-1", "job/algo-2-1"]


def test_jobs_are_read_in_one_call_as_far_as_a_hundred_streams_go() -> None:
    turns = LogTurns()
    running(turns, *map(str, range(40)), hosts=3)
    first = read(turns, NOW + 5)
    assert len(first.streams) == 99
    turns.lines(first, [], None, NOW + 5)
    assert len(read(turns, NOW + 5).streams) == 21


def test_jobs_of_another_group_are_read_by_themselves() -> None:
    turns = LogTurns()
    running(turns, "job")
    running(turns, "other", group="/aws/sagemaker/ProcessingJobs")
    assert [read(turns, NOW + 5).group for _ in range(1)] == [GROUP]


def test_a_read_ends_where_lines_may_still_be_on_their_way() -> None:
    turns = LogTurns()
    running(turns, "job")
    turn = read(turns, NOW + 5)
    assert turn.end == MS + 5_000 - HOLD
    turns.lines(turn, [], None, NOW + 5)
    assert turns.wait(NOW + 5) == READ_EVERY


def test_nothing_is_read_where_all_is_too_young() -> None:
    turns = LogTurns()
    turns.follow(JobLog(GROUP, "job", Handed((Mark(MS, MS, "algo-1-1"),))), NOW)
    turns.found(find(turns, NOW), [("job/algo-1-1", MS)], None, NOW)
    assert turns.turn(NOW + HOLD / 1000) is None
    assert read(turns, NOW + HOLD / 1000 + 1).start == MS


def test_pages_go_on_with_their_token_and_a_millisecond_that_is_cut_is_told_with_the_next() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turn = read(turns, NOW + 5)
    first = [event(NOW - 9, "job", "a"), event(NOW - 8, "job", "b")]
    assert [line.text for line in turns.lines(turn, first, "more", NOW + 5)[job]] == ["a"]
    assert job.log.handed.earliest == MS - 8_000
    again = read(turns, NOW + 6)
    assert again is turn
    assert again.token == "more"
    last = [event(NOW - 8, "job", "c")]
    assert [line.text for line in turns.lines(again, last, None, NOW + 6)[job]] == ["b", "c"]
    assert job.log.handed.earliest == turn.end


def test_a_millisecond_that_fills_pages_is_kept_back_until_it_is_whole() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turn = read(turns, NOW + 5)
    for text in "abc":
        assert turns.lines(turn, [event(NOW - 8, "job", text)], "more", NOW + 5) == {}
    assert job.log.handed.earliest == MS - 8_000
    lines = turns.lines(turn, [event(NOW - 7, "job", "d")], "more", NOW + 5)
    assert [line.text for line in lines[job]] == ["a", "b", "c"]


def test_a_millisecond_of_more_lines_than_are_kept_back_is_handed_out_in_parts() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turn = read(turns, NOW + 5)
    most = [event(NOW - 8, "job", str(n)) for n in range(HELD)]
    assert turns.lines(turn, most, "more", NOW + 5) == {}
    lines = turns.lines(turn, [event(NOW - 8, "job", "one more")], "more", NOW + 5)
    assert len(lines[job]) == HELD + 1
    assert turn.held == []
    assert job.log.handed.earliest == MS - 8_000


def test_streams_that_one_call_does_not_take_are_read_next_and_each_part_has_one_mark() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job", hosts=250)
    reads = []
    for n in range(3):
        reads.append(read(turns, NOW + 5 + n))
        turns.lines(reads[-1], [], None, NOW + 5 + n)
    assert [len(each.streams) for each in reads] == [100, 100, 50]
    assert {name for each in reads for name in each.streams} == job.log.streams.keys()
    assert len(job.log.handed.marks) <= 4


def test_a_listing_of_several_pages_leaves_streams_for_the_next_that_are_so_young_that_one_may_be_missing() -> None:
    turns = LogTurns()
    job = follow(turns, "job")
    old, young = ("job/algo-1-1", MS - HOLD), ("job/algo-3-1", MS - HOLD + 1)
    turns.found(find(turns, NOW), [old], "more", NOW)
    turns.found(find(turns, NOW + 1), [young], None, NOW + 1)
    assert list(job.log.streams) == [old[0]]
    turns.lines(read(turns, NOW + 4), [], None, NOW + 4)
    missed = ("job/algo-2-1", MS - HOLD + 1)
    later = NOW + 1 + 15
    assert find(turns, later).job is job
    turns.found(Find(job), [old, missed, young], None, later)
    assert list(job.log.streams) == [old[0], missed[0], young[0]]


def test_a_listing_of_several_pages_that_has_only_such_streams_is_asked_for_again_soon() -> None:
    turns = LogTurns()
    job = follow(turns, "job")
    turns.found(find(turns, NOW), [("job/algo-1-1", MS)], "more", NOW)
    turns.found(find(turns, NOW), [("job/algo-2-1", MS)], None, NOW)
    assert not job.log.streams
    assert turns.wait(NOW) == 5


def test_a_young_stream_that_was_read_before_is_known_in_a_listing_of_several_pages() -> None:
    turns = LogTurns()
    job = turns.follow(JobLog(GROUP, "job", Handed((Mark(MS, MS, "algo-1-1"),))), NOW)
    turns.found(find(turns, NOW), [("job/algo-1-1", MS)], "more", NOW)
    turns.found(find(turns, NOW), [("job/algo-2-1", MS)], None, NOW)
    assert list(job.log.streams) == ["job/algo-1-1"]


def test_an_empty_page_with_a_token_is_no_end() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turn = read(turns, NOW + 5)
    assert turns.lines(turn, [], "more", NOW + 5) == {}
    assert job.log.handed == NOTHING
    assert read(turns, NOW + 5) is turn


def test_a_job_that_fills_pages_is_read_by_itself_and_the_others_go_on() -> None:
    turns = LogTurns()
    loud, quiet = running(turns, "loud", "quiet")
    turn = read(turns, NOW + 5)
    page = [event(NOW - 9 + n / 100, "loud", str(n)) for n in range(9)]
    turns.lines(turn, page, "more", NOW + 5)
    turns.lines(read(turns, NOW + 5), [], None, NOW + 5)
    assert loud.is_read_alone
    assert not quiet.is_read_alone
    reads = [read(turns, NOW + 20), None]
    turns.lines(reads[0], [], "more", NOW + 20)
    reads[1] = read(turns, NOW + 20)
    assert [list(each.jobs) for each in reads] in ([[loud], [quiet]], [[quiet], [loud]])


def test_a_job_that_fills_a_page_no_more_is_read_with_the_others_again() -> None:
    turns = LogTurns()
    loud, _ = running(turns, "loud", "quiet")
    loud.is_read_alone = True
    for _ in range(2):
        turns.lines(read(turns, NOW + 5), [], None, NOW + 5)
    assert len(read(turns, NOW + 20).jobs) == 2


def test_many_loud_jobs_delay_a_quiet_one_by_a_page_each() -> None:
    turns = LogTurns()
    louds = running(turns, *(f"loud-{n}" for n in range(20)))
    for job in louds:
        job.is_read_alone = True
    (quiet,) = running(turns, "quiet")
    now, served = NOW + 5, []
    for _ in range(200):
        now += 1
        turn = turns.turn(now)
        if isinstance(turn, Find):
            turns.found(turn, [], None, now)
        elif turn:
            is_quiet = quiet in turn.jobs
            served += [now] if is_quiet else []
            turns.lines(turn, [], None if is_quiet else "more", now)
    assert max(b - a for a, b in pairwise(served)) <= 2 * 21 + READ_EVERY


def test_finds_and_reads_take_turns() -> None:
    turns = LogTurns()
    running(turns, "job")
    for n in range(3):
        follow(turns, f"new-{n}")
    kinds = []
    for _ in range(4):
        turn = turns.turn(NOW + 5)
        kinds.append(type(turn))
        if isinstance(turn, Read):
            turns.lines(turn, [event(NOW - 9, "job")], "more", NOW + 5)
        elif turn:
            turns.found(turn, [], None, NOW + 5)
    assert kinds in ([Read, Find, Read, Find], [Find, Read, Find, Read])


def test_a_new_job_is_asked_about_before_one_that_may_get_more_streams() -> None:
    turns = LogTurns()
    running(turns, "job")
    follow(turns, "new", NOW + 100)
    found = [turn.job.log.job_name for turn in (turns.turn(NOW + 100), turns.turn(NOW + 100)) if isinstance(turn, Find)]
    assert found == ["new"]


def test_streams_that_are_far_apart_are_not_read_in_one_call() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turns.lines(read(turns, NOW + 5), [], None, NOW + 5)
    now = NOW + 20
    turns.found(find(turns, now), [("job/algo-1-1", MS), ("job/algo-2-1", MS + 20_000)], None, now)
    turn = read(turns, now + 3)
    assert turn.streams == ["job/algo-2-1"]
    turns.lines(turn, [], None, now + 3)
    assert read(turns, now + 3).streams == ["job/algo-1-1", "job/algo-2-1"]
    assert job.log.handed.until("job/algo-2-1", MS + 20_000) == turn.end


def test_who_leaves_is_asked_about_no_more() -> None:
    turns = LogTurns()
    job = follow(turns, "job")
    turns.leave(job)
    turns.leave(job)
    assert len(turns) == 0
    assert turns.turn(NOW) is None


def test_who_leaves_in_the_middle_of_a_read_leaves_the_others_to_it() -> None:
    turns = LogTurns()
    a, b = running(turns, "a", "b")
    turn = read(turns, NOW + 5)
    turns.leave(a)
    lines = turns.lines(turn, [event(NOW - 9, "a"), event(NOW - 9, "b")], None, NOW + 5)
    assert list(lines) == [b]
    assert read(turns, NOW + 20).streams == ["b/algo-1-1"]


def test_a_read_that_all_have_left_is_over() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turn = read(turns, NOW + 5)
    turns.leave(job)
    assert turns.lines(turn, [], "more", NOW + 5) == {}
    assert turns.turn(NOW + 30) is None


def test_a_find_whose_job_has_left_is_over() -> None:
    turns = LogTurns()
    job = follow(turns, "job")
    turn = find(turns, NOW)
    turns.leave(job)
    turns.found(turn, [("job/algo-1-1", MS)], None, NOW)
    turns.failed(turn, NOW)
    assert turns.turn(NOW + 100) is None


def test_a_find_that_failed_begins_anew_a_little_later() -> None:
    turns = LogTurns()
    follow(turns, "job")
    turns.found(find(turns, NOW), [("job/algo-1-1", MS)], "more", NOW)
    turns.failed(find(turns, NOW), NOW)
    assert turns.wait(NOW) == 10
    assert find(turns, NOW + 10).token is None


def test_a_read_that_failed_begins_anew_behind_the_last_line() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turn = read(turns, NOW + 5)
    turns.lines(turn, [event(NOW - 9, "job", "a"), event(NOW - 8, "job", "b")], "more", NOW + 5)
    turns.failed(turn, NOW + 5)
    again = read(turns, NOW + 15)
    assert again.token is None
    page = [event(NOW - 9, "job", "a"), event(NOW - 8, "job", "b")]
    assert [line.text for line in turns.lines(again, page, None, NOW + 15)[job]] == ["b"]


def test_a_stream_that_is_gone_is_looked_for_again_and_only_its_own_job_is_held_up() -> None:
    turns = LogTurns()
    a, b = running(turns, "a", "b")
    turns.failed(read(turns, NOW + 5), NOW + 5, is_gone=True)
    alone = read(turns, NOW + 15)
    (job,) = alone.jobs
    turns.failed(alone, NOW + 15, is_gone=True)
    other = b if job is a else a
    assert list(read(turns, NOW + 15).jobs) == [other]
    assert not job.log.streams
    assert find(turns, NOW + 20).job is job


def test_a_listing_of_a_job_that_is_being_read_leaves_the_read_alone() -> None:
    turns = LogTurns()
    (job,) = running(turns, "job")
    turn = read(turns, NOW + 5)
    turns.lines(turn, [], "more", NOW + 5)
    turns.found(Find(job), [("job/algo-1-1", MS), ("job/algo-2-1", MS)], None, NOW + 5)
    assert read(turns, NOW + 5) is turn
    turns.lines(turn, [], None, NOW + 5)
    assert read(turns, NOW + 20).streams == ["job/algo-2-1"]


@pytest.mark.parametrize("jobs", [300, 700])
def test_more_jobs_than_are_looked_at_for_one_read_all_have_their_turn(jobs: int) -> None:
    turns = LogTurns()
    followed = running(turns, *map(str, range(jobs)))
    for job in followed[: jobs // 2]:
        job.is_read_alone = True
    seen: set[Followed] = set()
    for _ in range(jobs):
        if isinstance(turn := turns.turn(NOW + 14), Read):
            seen |= turn.jobs.keys()
            turns.lines(turn, [], None, NOW + 14)
    assert len(seen) == jobs
