from __future__ import annotations

import json

from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import Begun, Created
from airflow_sm_prefer.placement.record import decision_record
from airflow_sm_prefer.placement.telling import summary

from .builders import NOW, Driver, new_state


def test_the_record_says_what_was_tried_what_was_chosen_and_why() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    driver.is_refused(Verdict.QUOTA_BUSY, "limit is 2", "ml.p5.48xlarge")
    driver.hears(Created("job-1", "arn:1"))
    driver.sees(selected_type="ml.p4d.24xlarge", selected_count=1, capacity_at=NOW + 90, after=100)
    driver.sees(status="Completed", after=100)
    record = decision_record(driver.state, Judgement(Verdict.SUCCEEDED, "the job completed"), driver.now).to_json()
    assert json.loads(json.dumps(record)) == record
    assert record == {
        "version": 1,
        "job_name": "job-1",
        "job_arn": "arn:1",
        "selected_instance_type": "ml.p4d.24xlarge",
        "selected_instance_count": 1,
        "preference_index": 1,
        "capacity_kind": "on_demand",
        "job_queue": None,
        "share": None,
        "pending_seconds": 90.0,
        "submissions": 1,
        "rounds": 0,
        "recoveries": 0,
        "first_submit": "2027-01-15T08:00:00+00:00",
        "capacity_at": "2027-01-15T08:01:30+00:00",
        "verdict": "succeeded",
        "reason": "the job completed",
        "waves": [
            {
                "preferences": ["1 x ml.p5.48xlarge (On-Demand)", "1 x ml.p4d.24xlarge (On-Demand)"],
                "verdict": "quota_busy",
                "count": 1,
                "first": "2027-01-15T08:00:00+00:00",
                "last": "2027-01-15T08:00:00+00:00",
                "reason": "limit is 2",
            },
            {
                "preferences": ["1 x ml.p5.48xlarge (On-Demand)", "1 x ml.p4d.24xlarge (On-Demand)"],
                "verdict": "succeeded",
                "count": 1,
                "first": "2027-01-15T08:03:20+00:00",
                "last": "2027-01-15T08:03:20+00:00",
                "reason": "the job completed",
            },
        ],
    }


def test_a_record_while_it_waits_has_no_verdict_and_no_choice() -> None:
    driver = Driver(new_state()).watching()
    record = decision_record(driver.state, None, NOW + 30).to_json()
    assert (record["verdict"], record["preference_index"], record["pending_seconds"]) == (None, None, 30.0)


def test_the_summary_says_how_far_it_had_come() -> None:
    driver = Driver(new_state()).watching()
    assert summary(driver.state, NOW + 60) == ""
    driver.sees(secondary="Training", after=60)
    assert summary(driver.state, NOW + 90) == "job-1 got capacity after 1 min."
    driver = Driver(new_state()).watching()
    driver.sees(selected_type="ml.p4d.24xlarge", after=60)
    assert (
        summary(driver.state, NOW + 90)
        == "job-1 got 1 x ml.p4d.24xlarge (On-Demand), the 2nd of 2 on the list, after 1 min."
    )
    driver = Driver(new_state("ml.m5.xlarge"))
    driver.hears(Begun())
    driver.is_refused(Verdict.CAPACITY)
    assert summary(driver.state, NOW + 60) == "Waited 1 min for capacity so far; the list is gone through again now."
    driver.state = driver.state.but(wait_began=None)
    assert summary(driver.state, NOW + 60) == "The training plan that was waited for is to begin now."
