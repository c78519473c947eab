"""Service quotas: what is counted against which, when it is refused, and when it is free again."""

import pytest

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, G5, P4D, P5, PLAN, Bench, prefer, processing, single, training

SPOT = {"EnableManagedSpotTraining": True, "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60}}
PLANS = [{"name": "december", "type": P5, "count": 2}]


def refusal(bench: Bench, operation: str, request: dict) -> str:
    with pytest.raises(ApiError) as caught:
        bench.call(operation, request)
    assert (caught.value.code, caught.value.status) == ("ResourceLimitExceeded", 400)
    return str(caught.value)


def test_a_quota_of_zero_refuses_every_job():
    bench = Bench(quotas={f"{G5} for training job usage": 0})
    assert (
        f"The account-level service limit '{G5} for training job usage' is 0 Instances, with current utilization of "
        "0 Instances and a request delta of 1 Instances. Please contact AWS support to request an increase for this "
        "limit."
    ) in refusal(bench, "CreateTrainingJob", training())
    assert bench.call("ListTrainingJobs")["TrainingJobSummaries"] == []


def test_a_busy_quota_refuses_a_job_and_says_what_is_used():
    bench = Bench(quotas={f"{G5} for training job usage": 3})
    bench.train("a", prefer((G5, 2)))
    text = refusal(bench, "CreateTrainingJob", training("b", prefer((G5, 2))))
    assert "is 3 Instances, with current utilization of 2 Instances and a request delta of 2 Instances" in text


def test_every_entry_is_checked_at_its_own_count_whatever_has_capacity():
    bench = Bench(quotas={f"{P4D} for training job usage": 3})
    text = refusal(bench, "CreateTrainingJob", training(resources=prefer((G5, 1), (P4D, 4))))
    assert f"'{P4D} for training job usage' is 3 Instances" in text
    bench.train(resources=prefer((G5, 1), (P4D, 3)))


def test_an_ended_job_leaves_its_quota():
    bench = Bench(seconds=10, quotas={f"{G5} for training job usage": 1})
    bench.train("a")
    bench.advance(11)
    bench.train("b")
    bench.call("StopTrainingJob", {"TrainingJobName": "b"})
    bench.advance(1)
    bench.train("c")


def test_a_failed_job_leaves_its_quota():
    bench = Bench(capacity={CPU: 0}, quotas={f"{CPU} for training job usage": 1})
    bench.train("a", prefer(CPU))
    bench.advance(1)
    assert bench.state("a") == ("Failed", "Failed")
    bench.train("b", prefer(CPU))


def test_a_waiting_job_counts_with_each_of_its_types_and_a_running_one_with_its_own():
    quotas = {f"{P5} for training job usage": 1, f"{G5} for training job usage": 1}
    bench = Bench(capacity={P5: 0, G5: [0, {"after": 60, "count": 5}]}, quotas=quotas)
    bench.train("a", prefer(P5, G5))
    for instance_type in (P5, G5):
        refusal(bench, "CreateTrainingJob", training("b", prefer(instance_type)))
    bench.advance(61)
    assert bench.state("a") == ("InProgress", "Training")
    refusal(bench, "CreateTrainingJob", training("b", prefer(G5)))
    bench.train("b", prefer(P5))


def test_the_account_total_counts_all_types_together():
    bench = Bench(quotas={"Number of instances across all training jobs": 4})
    bench.train("a", prefer((G5, 2)))
    bench.train("b", prefer(CPU))
    text = refusal(bench, "CreateTrainingJob", training("c", prefer((P5, 2))))
    assert "'Number of instances across all training jobs' is 4 Instances, with current utilization of 3" in text
    bench.train("c", prefer((P5, 1)))
    bench.process()


def test_a_list_counts_against_the_account_total_with_its_largest_entry():
    bench = Bench(quotas={"Number of instances across all training jobs": 4})
    assert "delta of 8 Instances" in refusal(bench, "CreateTrainingJob", training(resources=prefer((P5, 1), (G5, 8))))


def test_processing_jobs_have_quotas_of_their_own():
    quotas = {"Number of instances across all processing jobs": 2, f"{CPU} for processing job usage": 1}
    bench = Bench(quotas=quotas)
    bench.process("a")
    assert f"'{CPU} for processing job usage' is 1" in refusal(bench, "CreateProcessingJob", processing("b"))
    text = refusal(bench, "CreateProcessingJob", processing("b", prefer(("ml.m5.large", 2))))
    assert "'Number of instances across all processing jobs' is 2 Instances, with current utilization of 1" in text
    bench.process("b", prefer("ml.m5.large"))
    bench.train(resources=prefer((CPU, 8)))


def test_spot_has_quotas_of_its_own():
    quotas = {
        f"{G5} for spot training job usage": 1,
        f"{G5} for training job usage": 0,
        "Number of instances across all training jobs": 0,
        "Number of instances across all spot training jobs": 2,
    }
    bench = Bench(quotas=quotas)
    bench.train("a", single(G5), **SPOT)
    text = refusal(bench, "CreateTrainingJob", training("b", single(G5), **SPOT))
    assert f"'{G5} for spot training job usage' is 1" in text
    text = refusal(bench, "CreateTrainingJob", training("b", single(CPU, 2), **SPOT))
    assert "'Number of instances across all spot training jobs' is 2 Instances, with current utilization of 1" in text
    refusal(bench, "CreateTrainingJob", training("b", single(CPU)))


def test_a_job_on_a_plan_counts_against_the_quota_of_its_type():
    bench = Bench(quotas={f"{P5} for training job usage": 1}, plans=PLANS)
    bench.train("a", single(P5, TrainingPlanArn=PLAN))
    assert bench.state("a") == ("InProgress", "Training")
    refusal(bench, "CreateTrainingJob", training("b", single(P5, TrainingPlanArn=PLAN)))


def test_a_plan_cannot_be_bought_above_the_quota_of_its_type():
    bench = Bench(quotas={f"{P5} for training job usage": 1})
    asked = {"InstanceType": P5, "InstanceCount": 2, "DurationHours": 24, "TargetResources": ["training-job"]}
    (offer,) = bench.call("SearchTrainingPlanOfferings", asked)["TrainingPlanOfferings"]
    purchase = {"TrainingPlanName": "december", "TrainingPlanOfferingId": offer["TrainingPlanOfferingId"]}
    assert f"'{P5} for training job usage' is 1" in refusal(bench, "CreateTrainingPlan", purchase)


@pytest.mark.parametrize("caller", [Caller("123456789012", "eu-west-1"), Caller("210987654321", "us-east-1")])
def test_every_account_and_region_has_its_own_utilization(caller):
    bench = Bench(quotas={f"{G5} for training job usage": 1})
    bench.train()
    bench.call("CreateTrainingJob", training(), caller)


def test_a_refused_request_uses_neither_its_name_nor_a_quota():
    bench = Bench(quotas={f"{G5} for training job usage": 1, f"{P5} for training job usage": 0})
    refusal(bench, "CreateTrainingJob", training(resources=prefer(G5, P5)))
    bench.train(resources=prefer(G5))


def test_an_interrupted_or_restarted_job_goes_on_counting_once():
    bench = Bench(seconds=100, quotas={f"{G5} for training job usage": 2}, job_faults=[{"job": "a", "after": 10}])
    bench.train("a", RetryStrategy={"MaximumRetryAttempts": 1})
    bench.advance(20)
    assert len(bench.runner.started) == 2
    bench.train("b")
    refusal(bench, "CreateTrainingJob", training("c"))
    bench.advance(200)
    bench.train("c", prefer((G5, 2)))
