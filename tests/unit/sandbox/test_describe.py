"""What Describe shows besides the request."""

from typing import Any

import pytest

from tests.unit.sandbox.builders import CPU, G5, Bench, prefer, single


def sample(bench: Bench, **more: Any) -> dict[str, Any]:
    bench.train(resources=single(G5), **more)
    return bench.training()


def test_what_a_request_leaves_out_is_filled_in():
    shown = sample(Bench())
    assert "InputDataConfig" not in shown
    assert shown["OutputDataConfig"] == {
        "S3OutputPath": "s3://bucket/models",
        "KmsKeyId": "",
        "CompressionType": "GZIP",
    }
    assert shown["AlgorithmSpecification"]["EnableSageMakerMetricsTimeSeries"] is False
    assert shown["ProfilingStatus"] == "Disabled"
    for member in (
        "EnableNetworkIsolation",
        "EnableInterContainerTrafficEncryption",
        "EnableManagedSpotTraining",
    ):
        assert shown[member] is False


def test_what_a_request_says_is_shown_as_it_is():
    given = {
        "EnableNetworkIsolation": True,
        "Environment": {"A": "1"},
        "RetryStrategy": {"MaximumRetryAttempts": 3},
        "ExperimentConfig": {"ExperimentName": "e"},
        "DebugHookConfig": {"S3OutputPath": "s3://bucket/d"},
        "TensorBoardOutputConfig": {"S3OutputPath": "s3://bucket/t"},
        "VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]},
        "CheckpointConfig": {"S3Uri": "s3://bucket/c"},
        "RemoteDebugConfig": {"EnableRemoteDebug": True},
        "InfraCheckConfig": {"EnableInfraCheck": True},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/o", "KmsKeyId": "k", "CompressionType": "NONE"},
        "StoppingCondition": {"MaxRuntimeInSeconds": 5},
    }
    shown = sample(Bench(), **given)
    assert given.items() <= shown.items()


@pytest.mark.parametrize(
    ("config", "status"),
    [({}, "Enabled"), ({"DisableProfiler": False}, "Enabled"), ({"DisableProfiler": True}, "Disabled")],
)
def test_a_profiler_is_on_unless_it_is_switched_off(config, status):
    assert sample(Bench(), ProfilerConfig=config)["ProfilingStatus"] == status


def test_metrics_by_definition_are_kept_as_time_series():
    algorithm = {
        "TrainingImage": "image",
        "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*)"}],
    }
    shown = sample(Bench(), AlgorithmSpecification=algorithm)
    assert shown["AlgorithmSpecification"] == {**algorithm, "EnableSageMakerMetricsTimeSeries": True}


def test_a_channel_says_that_it_is_neither_compressed_nor_wrapped():
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/in"}}
    shown = sample(Bench(), InputDataConfig=[{"ChannelName": "train", "DataSource": source}])
    assert shown["InputDataConfig"] == [
        {"ChannelName": "train", "DataSource": source, "CompressionType": "None", "RecordWrapperType": "None"}
    ]


def test_no_key_is_null_in_any_phase():
    bench = Bench(seconds=10, capacity={G5: [0, {"after": 5, "count": 1}]})
    bench.train(resources=prefer(G5))
    for _ in range(4):
        assert None not in bench.training().values()
        bench.advance(4)
    assert bench.state() == ("Completed", "Completed")


class TestPhasesOfAList:
    """Facts of train-instance-preferences: the list as it was sent, and what was selected once it is."""

    WANTED = prefer((G5, 2), CPU)

    def test_without_capacity_nothing_is_selected_and_nothing_has_started(self):
        bench = Bench(capacity={G5: 0, CPU: 0})
        bench.train(resources=self.WANTED)
        shown = bench.training()
        assert shown["ResourceConfig"] == self.WANTED
        assert not {"TrainingStartTime", "TrainingEndTime", "BillableTimeInSeconds"} & shown.keys()

    def test_with_capacity_the_selected_type_comes_beside_the_list_and_stays(self):
        bench = Bench(seconds=10)
        bench.train(resources=self.WANTED)
        for _ in range(2):
            bench.advance(6)
            shown = bench.training()
            selected = {"SelectedInstanceType": G5, "SelectedInstanceCount": 2}
            assert shown["ResourceConfig"] == {**self.WANTED, **selected}
        assert shown["TrainingTimeInSeconds"] == shown["BillableTimeInSeconds"] == 10

    def test_a_failure_has_its_reason_and_no_artifacts(self):
        bench = Bench(capacity={CPU: 0})
        bench.train(resources=prefer(CPU))
        shown = bench.training()
        assert shown["FailureReason"].startswith("CapacityError: ")
        assert "ModelArtifacts" not in shown
        assert [t["Status"] for t in shown["SecondaryStatusTransitions"]] == ["Starting", "Failed"]

    def test_a_processing_job_shows_the_same(self):
        bench = Bench()
        bench.process(cluster=prefer((CPU, 3)))
        bench.advance(1)
        cluster = bench.processing()["ProcessingResources"]["ClusterConfig"]
        assert cluster == {**prefer((CPU, 3)), "SelectedInstanceType": CPU, "SelectedInstanceCount": 3}


def test_a_processing_job_has_one_instance_unless_it_says_otherwise():
    bench = Bench()
    bench.process(cluster={"InstanceType": CPU, "VolumeSizeInGB": 1})
    bench.advance(1)
    cluster = bench.processing()["ProcessingResources"]["ClusterConfig"]
    assert cluster == {"InstanceType": CPU, "VolumeSizeInGB": 1, "InstanceCount": 1}


def test_a_processing_jobs_inputs_and_outputs_are_not_its_applications():
    put = {"S3Uri": "s3://bucket/o", "LocalPath": "/opt/ml/processing/o", "S3UploadMode": "EndOfJob"}
    got = {"S3Uri": "s3://bucket/i", "LocalPath": "/opt/ml/processing/i", "S3DataType": "S3Prefix"}
    bench = Bench()
    bench.process(
        ProcessingInputs=[{"InputName": "i", "S3Input": got}],
        ProcessingOutputConfig={"Outputs": [{"OutputName": "o", "S3Output": put}]},
    )
    shown = bench.processing()
    assert shown["ProcessingInputs"] == [{"InputName": "i", "S3Input": got, "AppManaged": False}]
    assert shown["ProcessingOutputConfig"]["Outputs"] == [{"OutputName": "o", "S3Output": put, "AppManaged": False}]
    assert shown["StoppingCondition"] == {"MaxRuntimeInSeconds": 86_400}
