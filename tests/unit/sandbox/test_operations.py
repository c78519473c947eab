"""Plans, their offerings, updates, deletion, search and quotas."""

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, G5, P5, PLAN, Bench, prefer, single

HOUR = 3600


class TestPlans:
    PLANS = (
        {"name": "early", "type": P5, "count": 2, "blocks": [{"lasts": "90m"}, {"starts": "2h", "lasts": "1h"}]},
        {"name": "late", "type": P5, "count": 1, "blocks": [{"starts": "5h", "lasts": "1h"}]},
        {"name": "elsewhere", "type": P5, "count": 1, "region": "eu-west-1"},
    )

    @pytest.fixture
    def bench(self) -> Bench:
        return Bench(plans=list(self.PLANS))

    def names(self, bench: Bench, **request) -> list[str]:
        rows = bench.call("ListTrainingPlans", request)["TrainingPlanSummaries"]
        return [row["TrainingPlanName"] for row in rows]

    def test_listed_by_start_and_by_name(self, bench):
        assert self.names(bench) == ["late", "early"]
        assert self.names(bench, SortBy="TrainingPlanName", SortOrder="Ascending") == ["early", "late"]
        first = bench.call("ListTrainingPlans", {"MaxResults": 1})
        assert self.names(bench, NextToken=first["NextToken"]) == ["early"]

    def test_filtered_by_status_and_start(self, bench):
        assert self.names(bench, Filters=[{"Name": "Status", "Value": "Scheduled"}]) == ["late"]
        assert self.names(bench, StartTimeBefore=bench.clock.time() + 1) == ["early"]

    def test_a_plan_shows_its_blocks(self, bench):
        plan = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "early"})
        assert (plan["DurationHours"], plan["DurationMinutes"]) == (2, 30)
        assert [b["Status"] for b in plan["ReservedCapacitySummaries"]] == ["Active", "Scheduled"]
        bench.advance(HOUR * 1.75)
        plan = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "early"})
        assert plan["Status"] == "Scheduled"
        assert plan["AvailableInstanceCount"] == 0
        assert [b["Status"] for b in plan["ReservedCapacitySummaries"]] == ["Expired", "Scheduled"]
        bench.advance(HOUR * 2)
        assert bench.call("DescribeTrainingPlan", {"TrainingPlanName": "early"})["Status"] == "Expired"

    def test_an_unknown_plan(self, bench):
        with pytest.raises(ApiError, match="not found"):
            bench.call("DescribeTrainingPlan", {"TrainingPlanName": "elsewhere"})

    def test_a_plan_that_is_added_while_the_sandbox_runs_takes_waiting_jobs(self, bench):

        bench.train(resources=single(P5, TrainingPlanArn=PLAN.replace("december", "late")))
        bench.advance(HOUR)
        bench.sandbox.change(plans=[{"name": "late", "type": P5, "count": 1, "blocks": [{"lasts": "2h"}]}])
        assert bench.state() == ("InProgress", "Training")

    def test_what_is_offered_can_be_bought_and_used(self):
        bench = Bench(capacity={P5: 0})
        request = {"InstanceType": P5, "InstanceCount": 1, "DurationHours": 24, "TargetResources": ["training-job"]}
        (offer,) = bench.call("SearchTrainingPlanOfferings", request)["TrainingPlanOfferings"]
        bought = {"TrainingPlanName": "december", "TrainingPlanOfferingId": offer["TrainingPlanOfferingId"]}
        assert bench.call("CreateTrainingPlan", bought) == {"TrainingPlanArn": PLAN}
        bench.train(resources=single(P5, TrainingPlanArn=PLAN))
        bench.advance(1799)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state() == ("InProgress", "Training")
        with pytest.raises(ApiError, match="ResourceInUse"):
            bench.call("CreateTrainingPlan", bought)

    def test_nothing_is_offered_that_ends_too_late_or_is_for_something_else(self):
        bench = Bench()
        request = {"InstanceType": P5, "DurationHours": 24}
        for more in ({"EndTimeBefore": bench.clock.time() + HOUR}, {"TargetResources": ["endpoint"]}):
            assert bench.call("SearchTrainingPlanOfferings", request | more) == {"TrainingPlanOfferings": []}
        with pytest.raises(ApiError, match="are required"):
            bench.call("SearchTrainingPlanOfferings", {})
        with pytest.raises(ApiError, match="not found"):
            bench.call("CreateTrainingPlan", {"TrainingPlanName": "a", "TrainingPlanOfferingId": "none"})


class TestUpdateAndDelete:
    def test_a_live_job_can_be_updated_and_not_deleted(self):
        bench = Bench()
        bench.train()
        change = {"RemoteDebugConfig": {"EnableRemoteDebug": True}}
        bench.call("UpdateTrainingJob", {"TrainingJobName": "job", **change})
        assert bench.training()["RemoteDebugConfig"] == {"EnableRemoteDebug": True}
        with pytest.raises(ApiError, match="ResourceInUse"):
            bench.call("DeleteTrainingJob", {"TrainingJobName": "job"})

    def test_an_ended_job_can_be_deleted_and_not_updated_and_its_name_stays_used(self):
        bench = Bench(seconds=1)
        bench.train()
        bench.advance(2)
        with pytest.raises(ApiError, match="in status Completed"):
            bench.call("UpdateTrainingJob", {"TrainingJobName": "job"})
        bench.call("DeleteTrainingJob", {"TrainingJobName": "job"})
        with pytest.raises(ApiError, match="not found"):
            bench.training()
        with pytest.raises(ApiError, match="ResourceInUse"):
            bench.train()


class TestSearch:
    @pytest.fixture
    def bench(self) -> Bench:
        bench = Bench({"bad": Script.fails("AlgorithmError: no", seconds=1)})
        bench.train("good", prefer(G5), Tags=[{"Key": "team", "Value": "a"}])
        bench.train("bad", prefer(CPU), Tags=[{"Key": "team", "Value": "b"}])
        bench.advance(5)
        return bench

    def found(self, bench: Bench, *filters: tuple[str, ...], **more) -> list[str]:
        rows = [dict(zip(("Name", "Operator", "Value"), one, strict=False)) for one in filters]
        filters_given = {"Filters": rows} if rows else {}
        expression = {"SearchExpression": filters_given | more} if rows or more else {}
        results = bench.call("Search", {"Resource": "TrainingJob", "SortBy": "TrainingJobName", **expression})
        assert results["TotalHits"]["Value"] == len(results["Results"])
        return [row["TrainingJob"]["TrainingJobName"] for row in results["Results"]]

    @pytest.mark.parametrize(
        ("one", "names"),
        [
            (("TrainingJobStatus", "Equals", "Failed"), ["bad"]),
            (("TrainingJobStatus", "NotEquals", "Failed"), ["good"]),
            (("ResourceConfig.SelectedInstanceType", "Equals", G5), ["good"]),
            (("Tags.team", "Equals", "b"), ["bad"]),
            (("FailureReason", "Contains", "Algorithm"), ["bad"]),
            (("FailureReason", "Exists"), ["bad"]),
            (("FailureReason", "NotExists"), ["good"]),
            (("FailureReason", "NotEquals", "x"), ["good", "bad"]),
            (("TrainingJobName", "In", "good,other"), ["good"]),
            (("CreationTime", "GreaterThan", "2020-01-01T00:00:00Z"), ["good", "bad"]),
            (("CreationTime", "LessThan", "1600000000"), []),
            (("CreationTime", "GreaterThanOrEqualTo", "1600000000"), ["good", "bad"]),
            (("CreationTime", "LessThanOrEqualTo", "1600000000"), []),
            (("ResourceConfig.InstanceType.x", "Equals", "y"), []),
        ],
    )
    def test_one_filter(self, bench, one, names):
        assert self.found(bench, one) == names

    def test_filters_and_parts_together(self, bench):
        assert self.found(bench) == ["good", "bad"]
        failed, good = ("TrainingJobStatus", "Equals", "Failed"), ("TrainingJobName", "Equals", "good")
        assert self.found(bench, failed, good) == []
        assert self.found(bench, failed, good, Operator="Or") == ["good", "bad"]
        part = {"Filters": [{"Name": "TrainingJobName", "Operator": "Equals", "Value": "bad"}]}
        assert self.found(bench, failed, SubExpressions=[part]) == ["bad"]

    def test_what_cannot_be_read_is_refused(self, bench):
        with pytest.raises(ApiError, match="Invalid filter value"):
            self.found(bench, ("CreationTime", "GreaterThan", "yesterday"))
        nested = {"NestedPropertyName": "InputDataConfig", "Filters": [{"Name": "a", "Value": "b"}]}
        with pytest.raises(ApiError, match="NestedFilters"):
            self.found(bench, NestedFilters=[nested])

    def test_results_come_in_pages_with_their_tags(self, bench):
        first = bench.call("Search", {"Resource": "TrainingJob", "MaxResults": 1})
        assert first["Results"][0]["TrainingJob"]["Tags"]
        rest = bench.call("Search", {"Resource": "TrainingJob", "NextToken": first["NextToken"]})
        assert len(rest["Results"]) == 1


class TestServiceQuotas:
    def test_a_quota_by_its_name_and_by_its_code(self):
        name = f"{G5} for training job usage"
        bench = Bench(quotas={name: 3})
        quotas, token = [], {}
        while token is not None:
            page = bench.call("ListServiceQuotas", {"ServiceCode": "sagemaker", **token})
            quotas += page["Quotas"]
            token = {"NextToken": page["NextToken"]} if "NextToken" in page else None
        (quota,) = [q for q in quotas if q["QuotaName"] == name]
        assert quota["Value"] == 3
        request = {"ServiceCode": "sagemaker", "QuotaCode": quota["QuotaCode"]}
        assert bench.call("GetServiceQuota", request) == {"Quota": quota}
        assert bench.call("ListServiceQuotas", request) == {"Quotas": [quota]}
        assert len({q["QuotaCode"] for q in quotas}) == len(quotas)

    def test_an_unknown_code(self):
        with pytest.raises(ApiError, match="NoSuchResourceException"):
            Bench().call("GetServiceQuota", {"ServiceCode": "sagemaker", "QuotaCode": "L-0"})


class TestEvents:
    def sent(self, **settings) -> list[tuple[float, str]]:
        from airflow_sm_prefer.clock import FakeClock
        from airflow_sm_prefer.sandbox import Sandbox, ScriptedRunner

        clock, events = FakeClock(), []
        sandbox = Sandbox(
            {"settings": settings},
            clock=clock,
            runner=ScriptedRunner(),
            emit=lambda _account, _region, event: events.append((clock.time(), event["Detail"])),
        )
        sandbox.call("CreateTrainingJob", {**_training()})
        begin = clock.time()
        sandbox.advance(30)
        return [(at - begin, detail) for at, detail in events]

    def test_each_change_is_sent_once_or_twice_or_never(self):
        once = [detail for _, detail in self.sent(double_events_every=0)]
        assert len(once) == len(set(once)) == 4
        assert len(self.sent(double_events_every=1)) == 8
        assert len(self.sent(double_events_every=0, lose_events_every=4)) == 3

    def test_an_event_may_be_late(self):
        late = self.sent(double_events_every=0, event_delay_seconds=7)
        assert [round(at) for at, _ in late] == [7, 7, 7, 17]


def _training():
    from tests.unit.sandbox.builders import training

    return training()
