"""A sandbox that was killed and started again with its state."""

import json
from pathlib import Path

import pytest

from airflow_sm_prefer.errors import InvalidSetting, StateUnreadable
from airflow_sm_prefer.sandbox import Sandbox, Script
from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from airflow_sm_prefer.sandbox.state import keeper as keeping
from airflow_sm_prefer.sandbox.state.journal import Journal, read
from tests.unit.sandbox.builders import CPU, G5, P5, PLAN, prefer, single, training
from tests.unit.sandbox.state.kept import Kept

REPLACED = "Launched instance was unhealthy, replacing it!"
SPOT = {
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 9000},
}


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "state"


def test_an_answered_create_is_known_and_the_job_runs(folder):
    bench = Kept.begun(folder)
    bench.train()
    again = bench.killed()
    assert again.state() == ("InProgress", "Training")
    again.advance(100)
    assert again.state() == ("Completed", "Completed")
    assert again.training()["ModelArtifacts"]


def test_a_name_stays_used_and_a_deleted_job_stays_deleted(folder):
    bench = Kept.begun(folder)
    bench.train()
    bench.train("gone")
    bench.advance(100)
    bench.call("DeleteTrainingJob", {"TrainingJobName": "gone"})
    for again in (bench.killed(), bench.killed().killed()):
        with pytest.raises(ApiError, match="must be unique"):
            again.train("job")
        with pytest.raises(ApiError, match="not found"):
            again.training("gone")


def test_ended_jobs_are_as_they_were(folder):
    bench = Kept.begun(folder, {"bad": Script.fails("AlgorithmError: no"), "p*": Script(exit_message="said")})
    bench.train(Tags=[{"Key": "a", "Value": "b"}])
    bench.train("bad")
    bench.process("prepare")
    bench.advance(200)
    again = bench.killed(down=50)
    assert again.training() == bench.training()
    assert again.training("bad") == bench.training("bad")
    assert again.processing("prepare") == bench.processing("prepare")
    arn = bench.training()["TrainingJobArn"]
    assert again.call("ListTags", {"ResourceArn": arn}) == bench.call("ListTags", {"ResourceArn": arn})


def test_waiting_jobs_go_on_waiting_in_order_of_arrival(folder):
    bench = Kept.begun(folder, capacity={G5: 0})
    for name in ("first", "second", "third"):
        bench.train(name)
        bench.advance(5)
    before = bench.training("second")
    again = bench.killed(down=60)
    assert again.history("second") == ["Starting", "Pending"]
    assert again.training("second")["CreationTime"] == before["CreationTime"]
    again.sandbox.change(capacity={G5: 1})
    assert [again.state(name)[1] for name in ("first", "second", "third")] == ["Training", "Pending", "Pending"]
    again.train("fourth")
    again.advance(100)
    assert [again.state(name)[1] for name in ("second", "third", "fourth")] == ["Training", "Pending", "Pending"]


def test_time_that_was_waited_counts_and_so_does_the_time_in_between(folder):
    bench = Kept.begun(folder, capacity={G5: 0})
    bench.train(StoppingCondition={"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200})
    bench.advance(3600)
    again = bench.killed(down=3000)
    assert again.state() == ("InProgress", "Pending")
    again.advance(599)
    assert again.state() == ("InProgress", "Pending")
    again.advance(1)
    assert again.state() == ("Stopped", "MaxPendingTimeExceeded")


def test_a_limit_that_was_over_while_nobody_served_is_met_at_its_instant(folder):
    bench = Kept.begun(folder, capacity={G5: [0, {"after": 9000, "count": 1}]})
    bench.train(StoppingCondition={"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200})
    bench.train("patient")
    start = bench.training()["CreationTime"]
    again = bench.killed(down=86_400)
    assert again.state() == ("Stopped", "MaxPendingTimeExceeded")
    assert again.training()["TrainingEndTime"] == start + 7200
    assert again.state("patient") == ("InProgress", "Training")


def test_capacity_of_the_past_is_not_given_out_again(folder):
    bench = Kept.begun(folder, capacity={G5: [0, {"after": 60, "count": 1}, {"after": 120, "count": 0}]})
    bench.advance(200)
    bench.train()
    bench.advance(1)
    again = bench.killed()
    assert again.state() == ("InProgress", "Pending")


def test_a_run_that_was_lost_starts_again_on_what_was_selected(folder):
    bench = Kept.begun(folder, capacity={P5: 0, G5: 1})
    bench.train(resources=prefer(P5, G5))
    bench.train("next", prefer(G5))
    bench.advance(50)
    bench.sandbox.change(capacity={P5: 5})
    again = bench.killed(down=10)
    assert again.state() == ("InProgress", "Training")
    shown = again.training()
    assert shown["ResourceConfig"]["SelectedInstanceType"] == G5
    assert [t["StatusMessage"] for t in shown["SecondaryStatusTransitions"]].count(REPLACED) == 1
    assert [spec.environment_id for spec in again.runner.started] == ["000001-2"]
    assert shown["TrainingStartTime"] == bench.training()["TrainingStartTime"]
    assert again.state("next") == ("InProgress", "Pending")
    again.advance(99)
    assert again.state() == ("InProgress", "Training")
    again.advance(1)
    assert again.state() == ("Completed", "Completed")
    assert again.state("next") == ("InProgress", "Training")


def test_instances_that_were_coming_up_still_come_up(folder):
    bench = Kept.begun(folder, settings={"launch_seconds": 180})
    bench.train()
    bench.advance(60)
    again = bench.killed(down=60)
    assert again.state() == ("InProgress", "Starting")
    again.advance(60)
    assert again.state() == ("InProgress", "Training")
    assert [spec.environment_id for spec in again.runner.started] == ["000001-1"]


def test_the_runtime_of_a_lost_run_counts_anew(folder):
    bench = Kept.begun(folder, {"*": Script(seconds=10_000)})
    bench.train()
    bench.advance(3000)
    again = bench.killed(down=1000)
    again.advance(3599)
    assert again.state() == ("InProgress", "Training")
    again.advance(1)
    assert again.state() == ("Stopped", "MaxRuntimeExceeded")


def test_a_job_that_was_stopping_has_stopped(folder):
    bench = Kept.begun(folder, {"*": Script(seconds=500, stop_seconds=90)}, capacity={G5: 1})
    bench.train()
    bench.train("next")
    bench.advance(10)
    bench.call("StopTrainingJob", {"TrainingJobName": "job"})
    again = bench.killed(down=5)
    assert again.state() == ("Stopped", "Stopped")
    assert again.state("next") == ("InProgress", "Training")


def test_a_waiting_job_that_was_told_to_stop_stays_stopped(folder):
    bench = Kept.begun(folder, capacity={G5: 0})
    bench.train()
    bench.call("StopTrainingJob", {"TrainingJobName": "job"})
    assert bench.killed().state() == ("Stopped", "Stopped")


def test_an_interrupted_spot_job_waits_again(folder):
    bench = Kept.begun(folder, {"*": Script(seconds=500, stop_seconds=90)}, spot={G5: [1, {"after": 30, "count": 0}]})
    bench.train(resources=single(G5), **SPOT)
    bench.advance(31)
    assert bench.state()[1] == "Interrupted"
    again = bench.killed()
    assert again.state() == ("InProgress", "Interrupted")
    again.sandbox.change(spot={G5: 1})
    assert again.state() == ("InProgress", "Training")
    assert again.history().count("Interrupted") == 1


def test_spot_capacity_that_fell_meanwhile_is_lost(folder):
    bench = Kept.begun(folder, spot={G5: [1, {"after": 50, "count": 0}]})
    bench.train(resources=single(G5), **SPOT)
    bench.advance(20)
    again = bench.killed(down=100)
    assert again.state()[1] in {"Interrupted", "Pending"}
    assert again.runner.started == []


def test_quotas_are_used_as_before(folder):
    quota = f"{G5} for training job usage"
    bench = Kept.begun(folder, quotas={quota: 2})
    bench.train("one")
    again = bench.killed()
    again.train("two")
    with pytest.raises(ApiError, match="current utilization of 2 Instances"):
        again.train("three")
    again.advance(200)
    again.train("three")


def test_what_was_changed_while_it_ran_stays_changed(folder):
    bench = Kept.begun(folder, capacity={G5: 5})
    bench.advance(100)
    changes = {
        "capacity": {G5: [0, {"after": 60, "count": 1}]},
        "quotas": {f"{P5} for training job usage": 0},
        "rates": {"DescribeTrainingJob": 1},
        "plans": [{"name": "december", "type": P5, "count": 1, "blocks": [{"starts": 600, "lasts": "24h"}]}],
    }
    bench.sandbox.change(**changes)
    bench.sandbox.change(speed=2)
    again = bench.killed(down=10)
    assert again.control.state({}) == bench.control.state({})
    assert again.control.state({})["elapsed"] == 120
    assert again.control.state({})["speed"] == 2
    again.train()
    assert again.state()[1] == "Pending"
    with pytest.raises(ApiError, match="Rate exceeded"):
        again.training()
    again.advance(1)
    with pytest.raises(ApiError, match="is 0 Instances"):
        again.train("p5", prefer(P5))
    again.advance(24)
    assert again.state()[1] == "Training"
    described = again.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})
    assert described == bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})


def test_a_bought_plan_and_an_offer_are_still_there(folder):
    bench = Kept.begun(folder)
    wanted = {"InstanceType": P5, "InstanceCount": 1, "DurationHours": 24, "TargetResources": ["training-job"]}
    offers = [bench.call("SearchTrainingPlanOfferings", wanted)["TrainingPlanOfferings"][0] for _ in range(2)]
    first, second = (offer["TrainingPlanOfferingId"] for offer in offers)
    bench.call("CreateTrainingPlan", {"TrainingPlanName": "december", "TrainingPlanOfferingId": first})
    again = bench.killed()
    shown = again.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})
    assert shown == bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})
    again.call("CreateTrainingPlan", {"TrainingPlanName": "january", "TrainingPlanOfferingId": second})
    third = again.call("SearchTrainingPlanOfferings", wanted)["TrainingPlanOfferings"][0]["TrainingPlanOfferingId"]
    assert third not in {first, second}
    again.train(resources=single(P5, TrainingPlanArn=PLAN))
    again.advance(1850)
    assert again.killed().state()[1] == "Training"


def test_faults_go_on_where_they_were(folder):
    fault = {"operation": "DescribeTrainingJob", "error": "drop", "after": 1, "times": 2}
    bench = Kept.begun(folder, call_faults=[fault])
    bench.train()
    bench.training()
    again = bench.killed()
    with pytest.raises(DroppedConnection):
        again.training()
    again = again.killed()
    with pytest.raises(DroppedConnection):
        again.training()
    assert again.killed().training()
    again = again.killed()
    again.sandbox.change(call_faults=[{"operation": "ListTrainingJobs", "error": "drop"}])
    again.sandbox.clear_faults()
    assert again.killed().call("ListTrainingJobs")


def test_a_fault_hits_the_run_that_replaces_a_lost_one(folder):
    bench = Kept.begun(folder, job_faults=[{"job": "*", "after": 50}])
    bench.train()
    bench.advance(30)
    again = bench.killed()
    again.advance(51)
    assert again.state()[0] == "Failed"
    again.train("other")
    again.advance(200)
    assert again.state("other")[0] == "Completed"


def test_a_job_that_aws_has_failed_stays_failed(folder):
    bench = Kept.begun(folder, job_faults=[{"job": "*", "after": 50}])
    bench.train()
    bench.advance(70)
    again = bench.killed()
    assert again.state()[0] == "Failed"
    assert again.training()["FailureReason"].startswith("InternalServerError")


def test_the_record_has_everything_from_the_beginning(folder):
    bench = Kept.begun(folder)
    for name in ("a", "b"):
        bench.train(name, Tags=[{"Key": "task", "Value": "t"}])
    bench.training("a")
    bench.sandbox.keep_record()
    before = bench.record()
    bench.advance(200)
    again = bench.killed()
    again.train("c", Tags=[{"Key": "task", "Value": "t"}])
    assert again.record()[: len(before)] == before
    assert [e["operation"] for e in again.record("call")][:3] == ["CreateTrainingJob"] * 2 + ["DescribeTrainingJob"]
    assert again.control.most_live({"tag": "task=t"})["most"] == 2


def test_a_refused_call_is_in_the_record_at_once(folder):
    bench = Kept.begun(folder)
    with pytest.raises(ApiError):
        bench.training("none")
    assert bench.killed().record("call")[-1]["error"] == "ValidationException"


def test_reading_writes_nothing(folder):
    bench = Kept.begun(folder)
    bench.train()
    bench.training()
    sizes = [(folder / name).stat().st_size for name in ("journal", "record")]
    for _ in range(3):
        bench.training()
        bench.call("ListTrainingJobs")
    assert [(folder / name).stat().st_size for name in ("journal", "record")] == sizes


def test_an_updated_job_stays_updated(folder):
    bench = Kept.begun(folder, capacity={G5: 0})
    bench.train()
    change = {"TrainingJobName": "job", "ProfilerConfig": {"ProfilingIntervalInMilliseconds": 500}}
    bench.call("UpdateTrainingJob", change)
    bench.call("AddTags", {"ResourceArn": bench.training()["TrainingJobArn"], "Tags": [{"Key": "k", "Value": "v"}]})
    again = bench.killed()
    assert again.training()["ProfilerConfig"] == change["ProfilerConfig"]
    arn = {"ResourceArn": bench.training()["TrainingJobArn"]}
    assert again.call("ListTags", arn)["Tags"] == [{"Key": "k", "Value": "v"}]
    again.call("DeleteTags", {**arn, "TagKeys": ["k"]})
    assert again.killed().call("ListTags", arn)["Tags"] == []


def test_lists_that_lag_behind_know_what_they_knew(folder):
    bench = Kept.begun(folder, settings={"list_delay_seconds": 30})
    bench.train()
    bench.advance(40)
    again = bench.killed(down=70)
    again.sandbox.tick()
    (row,) = again.call("ListTrainingJobs")["TrainingJobSummaries"]
    assert row["TrainingJobStatus"] == "InProgress"
    again.advance(140)
    (row,) = again.killed().call("ListTrainingJobs")["TrainingJobSummaries"]
    assert row["TrainingJobStatus"] == "Completed"


def test_late_events_are_sent_by_the_next_process(folder):
    bench = Kept.begun(folder, settings={"event_delay_seconds": 60, "double_events_every": 2})
    bench.train()
    bench.advance(1)
    sent = []
    copy = bench.copied()
    again = Sandbox(clock=bench.clock, state=copy, emit=lambda *event: sent.append(event))
    again.advance(60)
    details = [json.loads(event["Detail"])["SecondaryStatus"] for _, _, event in sent]
    assert details[:2] == ["Starting", "Starting"] or details[:1] == ["Starting"]
    assert all(account == "123456789012" for account, *_ in sent)


def test_a_kill_is_survived_again_and_again(folder):
    bench = Kept.begun(folder, capacity={G5: 1, CPU: 1})
    for name in ("a", "b", "c"):
        bench.train(name)
    for _ in range(12):
        bench = bench.killed(down=1)
        bench.advance(50)
        bench = bench.killed()
        bench.advance(101)
    assert [bench.state(name)[0] for name in ("a", "b", "c")] == ["Completed"] * 3
    assert bench.control.most_live({})["most"] == 3


def test_a_clock_that_has_gone_back_holds_nothing_up(folder):
    bench = Kept.begun(folder, capacity={G5: [0, {"after": 1000, "count": 1}]})
    bench.train()
    bench.advance(900)
    bench.train("more")
    again = Kept(bench.copied())
    assert again.control.state({})["elapsed"] == 900
    again.advance(101)
    assert again.state()[1] == "Training"


def test_an_orderly_end_keeps_running_jobs_for_the_next_start(folder):
    bench = Kept.begun(folder)
    bench.train()
    bench.advance(10)
    bench.sandbox.close()
    again = Kept(folder, clock=bench.clock)
    again.advance(100)
    assert again.state() == ("Completed", "Completed")


def test_what_is_asked_of_a_sandbox_that_ends_is_refused(folder):
    bench = Kept.begun(folder)
    bench.sandbox.close()
    with pytest.raises(ApiError, match="The sandbox is ending"):
        bench.train()
    assert Kept(folder).call("ListTrainingJobs") == {"TrainingJobSummaries": []}


def test_the_journal_does_not_grow_without_end(folder, monkeypatch):
    monkeypatch.setattr(keeping, "COMPACT_BYTES", 20_000)
    monkeypatch.setattr(keeping, "JOBS_A_LINE", 2)
    bench = Kept.begun(folder)
    for number in range(5):
        bench.train(f"job-{number}")
        bench.advance(101)
    bench.call("DeleteTrainingJob", {"TrainingJobName": "job-4"})
    for _ in range(200):
        bench.call(
            "AddTags", {"ResourceArn": bench.training("job-0")["TrainingJobArn"], "Tags": [{"Key": "k", "Value": "v"}]}
        )
    assert (folder / "journal").stat().st_size < 45_000
    again = bench.killed()
    assert [again.training(f"job-{n}") for n in range(4)] == [bench.training(f"job-{n}") for n in range(4)]
    with pytest.raises(ApiError, match="not found"):
        again.training("job-4")


def test_a_full_disk_is_told_and_nothing_is_lost_when_there_is_room_again(folder, monkeypatch):
    bench = Kept.begun(folder)
    with monkeypatch.context() as patch:

        def full(*_):
            raise OSError(28, "No space left on device")

        patch.setattr(Journal, "append", full)
        with pytest.raises(ApiError, match=r"can't write its state to .*: No space left on device"):
            bench.train()
    bench.train("other")
    again = bench.killed()
    assert {again.state("job")[0], again.state("other")[0]} == {"InProgress"}


def test_the_state_goes_on_with_its_own_scenario_and_speed(folder):
    scenario = {"capacity": {G5: 0}, "rates": False}
    Kept(folder, scenario, speed=60).sandbox.close()
    for given, speed in ((None, None), (scenario, 60)):
        again = Kept(folder, given, speed=speed)
        assert again.control.state({})["speed"] == 60
        assert again.control.state({})["capacity"]["on_demand"] == {G5: 0}
        again.sandbox.close()


def test_another_scenario_or_speed_is_refused_and_the_state_is_free_again(folder):
    Kept(folder, {"capacity": {G5: 0}}, speed=60).sandbox.close()
    with pytest.raises(
        InvalidSetting, match=r"began with another scenario; different: capacity, settings\. It goes on"
    ):
        Kept(folder, {"capacity": {G5: 1}, "settings": {"launch_seconds": 1}})
    with pytest.raises(InvalidSetting, match="began at speed 60, not 1"):
        Kept(folder, speed=1)
    with pytest.raises(InvalidSetting, match="speed is -1"):
        Kept(folder, speed=-1)
    Kept(folder).sandbox.close()


def rewritten(folder: Path, change) -> None:
    """Write a journal anew, sound by its checksums, with other content."""
    header, *values = (line.value for line in read(folder / "journal"))
    Journal.create(folder / "journal", *change(header, values)).close()


def test_a_scenario_that_is_not_known_here_is_refused(folder):
    Kept.begun(folder).sandbox.close()
    rewritten(folder, lambda header, values: ({**header, "began": {"scenario": {"moons": 2}, "speed": 1.0}}, values))
    with pytest.raises(StateUnreadable, match=r"line 1 tells of a scenario that this version .* unknown field moons"):
        Kept(folder)


@pytest.mark.parametrize("field", ["elapsed", "kind"])
def test_a_job_that_is_not_known_here_is_refused(folder, field):
    bench = Kept.begun(folder)
    bench.train()
    bench.sandbox.close()

    def change(header, values):
        for value in values:
            value.pop(field, None)
            for job in value.get("jobs", ()):
                job.pop(field, None)
        return header, values

    rewritten(folder, change)
    with pytest.raises(StateUnreadable, match=r"journal holds what this version of airflow-sm-prefer doesn't know"):
        Kept(folder)
    # The folder is free again, and as it was.
    with pytest.raises(StateUnreadable):
        Kept(folder)


def test_wherever_the_journal_is_cut_off_every_answered_create_is_known_once(folder):
    bench = Kept.begun(folder, capacity={G5: 2})
    answered = {}
    for number in range(6):
        bench.call("CreateTrainingJob", training(f"job-{number}"))
        answered[(folder / "journal").stat().st_size] = number
        bench.advance(40)
    whole = (folder / "journal").read_bytes()
    ends = [line.end for line in read(folder / "journal")]
    for cut in sorted({end + more for end in ends for more in (-1, 0, 5)}):
        copy = bench.copied()
        (copy / "journal").write_bytes(whole[:cut])
        if cut < ends[0]:
            continue
        again = Kept(copy, clock=bench.clock)
        names = [
            row["TrainingJobName"]
            for row in again.call("ListTrainingJobs", {"MaxResults": 100})["TrainingJobSummaries"]
        ]
        assert len(names) == len(set(names))
        known = max((number + 1 for size, number in answered.items() if size <= cut), default=0)
        assert {f"job-{number}" for number in range(known)} <= set(names)
        again.advance(2000)
        assert {again.state(name)[0] for name in names} <= {"Completed"}
        again.sandbox.close()


def test_a_warm_pool_keeps_its_instances_and_its_period(folder):
    bench = Kept.begun(folder, capacity={G5: 1})
    bench.train("first", {**single(G5), "KeepAlivePeriodInSeconds": 600})
    bench.advance(100)
    again = bench.killed(down=50)
    assert again.training("first")["WarmPoolStatus"]["Status"] == "Available"
    again.train("second", single(G5))
    again.advance(549)
    assert again.state("second") == ("InProgress", "Pending")
    again.advance(2)
    assert again.state("second") == ("InProgress", "Training")
    assert again.training("first")["WarmPoolStatus"]["Status"] == "Terminated"


def test_a_changed_period_of_a_warm_pool_is_known(folder):
    bench = Kept.begun(folder, capacity={G5: 1})
    bench.train("first", {**single(G5), "KeepAlivePeriodInSeconds": 600})
    bench.advance(100)
    bench.call("UpdateTrainingJob", {"TrainingJobName": "first", "ResourceConfig": {"KeepAlivePeriodInSeconds": 3000}})
    again = bench.killed()
    again.advance(2990)
    assert again.training("first")["WarmPoolStatus"]["Status"] == "Available"


def test_a_run_that_aws_will_fail_fails_after_the_kill_too(folder):
    bench = Kept.begun(folder, job_faults=[{"job": "*", "after": 10}])
    bench.train()
    bench.advance(9)
    again = bench.killed()
    again.advance(11)
    assert again.state() == ("Failed", "Failed")
