"""Plans, their offerings, updates, deletion, search and quotas."""

import pytest

from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.operations.service_quotas import quota_code
from tests.unit.sandbox.builders import G5, P5, PLAN, Bench, single

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
        for more in ({"DurationHours": 183 * 24}, {"StartTimeAfter": bench.clock.time() + 57 * 24 * HOUR}):
            assert bench.call("SearchTrainingPlanOfferings", request | more) == {"TrainingPlanOfferings": []}
        with pytest.raises(ApiError, match="not found"):
            bench.call("CreateTrainingPlan", {"TrainingPlanName": "a", "TrainingPlanOfferingId": "none"})

    def test_plans_of_several_statuses(self, bench):
        wanted = [{"Name": "Status", "Value": value} for value in ("Scheduled", "Active")]
        assert self.names(bench, Filters=wanted) == ["late", "early"]
        assert self.names(bench, Filters=[{"Name": "Status", "Value": "Failed"}]) == []

    def test_a_plan_is_named_by_its_arn_too(self, bench):
        arn = PLAN.replace("december", "late")
        assert bench.call("DescribeTrainingPlan", {"TrainingPlanName": arn})["TrainingPlanName"] == "late"

    def test_without_a_type_every_type_is_offered_and_by_whole_days(self):
        offers = Bench().call("SearchTrainingPlanOfferings", {"DurationHours": 25})["TrainingPlanOfferings"]
        types = [offer["ReservedCapacityOfferings"][0]["InstanceType"] for offer in offers]
        assert {P5, "ml.trn2.48xlarge"} <= set(types)
        assert len(types) == len(set(types))
        assert {offer["DurationHours"] for offer in offers} == {48}

    def test_extensions_are_not_offered(self):
        offers = Bench().call("SearchTrainingPlanOfferings", {"TrainingPlanArn": PLAN})
        assert offers == {"TrainingPlanOfferings": [], "TrainingPlanExtensionOfferings": []}

    def test_an_offer_repeats_what_was_asked(self):
        bench = Bench()
        request = {"InstanceType": P5, "StartTimeAfter": bench.clock.time() + HOUR, "EndTimeBefore": 4e9}
        (offer,) = bench.call("SearchTrainingPlanOfferings", request)["TrainingPlanOfferings"]
        assert (offer["RequestedStartTimeAfter"], offer["RequestedEndTimeBefore"]) == (bench.clock.time() + HOUR, 4e9)
        assert offer["ReservedCapacityOfferings"][0]["StartTime"] == bench.clock.time() + HOUR

    def test_a_plan_needs_the_quota_of_its_instances(self):
        bench = Bench(quotas={f"{P5} for training job usage": 1})
        request = {"InstanceType": P5, "InstanceCount": 2}
        (offer,) = bench.call("SearchTrainingPlanOfferings", request)["TrainingPlanOfferings"]
        bought = {"TrainingPlanName": "december", "TrainingPlanOfferingId": offer["TrainingPlanOfferingId"]}
        with pytest.raises(ApiError, match=r"ResourceLimitExceeded: .*request delta of 2 Instances"):
            bench.call("CreateTrainingPlan", bought)


RULE = {"RuleConfigurationName": "r", "RuleEvaluatorImage": "i"}


class TestUpdateAndDelete:
    def test_a_live_job_can_be_updated_and_not_deleted(self):
        bench = Bench()
        bench.train()
        bench.advance(1)
        change = {"RemoteDebugConfig": {"EnableRemoteDebug": True}}
        bench.call("UpdateTrainingJob", {"TrainingJobName": "job", **change})
        assert bench.training()["RemoteDebugConfig"] == {"EnableRemoteDebug": True}
        with pytest.raises(ApiError, match="ResourceInUse"):
            bench.call("DeleteTrainingJob", {"TrainingJobName": "job"})

    def test_an_update_changes_what_it_names_and_nothing_else(self):
        bench = Bench()
        profiler = {"S3OutputPath": "s3://bucket/p", "ProfilingIntervalInMilliseconds": 500}
        bench.train(ProfilerConfig=profiler, ProfilerRuleConfigurations=[RULE])
        for change in ({"DisableProfiler": True}, {"ProfilingIntervalInMilliseconds": 1000}):
            bench.call("UpdateTrainingJob", {"TrainingJobName": "job", "ProfilerConfig": change})
        bench.call("UpdateTrainingJob", {"TrainingJobName": "job", "ProfilerRuleConfigurations": []})
        shown = bench.training()
        assert shown["ProfilerConfig"] == {
            **profiler,
            "ProfilingIntervalInMilliseconds": 1000,
            "DisableProfiler": True,
        }
        assert shown["ProfilingStatus"] == "Disabled"
        assert shown["ProfilerRuleConfigurations"] == []

    def test_remote_debugging_needs_a_container(self):
        bench = Bench(capacity={G5: [0, {"after": 5, "count": 1}]})
        bench.train()
        change = {"TrainingJobName": "job", "RemoteDebugConfig": {"EnableRemoteDebug": True}}
        with pytest.raises(ApiError, match="Downloading or Training only; the training job is in Pending"):
            bench.call("UpdateTrainingJob", change)
        bench.advance(6)
        bench.call("UpdateTrainingJob", change)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"ProfilerConfig": {"ProfilingIntervalInMilliseconds": 300}}, "must be one of [100, 200"),
            ({"ProfilerRuleConfigurations": [RULE, RULE]}, "duplicate rule configuration names: ['r']"),
            ({"ResourceConfig": {}}, "Value null at 'resourceConfig.keepAlivePeriodInSeconds'"),
            ({"ResourceConfig": {"KeepAlivePeriodInSeconds": 21_601}}, "less than or equal to 21600"),
        ],
    )
    def test_a_bad_update_is_refused(self, change, words):
        bench = Bench()
        bench.train()
        with pytest.raises(ApiError) as caught:
            bench.call("UpdateTrainingJob", {"TrainingJobName": "job", **change})
        assert words in caught.value.message

    def test_a_processing_job_is_deleted_alike(self):
        bench = Bench(seconds=1)
        bench.process()
        name = {"ProcessingJobName": "job"}
        with pytest.raises(ApiError, match=r"ResourceInUse: The processing job .* is in status InProgress"):
            bench.call("DeleteProcessingJob", name)
        bench.advance(2)
        bench.call("DeleteProcessingJob", name)
        for operation in ("DescribeProcessingJob", "DeleteProcessingJob"):
            with pytest.raises(ApiError, match=r"Requested resource not found\."):
                bench.call(operation, name)
        bench.process()

    def test_an_ended_job_can_be_deleted_and_not_updated_and_its_name_is_free_again(self):
        bench = Bench(seconds=1)
        bench.train()
        bench.advance(2)
        with pytest.raises(ApiError, match="in status Completed"):
            bench.call("UpdateTrainingJob", {"TrainingJobName": "job"})
        bench.call("DeleteTrainingJob", {"TrainingJobName": "job"})
        with pytest.raises(ApiError, match="not found"):
            bench.training()
        bench.train()
        assert bench.state()[0] == "InProgress"


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

    @pytest.mark.parametrize("operation", ["GetServiceQuota", "GetAWSDefaultServiceQuota", "ListServiceQuotas"])
    def test_an_unknown_code(self, operation):
        with pytest.raises(ApiError, match=r"NoSuchResourceException: .*specified quota does not exist"):
            Bench().call(operation, {"ServiceCode": "sagemaker", "QuotaCode": "L-0"})

    def test_what_was_raised_and_what_it_was_before(self):
        name = "Longest run time for a training job"
        request = {"ServiceCode": "sagemaker", "QuotaCode": quota_code(name)}
        bench = Bench(quotas={name: 864_000})
        assert bench.call("GetServiceQuota", request)["Quota"]["Value"] == 864_000
        assert bench.call("GetAWSDefaultServiceQuota", request)["Quota"]["Value"] == 432_000
        page = bench.call("ListAWSDefaultServiceQuotas", {"ServiceCode": "sagemaker", "MaxResults": 1})
        rest = {"ServiceCode": "sagemaker", "MaxResults": 100, "NextToken": page["NextToken"]}
        assert bench.call("ListAWSDefaultServiceQuotas", rest)["Quotas"]

    def test_none_of_them_is_of_a_single_resource(self):
        request = {"ServiceCode": "sagemaker", "QuotaAppliedAtLevel": "RESOURCE"}
        assert Bench().call("ListServiceQuotas", request) == {"Quotas": []}

    def test_a_foreign_token(self):
        with pytest.raises(ApiError, match="InvalidPaginationTokenException"):
            Bench().call("ListServiceQuotas", {"ServiceCode": "sagemaker", "NextToken": "abc"})


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
