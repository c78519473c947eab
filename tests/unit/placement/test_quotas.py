from __future__ import annotations

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement.events import Begun, Created, Fail, Sleep, Stop, Submit, Woken

from .builders import NOW, Driver, new_state

ALL = "'Number of instances across all training jobs' is 4 Instances, with current utilization of 4 Instances"


def begun(*types: str, **fields: object) -> Driver:
    driver = Driver(new_state(*types, **fields))  # type: ignore[arg-type]
    driver.hears(Begun())
    return driver


def test_a_quota_that_names_no_entry_has_them_sent_one_by_one() -> None:
    driver = begun("ml.a", "ml.b", "ml.c")
    assert driver.is_refused(Verdict.QUOTA_BUSY, ALL) == (Submit(1, 0, frozenset({1, 2})),)
    assert "sent one by one" in driver.told[0]
    assert driver.is_refused(Verdict.QUOTA_BUSY, ALL) == (Submit(1, 0, frozenset({0, 2})),)
    assert driver.is_refused(Verdict.QUOTA_BUSY, ALL) == (Submit(1, 0, frozenset({0, 1})),)
    (pause,) = driver.is_refused(Verdict.QUOTA_BUSY, ALL)
    assert isinstance(pause, Sleep)
    assert pause.until - NOW >= 60.0
    # In the next round all of them go together again.
    assert driver.hears(Woken(), after=pause.until - NOW) == (Submit(1, 0, frozenset()),)


def test_one_by_one_each_waits_its_patience_though_it_is_the_only_wave() -> None:
    driver = begun("ml.a", "ml.b", patience=1800.0)
    driver.is_refused(Verdict.QUOTA_BUSY, ALL)
    driver.hears(Created("job-1", "arn"))
    assert driver.sees(secondary="Pending", after=1800)[0] == Stop("job-1")
    assert driver.sees(status="Stopped", ended=driver.now, after=10) == (Submit(2, 0, frozenset({0})),)
    driver.hears(Created("job-2", "arn"))
    driver.sees(name="job-2", secondary="Pending", after=1800)
    (pause,) = driver.sees(name="job-2", status="Stopped", ended=driver.now, after=10)
    assert isinstance(pause, Sleep)


def test_a_job_sent_alone_is_known_to_have_got_its_entry() -> None:
    driver = begun("ml.a", "ml.b")
    driver.is_refused(Verdict.QUOTA_BUSY, ALL)
    driver.hears(Created("job-1", "arn"))
    driver.sees(secondary="Training", after=10)
    assert driver.state.selected == 0


def test_a_limit_that_a_count_will_never_fit_drops_what_was_sent_alone() -> None:
    driver = begun("ml.a", "ml.b")
    driver.is_refused(Verdict.QUOTA_ZERO, ALL)
    assert driver.is_refused(Verdict.QUOTA_ZERO, ALL) == (Submit(1, 0, frozenset({0})),)
    assert driver.state.dropped == {0}
    (failed,) = driver.is_refused(Verdict.QUOTA_ZERO, ALL)
    assert isinstance(failed, Fail)


def test_a_busy_limit_on_jobs_of_another_kind_is_blamed_on_no_entry() -> None:
    driver = begun(kind=JobKind.TRAINING)
    (pause,) = driver.is_refused(Verdict.QUOTA_BUSY, "Number of instances across all processing jobs")
    assert isinstance(pause, Sleep)
    assert driver.state.left_out == frozenset()
    driver = begun(kind=JobKind.PROCESSING)
    (pause,) = driver.is_refused(Verdict.QUOTA_BUSY, "Number of instances across all training jobs")
    assert isinstance(pause, Sleep)


def test_a_limit_on_jobs_of_the_own_kind_is_the_lists_own_though_it_names_both() -> None:
    driver = begun(kind=JobKind.TRAINING)
    assert isinstance(driver.is_refused(Verdict.QUOTA_BUSY, "training jobs and processing jobs")[0], Submit)


def test_a_job_that_fails_for_a_quota_after_its_creation_is_treated_like_a_refusal() -> None:
    driver = Driver(new_state("ml.a.large", "ml.b.large")).watching()
    text = (
        "ResourceLimitExceeded: The account-level service limit 'ml.a.large for training job usage' is 2 Instances, "
        "with current utilization of 2 Instances and a request delta of 1 Instances."
    )
    assert driver.sees(status="Failed", failure_reason=text, ended=NOW) == (Submit(2, 0, frozenset({0})),)
