"""Fair share and quota management through the API: whose turn it is, who borrows, who is preempted."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.sandbox import DEFAULT_CALLER
from tests.unit.sandbox.batch.bench import BatchBench
from tests.unit.sandbox.builders import CPU, G5, single, training

CROSS_SHARE = "Cross-share preemption triggered to reclaim borrowed capacity"


class TestFairShare:
    def test_a_lower_weight_gets_more(self):
        bench = BatchBench(seconds=100)
        bench.fair(1, small=1.0, large=0.25)
        names = [f"{share}-{i}" for i in range(8) for share in ("small", "large")]
        ids = {name: bench.submit(name, "fair", shareIdentifier=name.partition("-")[0]) for name in names}
        bench.advance(1000)
        done = [name.partition("-")[0] for name, job_id in ids.items() if bench.status(job_id) == "SUCCEEDED"]
        assert done.count("large") > 2 * done.count("small") > 0

    def test_the_higher_priority_is_first_within_a_share(self):
        bench = BatchBench(seconds=100)
        bench.fair(1, red=1.0)
        running, low, high = (
            bench.submit(name, "fair", shareIdentifier="red", schedulingPriority=priority)
            for name, priority in (("first", 5), ("low", 1), ("high", 9))
        )
        bench.advance(100)
        assert bench.statuses(running, low, high) == ["SUCCEEDED", "RUNNABLE", "RUNNING"]

    def test_a_raised_priority_counts_for_a_job_that_waits(self):
        bench = BatchBench(seconds=100)
        bench.fair(1, red=1.0)
        _, a, b = (
            bench.submit(n, "fair", shareIdentifier="red", schedulingPriority=p)
            for n, p in (("x", 5), ("a", 5), ("b", 1))
        )
        answer = bench.call("UpdateServiceJob", {"jobId": b, "schedulingPriority": 9})
        assert answer["jobId"] == b
        bench.advance(100)
        assert bench.statuses(a, b) == ["RUNNABLE", "RUNNING"]
        assert bench.describe(b)["schedulingPriority"] == 9

    def test_nobody_is_preempted(self):
        bench = BatchBench()
        bench.fair(2, red=1.0, blue=0.001)
        red = [bench.submit(f"r{i}", "fair", shareIdentifier="red", schedulingPriority=0) for i in range(2)]
        bench.submit("blue", "fair", shareIdentifier="blue", schedulingPriority=9999)
        bench.advance(10)
        assert bench.statuses(*red) == ["RUNNING", "RUNNING"]

    def test_what_the_shares_hold_is_shown(self):
        bench = BatchBench()
        bench.fair(3, red=1.0, blue=1.0)
        for share, count in (("red", 2), ("blue", 1), ("blue", 1)):
            bench.submit(share, "fair", shareIdentifier=share, count=count)
        shown = bench.call("GetJobQueueSnapshot", {"jobQueue": "fair"})
        utilization = shown["queueUtilization"]
        assert utilization["totalCapacityUsage"] == [{"capacityUnit": G5, "quantity": 3.0}]
        assert utilization["fairshareUtilization"] == {
            "activeShareCount": 2,
            "topCapacityUtilization": [
                {"shareIdentifier": "red", "capacityUsage": [{"capacityUnit": G5, "quantity": 2.0}]},
                {"shareIdentifier": "blue", "capacityUsage": [{"capacityUnit": G5, "quantity": 1.0}]},
            ],
        }
        assert len(shown["frontOfQueue"]["jobs"]) == 1
        assert "frontOfQuotaShares" not in shown


class TestQuotaManagement:
    def bench(self, seconds: float = 1000, **scenario) -> BatchBench:
        """Red and blue have two instances each, and lend and borrow without limit."""
        bench = BatchBench(seconds=seconds, **scenario)
        bench.managed(4)
        bench.share("red")
        bench.share("blue")
        return bench

    def submit(self, bench: BatchBench, share: str, count: int = 1, **more) -> str:
        return bench.submit(f"{share}-job", "managed", count=count, quotaShareName=share, **more)

    def test_idle_instances_are_borrowed_and_reclaimed_by_their_owner(self):
        bench = self.bench()
        red = [self.submit(bench, "red") for _ in range(4)]
        assert bench.statuses(*red) == ["RUNNING"] * 4
        bench.advance(10)
        blue = self.submit(bench, "blue", count=2)
        bench.advance(1)
        assert bench.status(blue) == "RUNNING"
        assert sorted(bench.statuses(*red)) == ["RUNNABLE", "RUNNABLE", "RUNNING", "RUNNING"]
        victim = next(job for job in red if bench.status(job) == "RUNNABLE")
        summary = bench.describe(victim)["preemptionSummary"]
        (attempt,) = summary["recentPreemptedAttempts"]
        assert (summary["preemptedAttemptCount"], attempt["statusReason"]) == (1, CROSS_SHARE)
        assert attempt["stoppedAt"] >= attempt["startedAt"]
        assert bench.describe(victim)["attempts"] == []

    def test_a_victim_gets_its_grace_and_its_instances_are_not_given_away_before(self):
        bench = BatchBench({"AWSBatch*": Script(seconds=1000, stop_seconds=500)})
        bench.managed(4)
        bench.share("red")
        bench.share("blue")
        red = [self.submit(bench, "red") for _ in range(4)]
        blue = self.submit(bench, "blue")
        bench.advance(119)
        assert bench.status(blue) == "RUNNABLE"
        assert bench.statuses(*red) == ["RUNNING"] * 4
        stopping = [bench.behind(job)["TrainingJobStatus"] for job in red]
        assert sorted(stopping) == ["InProgress", "InProgress", "InProgress", "Stopping"]
        bench.advance(2)
        assert bench.status(blue) == "RUNNING"

    def test_a_preempted_job_goes_on_when_there_is_room_again(self):
        bench = self.bench(seconds=100)
        red = [self.submit(bench, "red") for _ in range(3)]
        bench.advance(50)
        blue = self.submit(bench, "blue", count=2)
        bench.advance(51)
        bench.advance(200)
        assert bench.statuses(*red, blue) == ["SUCCEEDED"] * 4

    @pytest.mark.parametrize(("retries", "status"), [(0, "FAILED"), (1, "RUNNABLE")])
    def test_the_retries_after_preemption_are_limited_if_the_job_says_so(self, retries, status):
        bench = self.bench()
        configuration = {"preemptionRetriesBeforeTermination": retries}
        red = [self.submit(bench, "red", preemptionConfiguration=configuration) for _ in range(3)]
        self.submit(bench, "blue", count=2)
        bench.advance(1)
        assert sorted(bench.statuses(*red)) == sorted([status, "RUNNING", "RUNNING"])

    def test_a_share_that_reserves_lends_nothing(self):
        bench = BatchBench()
        bench.managed(4)
        bench.share("red")
        bench.share("blue", strategy="RESERVE")
        red = [self.submit(bench, "red") for _ in range(3)]
        bench.advance(1)
        assert bench.statuses(*red) == ["RUNNING", "RUNNING", "RUNNABLE"]

    def test_a_higher_priority_preempts_within_a_share_that_allows_it(self):
        bench = BatchBench(seconds=1000)
        bench.managed(2)
        bench.share("red", preempts=True)
        low = [self.submit(bench, "red", schedulingPriority=1) for _ in range(2)]
        high = self.submit(bench, "red", schedulingPriority=9)
        bench.advance(1)
        assert bench.status(high) == "RUNNING"
        assert sorted(bench.statuses(*low)) == ["RUNNABLE", "RUNNING"]

    def test_a_lowered_priority_makes_a_running_job_a_victim(self):
        bench = BatchBench(seconds=1000)
        bench.managed(1)
        bench.share("red", 1, preempts=True)
        first = self.submit(bench, "red", schedulingPriority=5)
        second = self.submit(bench, "red", schedulingPriority=5)
        bench.advance(1)
        assert bench.statuses(first, second) == ["RUNNING", "RUNNABLE"]
        bench.call("UpdateServiceJob", {"jobId": first, "schedulingPriority": 1})
        bench.advance(1)
        assert bench.statuses(first, second) == ["RUNNABLE", "RUNNING"]

    def test_a_job_that_waits_for_capacity_in_sagemaker_is_a_victim_too(self):
        bench = self.bench(capacity={G5: 2})
        red = [self.submit(bench, "red") for _ in range(4)]
        bench.advance(1)
        assert sorted(bench.statuses(*red)) == ["RUNNING", "RUNNING", "SCHEDULED", "SCHEDULED"]
        self.submit(bench, "blue", count=2)
        bench.advance(1)
        assert bench.statuses(*red).count("RUNNABLE") == 2

    def test_a_type_without_a_limit_blocks_its_share_only(self):
        bench = self.bench()
        payload = training("job", single(CPU))
        blocked = bench.submit("cpu", "managed", payload=payload, quotaShareName="red")
        red, blue = self.submit(bench, "red"), self.submit(bench, "blue")
        bench.advance(1)
        assert bench.statuses(blocked, red, blue) == ["RUNNABLE", "RUNNABLE", "RUNNING"]
        assert bench.describe(blocked)["statusReason"].startswith("MISCONFIGURATION:")

    def test_a_job_beyond_what_its_share_can_ever_hold_says_so(self):
        bench = BatchBench()
        bench.managed(4)
        bench.share("red", strategy="RESERVE")
        job = self.submit(bench, "red", count=3)
        bench.advance(1)
        assert bench.describe(job)["statusReason"].startswith("MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED - ")

    def test_the_first_job_of_each_share_and_what_shares_hold_are_shown(self):
        bench = self.bench()
        for _ in range(3):
            self.submit(bench, "red", count=2)
        waiting = self.submit(bench, "blue", count=3)
        bench.advance(1)
        shown = bench.call("GetJobQueueSnapshot", {"jobQueue": "managed"})
        front = shown["frontOfQuotaShares"]["quotaShares"]
        assert front["blue"][0]["jobArn"].endswith(waiting)
        assert len(front["red"]) == 1
        shares = shown["queueUtilization"]["quotaShareUtilization"]["topCapacityUtilization"]
        assert {share["quotaShareName"] for share in shares} == {"red", "blue"}

    def test_deleting_a_share_terminates_its_jobs_and_leaves_the_others(self):
        bench = self.bench()
        red, blue = self.submit(bench, "red"), self.submit(bench, "blue")
        (arn,) = [
            share["quotaShareArn"]
            for share in bench.call("ListQuotaShares", {"jobQueue": "managed"})["quotaShares"]
            if share["quotaShareName"] == "red"
        ]
        bench.call("UpdateQuotaShare", {"quotaShareArn": arn, "state": "DISABLED"})
        bench.call("DeleteQuotaShare", {"quotaShareArn": arn})
        bench.advance(1)
        assert bench.statuses(red, blue) == ["FAILED", "RUNNING"]
        shares = bench.call("ListQuotaShares", {"jobQueue": "managed"})["quotaShares"]
        assert [share["quotaShareName"] for share in shares] == ["blue"]


class TestExamplesOfAws:
    """What AWS's pages work out in numbers."""

    @pytest.mark.parametrize(("shares", "usable"), [(1, 4), (2, 6), (3, 7)])
    def test_a_reservation_of_50_percent_keeps_that_to_the_power_of_the_active_shares(self, shares, usable):
        """FairsharePolicy: 50 % with one share identifier, 25 % with two, 12.5 % with three."""
        bench = BatchBench(seconds=10_000)
        bench.environment(NUM_INSTANCES=8)
        policy = {"name": "fair", "fairsharePolicy": {"computeReservation": 50}}
        bench.queue("fair", schedulingPolicyArn=bench.call("CreateSchedulingPolicy", policy)["arn"])
        # Disabled until all have come, so that the reservation is that of all shares from the beginning.
        bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "environment", "state": "DISABLED"})
        ids = [bench.submit(queue="fair", shareIdentifier=f"s{i % shares}") for i in range(12)]
        bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "environment", "state": "ENABLED"})
        bench.advance(10)
        assert bench.statuses(*ids).count("RUNNING") == usable

    def test_a_weight_of_an_eighth_gets_eight_times_as_much(self):
        """ShareAttributes: 0.125 gets 8 times the resources of 1."""
        bench = BatchBench(seconds=60)
        bench.fair(9, one=1.0, eighth=0.125)
        for number in range(120):
            bench.submit(f"one-{number}", "fair", shareIdentifier="one")
            bench.submit(f"eighth-{number}", "fair", shareIdentifier="eighth")
        bench.advance(900)
        counts = {
            share: sum(
                1
                for job in bench.sandbox.dispatcher.estate(DEFAULT_CALLER).jobs.values()
                if job.share == share and job.status == "SUCCEEDED"
            )
            for share in ("one", "eighth")
        }
        assert counts["eighth"] == pytest.approx(8 * counts["one"], rel=0.25)

    def experiments(self, **more) -> BatchBench:
        """Amazon Search: 100 P4 instances, 60 for one experiment and 40 for the other."""
        bench = BatchBench(seconds=10_000)
        bench.managed(100)
        bench.share("exp1", 60, **more)
        bench.share("exp2", 40, **more)
        return bench

    def fives(self, bench: BatchBench, share: str, instances: int, **more) -> list[str]:
        jobs = range(instances // 5)
        return [bench.submit(share, "managed", count=5, quotaShareName=share, **more) for _ in jobs]

    def holds(self, bench: BatchBench, share: str) -> int:
        shown = bench.call("GetJobQueueSnapshot", {"jobQueue": "managed"})["queueUtilization"]
        shares = shown["quotaShareUtilization"]["topCapacityUtilization"]
        (usage,) = [one["capacityUsage"] for one in shares if one["quotaShareName"] == share]
        return int(sum(unit["quantity"] for unit in usage))

    def test_75_instances_are_lent_and_given_back(self):
        """When the second uses 25, the first may use 75; when it wants its 40 back, jobs of the first are preempted."""
        bench = self.experiments()
        self.fives(bench, "exp2", 25)
        self.fives(bench, "exp1", 90)
        bench.advance(1)
        assert (self.holds(bench, "exp1"), self.holds(bench, "exp2")) == (75, 25)
        self.fives(bench, "exp2", 15)
        bench.advance(1)
        assert (self.holds(bench, "exp1"), self.holds(bench, "exp2")) == (60, 40)

    def test_a_job_of_priority_90_evicts_jobs_of_priority_10_when_the_share_is_full(self):
        """60 instances are busy; a job of priority 90 needs 15."""
        bench = self.experiments(preempts=True, strategy="RESERVE")
        low = self.fives(bench, "exp1", 60, schedulingPriority=10)
        bench.advance(1)
        assert bench.statuses(*low) == ["RUNNING"] * 12
        high = bench.submit("high", "managed", count=15, quotaShareName="exp1", schedulingPriority=90)
        bench.advance(1)
        assert bench.status(high) == "RUNNING"
        assert sorted(bench.statuses(*low)) == ["RUNNABLE"] * 3 + ["RUNNING"] * 9
        assert self.holds(bench, "exp1") == 60
