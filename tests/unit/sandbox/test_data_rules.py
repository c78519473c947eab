"""What a job may read and write, by the words of the refusal."""

from typing import Any

import pytest

from airflow_sm_prefer.sandbox import Sandbox
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.shapes import _compiled, service_model
from tests.unit.sandbox.builders import G5, ROLE, Bench, processing, single, training

S3 = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/in"}}
DATASET = {
    "AthenaDatasetDefinition": {
        "Catalog": "c",
        "Database": "d",
        "QueryString": "q",
        "OutputS3Uri": "s3://bucket/q",
        "OutputFormat": "PARQUET",
    }
}


REDSHIFT = {
    "RedshiftDatasetDefinition": {
        "ClusterId": "c",
        "Database": "d",
        "DbUser": "u",
        "QueryString": "q",
        "ClusterRoleArn": ROLE,
        "OutputS3Uri": "s3://bucket/q",
        "OutputFormat": "CSV",
    }
}


def s3_source(**more: Any) -> dict[str, Any]:
    return {"S3DataSource": {**S3["S3DataSource"], **more}}


def channel(name: str = "train", source: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"ChannelName": name, "DataSource": S3 if source is None else source, **more}


def s3_input(name: str = "in", path: str | None = "/opt/ml/processing/in", **more: Any) -> dict[str, Any]:
    where = {} if path is None else {"LocalPath": path}
    return {"InputName": name, "S3Input": {"S3Uri": "s3://bucket/in", "S3DataType": "S3Prefix", **where}, **more}


def s3_output(name: str = "out", path: str | None = "/opt/ml/processing/out", **more: Any) -> dict[str, Any]:
    where = {} if path is None else {"LocalPath": path}
    return {"OutputName": name, "S3Output": {"S3Uri": "s3://bucket/o", "S3UploadMode": "EndOfJob", **where}, **more}


def process(*given: dict[str, Any]) -> dict[str, Any]:
    inputs = [one for one in given if "InputName" in one]
    outputs = [one for one in given if "OutputName" in one]
    return processing(ProcessingInputs=inputs, ProcessingOutputConfig={"Outputs": outputs})


FILE_SYSTEM = {
    "FileSystemDataSource": {
        "FileSystemId": "fs-12345678901",
        "FileSystemAccessMode": "ro",
        "FileSystemType": "EFS",
        "DirectoryPath": "/",
    }
}

REFUSED = {
    "a channel's name twice": (training(InputDataConfig=[channel(), channel()]), "duplicate channel names: ['train']"),
    "a channel without a source": (training(InputDataConfig=[channel(source={})]), "must have exactly one of"),
    "a channel with two sources": (training(InputDataConfig=[channel(source=S3 | FILE_SYSTEM)]), "exactly one of"),
    "a file system outside of a VPC": (training(InputDataConfig=[channel(source=FILE_SYSTEM)]), "requires VpcConfig"),
    "a channel for a group that is not there": (
        training(
            InputDataConfig=[channel(source={"S3DataSource": {**S3["S3DataSource"], "InstanceGroupNames": ["g"]}})]
        ),
        "ResourceConfig has no InstanceGroups",
    ),
    "compression in File mode": (
        training(InputDataConfig=[channel(CompressionType="Gzip")]),
        "CompressionType is supported in Pipe input mode only, not in File",
    ),
    "records in FastFile mode": (
        training(InputDataConfig=[channel(RecordWrapperType="RecordIO", InputMode="FastFile")]),
        "RecordWrapperType is supported in Pipe input mode only, not in FastFile",
    ),
    "21 channels": (
        training(InputDataConfig=[channel(f"c{number}") for number in range(21)]),
        "at 'inputDataConfig' failed to satisfy constraint: Member must have length less than or equal to 20",
    ),
    "101 variables": (
        training(Environment={f"V{number}": "" for number in range(101)}),
        "at 'environment' failed to satisfy constraint: Member must have length less than or equal to 100",
    ),
    "too long a variable": (
        training(Environment={"V": "x" * 5000}),
        "at 'environment.V.member' failed to satisfy constraint: Member must have length less than or equal to",
    ),
    "101 hyperparameters": (
        training(HyperParameters={f"h{number}": "" for number in range(101)}),
        "at 'hyperParameters' failed to satisfy constraint",
    ),
    "51 tags": (
        training(Tags=[{"Key": f"k{number}", "Value": ""} for number in range(51)]),
        "at 'tags' failed to satisfy constraint: Member must have length less than or equal to 50",
    ),
    "an augmented manifest in File mode": (
        training(InputDataConfig=[channel(source=s3_source(S3DataType="AugmentedManifestFile"))]),
        "Channel train: AugmentedManifestFile requires Pipe input mode, not File",
    ),
    "attributes without an augmented manifest": (
        training(InputDataConfig=[channel(source=s3_source(AttributeNames=["a"]))]),
        "has AttributeNames, which AugmentedManifestFile alone has",
    ),
    "a data set from two databases": (
        process({"InputName": "in", "DatasetDefinition": {**DATASET, **REDSHIFT, "LocalPath": "/opt/ml/processing/x"}}),
        "exactly one of AthenaDatasetDefinition and RedshiftDatasetDefinition",
    ),
    "a data set from none": (
        process({"InputName": "in", "DatasetDefinition": {"LocalPath": "/opt/ml/processing/x"}}),
        "exactly one of AthenaDatasetDefinition and RedshiftDatasetDefinition",
    ),
    "a role that is a name": (
        training(RoleArn="SageMakerExecutionRole"),
        "at 'roleArn' failed to satisfy constraint: Member must satisfy regular expression pattern",
    ),
    "an output that is no address": (
        training(OutputDataConfig={"S3OutputPath": "bucket/models"}),
        "at 'outputDataConfig.s3OutputPath' failed to satisfy constraint",
    ),
    "checkpoints that are no address": (
        training(CheckpointConfig={"S3Uri": "/opt/ml/checkpoints"}),
        "at 'checkpointConfig.s3Uri' failed to satisfy constraint",
    ),
    "spot instances kept warm": (
        training(
            resources=single(G5, KeepAlivePeriodInSeconds=60),
            EnableManagedSpotTraining=True,
            StoppingCondition={"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 10},
        ),
        "KeepAlivePeriodInSeconds is not supported when EnableManagedSpotTraining",
    ),
    "an input's name twice": (
        process(s3_input("code"), s3_input("code", "/opt/ml/processing/other")),
        "Input and Output names must be globally unique: [code]",
    ),
    "an input and an output of one name": (process(s3_input("x"), s3_output("x")), "globally unique: [x]"),
    "an input and an output at one path": (
        process(s3_input(path="/opt/ml/processing/x"), s3_output(path="/opt/ml/processing/x/")),
        "local paths must be unique: [/opt/ml/processing/x]",
    ),
    "an input elsewhere": (
        process(s3_input(path="/opt/ml/test")),
        "Input in: LocalPath /opt/ml/test must begin with /opt/ml/processing/",
    ),
    "an output at a sibling's path": (process(s3_output(path="/opt/ml/processing2")), "must begin with"),
    "an input without a path": (process(s3_input(path=None)), "LocalPath is required when AppManaged is False"),
    "an output without a path": (process(s3_output(path=None)), "LocalPath is required when AppManaged is False"),
    "an input without a source": (process({"InputName": "in"}), "exactly one of S3Input and DatasetDefinition"),
    "an input with two sources": (process({**s3_input(), "DatasetDefinition": DATASET}), "exactly one of S3Input"),
    "a data set without a path": (process({"InputName": "in", "DatasetDefinition": DATASET}), "LocalPath is required"),
    "an output to nowhere": (process({"OutputName": "out"}), "must have one of S3Output and FeatureStoreOutput"),
    "a feature store that the job does not fill itself": (
        process({"OutputName": "out", "FeatureStoreOutput": {"FeatureGroupName": "g"}}),
        "FeatureStoreOutput is supported only when AppManaged is True",
    ),
    "compression of an input in File mode": (
        process(
            {
                "InputName": "in",
                "S3Input": {
                    "S3Uri": "s3://b/i",
                    "S3DataType": "S3Prefix",
                    "LocalPath": "/opt/ml/processing/in",
                    "S3InputMode": "File",
                    "S3CompressionType": "Gzip",
                },
            }
        ),
        "S3CompressionType Gzip is supported in Pipe input mode only",
    ),
    "11 inputs": (
        process(*(s3_input(f"i{number}", f"/opt/ml/processing/{number}") for number in range(11))),
        "at 'processingInputs' failed to satisfy constraint: Member must have length less than or equal to 10",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_is_refused(case):
    request, words = REFUSED[case]
    operation = "CreateTrainingJob" if "TrainingJobName" in request else "CreateProcessingJob"
    with pytest.raises(ApiError) as caught:
        Bench().call(operation, request)
    assert caught.value.code == "ValidationException"
    assert words in caught.value.message


def test_every_pattern_of_a_request_can_be_read():
    seen: set[str] = set()

    def walk(shape):
        if shape.name in seen:
            return
        seen.add(shape.name)
        if "pattern" in shape.metadata:
            _compiled(shape.metadata["pattern"])
        members = list(getattr(shape, "members", {}).values())
        for part in ("member", "key", "value"):
            members += [getattr(shape, part)] if hasattr(shape, part) else []
        for member in members:
            walk(member)

    with Sandbox() as sandbox:
        for operation, service in sandbox._services.items():
            walk(service_model(service).operation_model(operation).input_shape)
    assert {"RoleArn", "AthenaCatalog", "TrainingRepositoryCredentialsProviderArn"} <= seen


VPC = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}

ACCEPTED = [
    training(InputDataConfig=[channel(), channel("test", CompressionType="None", RecordWrapperType="None")]),
    training(InputDataConfig=[channel(CompressionType="Gzip", InputMode="Pipe")]),
    training(
        InputDataConfig=[
            channel(source=s3_source(S3DataType="AugmentedManifestFile", AttributeNames=["a"]), InputMode="Pipe")
        ]
    ),
    training(InputDataConfig=[channel(source=FILE_SYSTEM)], VpcConfig=VPC),
    training(Tags=[{"Key": f"k{number}", "Value": ""} for number in range(50)]),
    training(Environment={f"V{number}": "" for number in range(100)}),
    process(s3_input(path="/opt/ml/processing"), s3_output()),
    process(s3_input(path=None, AppManaged=True), s3_output(path=None, AppManaged=True)),
    process({"InputName": "in", "DatasetDefinition": {**DATASET, "LocalPath": "/opt/ml/processing/in"}}),
    process({"OutputName": "out", "FeatureStoreOutput": {"FeatureGroupName": "g"}, "AppManaged": True}),
]


@pytest.mark.parametrize("request_", ACCEPTED)
def test_a_good_request_is_accepted(request_):
    operation = "CreateTrainingJob" if "TrainingJobName" in request_ else "CreateProcessingJob"
    assert Bench().call(operation, request_)
