"""Service quotas, by the words of the refusal."""

from typing import Any

import pytest

from tests.unit.sandbox.builders import CPU, G5, P5, Bench, prefer, processing, single, training
from tests.unit.sandbox.test_rules import SPOT, refusal

ADVICE = (
    "Please use AWS Service Quotas to request an increase for this quota. If AWS Service Quotas is not available, "
    "contact AWS support to request an increase for this quota."
)


def create(kind: str, resources: dict[str, Any] | None = None, **more: Any) -> tuple[str, dict[str, Any]]:
    """An operation and its request."""
    if kind == "training":
        return "CreateTrainingJob", training(resources=resources, **more)
    return "CreateProcessingJob", processing(cluster=resources, **more)


def test_every_entry_is_checked_at_its_own_count():
    bench = Bench(quotas={f"{P5} for training job usage": 1})
    error = refusal(bench, "CreateTrainingJob", training(resources=prefer(G5, (P5, 2))))
    assert (error.code, error.message) == (
        "ResourceLimitExceeded",
        f"The account-level service limit '{P5} for training job usage' is 1 Instances, with current utilization "
        "of 0 Instances and a request delta of 2 Instances. Please contact AWS support to request an increase "
        "for this limit.",
    )


def test_what_is_in_use_counts_until_it_ends():
    bench = Bench(seconds=100, quotas={f"{G5} for training job usage": 1})
    bench.train("first")
    error = refusal(bench, "CreateTrainingJob", training("second"))
    assert "with current utilization of 1 Instances" in error.message
    bench.advance(101)
    bench.train("second")


def test_a_waiting_list_counts_with_every_type_and_a_running_one_with_its_own():
    quotas = {f"{P5} for training job usage": 1, f"{G5} for training job usage": 1}
    bench = Bench(capacity={P5: 0, G5: 0}, quotas=quotas)
    bench.train("list", prefer(P5, G5))
    assert refusal(bench, "CreateTrainingJob", training("other", prefer(P5))).code == "ResourceLimitExceeded"
    bench.sandbox.change(capacity={G5: 1})
    bench.train("other", prefer(P5))


def test_the_accounts_total_counts_all_types():
    bench = Bench(quotas={"Number of instances across all processing jobs": 4})
    bench.process("first", prefer((CPU, 3)))
    error = refusal(bench, "CreateProcessingJob", processing("second", prefer(("ml.m4.xlarge", 2))))
    assert "'Number of instances across all processing jobs' is 4 Instances" in error.message
    assert "utilization of 3 Instances and a request delta of 2" in error.message


def test_spot_has_a_quota_of_its_own():
    limits = {"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 10}
    bench = Bench(quotas={f"{G5} for spot training job usage": 0})
    bench.train("on-demand", single(G5))
    error = refusal(bench, "CreateTrainingJob", training("spot", single(G5), **SPOT, StoppingCondition=limits))
    assert f"'{G5} for spot training job usage' is 0 Instances" in error.message


@pytest.mark.parametrize("kind", ["training", "processing"])
def test_a_volume_over_the_quota_is_refused_for_ebs_types_only(kind):
    error = refusal(Bench(), *create(kind, {**prefer(CPU), "VolumeSizeInGB": 1025}))
    assert (error.code, error.message) == (
        "ResourceLimitExceeded",
        f"The request delta of 1025 GBs for 'Size of EBS volume for a {kind} job instance' is greater than the "
        f"account-level service-limit of 1024 GBs. {ADVICE}",
    )
    Bench(quotas={f"Size of EBS volume for a {kind} job instance": 1025}).call(
        *create(kind, {**prefer(CPU), "VolumeSizeInGB": 1025})
    )


def test_a_volume_of_a_type_with_storage_of_its_own_is_no_ebs_volume():
    Bench().train(resources={**prefer(G5), "VolumeSizeInGB": 1025})


@pytest.mark.parametrize("kind", ["training", "processing"])
def test_a_job_may_run_for_five_days_unless_the_quota_was_raised(kind):
    request = create(kind, StoppingCondition={"MaxRuntimeInSeconds": 432_001})
    name = f"Longest run time for a {kind} job"
    error = refusal(Bench(), *request)
    assert error.code == "ResourceLimitExceeded"
    assert error.message.startswith(f"The request delta of 432001 Seconds for '{name}' is greater than")
    Bench(quotas={name: 500_000}).call(*request)


def test_a_training_job_may_have_twenty_instances_unless_the_quota_was_raised():
    request = create("training", prefer(G5, (P5, 21)))
    name = "Maximum number of instances per training job"
    assert refusal(Bench(), *request).message.startswith(f"The request delta of 21 Instances for '{name}'")
    Bench(quotas={name: 21}).call(*request)


def test_quotas_come_before_capacity():
    bench = Bench(capacity={CPU: 0}, quotas={f"{CPU} for training job usage": 0})
    error = refusal(bench, "CreateTrainingJob", training(resources=prefer(CPU)))
    assert error.code == "ResourceLimitExceeded"


def test_a_type_that_the_region_lacks():
    bench = Bench(missing_types=[P5])
    error = refusal(bench, "CreateTrainingJob", training(resources=prefer(G5, P5)))
    assert (error.code, error.message) == (
        "ResourceLimitExceeded",
        f"The requested resource training-job/{P5} is not available in this region",
    )
