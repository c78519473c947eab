"""A processing job with the SageMaker Python SDK, as a user writes it; nothing in here knows of the sandbox."""

import json
import pathlib
import sys

import boto3
from sagemaker.core.helper.session_helper import Session
from sagemaker.core.processing import ScriptProcessor
from sagemaker.core.shapes import ProcessingInput, ProcessingOutput, ProcessingS3Input, ProcessingS3Output

here = pathlib.Path(sys.argv[1])
(here / "prepare.py").write_text(
    """
import os, pathlib, sys
print("seen:", sys.argv[1:], os.listdir("/opt/ml/processing/input/raw"))
pathlib.Path("/opt/ml/processing/output/rows").write_text("1")
"""
)

trust = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
role = boto3.client("iam").create_role(
    RoleName="processing", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
)["Role"]["Arn"]
session = Session()
bucket = session.default_bucket()
s3 = boto3.client("s3")
s3.put_object(Bucket=bucket, Key="raw/rows.csv", Body=b"1,2")

processor = ScriptProcessor(
    role=role,
    image_uri="123456789012.dkr.ecr.us-east-1.amazonaws.com/processor:1",
    command=["python3"],
    instance_preferences=[{"InstanceType": "ml.m5.xlarge"}, {"InstanceType": "ml.c5.xlarge"}],
    instance_count=1,
    base_job_name="prepare",
    sagemaker_session=session,
)
processor.run(
    code=str(here / "prepare.py"),
    inputs=[
        ProcessingInput(
            input_name="raw",
            s3_input=ProcessingS3Input(
                s3_uri=f"s3://{bucket}/raw",
                local_path="/opt/ml/processing/input/raw",
                s3_data_type="S3Prefix",
                s3_input_mode="File",
            ),
        )
    ],
    outputs=[
        ProcessingOutput(
            output_name="rows",
            s3_output=ProcessingS3Output(
                s3_uri=f"s3://{bucket}/prepared", local_path="/opt/ml/processing/output", s3_upload_mode="EndOfJob"
            ),
        )
    ],
    arguments=["--split", "0.2"],
    wait=True,
    logs=True,
)
job = boto3.client("sagemaker").describe_processing_job(ProcessingJobName=processor.latest_job.processing_job_name)
result = {
    "status": job["ProcessingJobStatus"],
    "selected": job["ProcessingResources"]["ClusterConfig"]["SelectedInstanceType"],
    "rows": s3.get_object(Bucket=bucket, Key="prepared/rows")["Body"].read().decode(),
}
sys.stdout.write(json.dumps(result) + "\n")
