"""A served sandbox that goes on after its process was killed, with what S3 and the rest of AWS had."""

import errno
import json
import random
import subprocess
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection

import pytest
from botocore.exceptions import ClientError

from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.sandbox import SandboxServer
from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.state.journal import Journal
from tests.integration import aws
from tests.integration.test_sandbox_command import SM_PREFER, run
from tests.unit.sandbox.builders import G5, P5, ROLE, prefer, training

TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})


def client(url, service="sagemaker", key="test", **more):
    return aws.client(url, service, key=key, retries={"total_max_attempts": 1}, **more)


def restarted(folder, work, *, then):
    """Do something with a served sandbox, and something else with the next one on its state."""
    with SandboxServer(state=folder) as server:
        work(server.endpoint_url)
        port = int(server.endpoint_url.rpartition(":")[2])
    with SandboxServer(state=folder, port=port) as server:
        then(server.endpoint_url)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


def test_objects_of_s3_come_back_as_they_were(folder):
    seen = {}

    def look(s3):
        keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket="data")["Contents"]]
        found = {key: s3.get_object(Bucket="data", Key=key) for key in keys}
        shown = ("ETag", "ContentType", "Metadata", "LastModified", "ContentEncoding")
        return {k: (o["Body"].read(), {name: o.get(name) for name in shown}) for k, o in found.items()}

    def work(url):
        s3 = client(url, "s3")
        s3.create_bucket(Bucket="data")
        s3.put_object(
            Bucket="data", Key="in/ä b+c.csv", Body=b"1,2", ContentType="text/csv", Metadata={"made": "by-hand"}
        )
        s3.put_object(Bucket="data", Key="gone", Body=b"x")
        s3.put_object(Bucket="data", Key="swept/1", Body=b"x")
        s3.put_object(Bucket="data", Key="swept/2", Body=b"x")
        s3.copy_object(Bucket="data", Key="copied", CopySource={"Bucket": "data", "Key": "in/ä b+c.csv"})
        s3.delete_object(Bucket="data", Key="gone")
        s3.delete_objects(Bucket="data", Delete={"Objects": [{"Key": "swept/1"}, {"Key": "swept/2"}]})
        s3.put_object_tagging(Bucket="data", Key="copied", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
        upload = s3.create_multipart_upload(Bucket="data", Key="big")["UploadId"]
        part = {"Bucket": "data", "Key": "big", "UploadId": upload}
        tag = s3.upload_part(**part, PartNumber=1, Body=b"y" * 100)["ETag"]
        s3.complete_multipart_upload(**part, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]})
        seen["first"] = look(s3)
        assert seen["first"].keys() == {"in/ä b+c.csv", "copied", "big"}

    def then(url):
        s3 = client(url, "s3")
        assert look(s3) == seen["first"]
        assert s3.get_object_tagging(Bucket="data", Key="copied")["TagSet"] == [{"Key": "k", "Value": "v"}]
        for key in seen["first"]:
            s3.delete_object(Bucket="data", Key=key)
        s3.delete_bucket(Bucket="data")

    restarted(folder, work, then=then)
    with SandboxServer(state=folder) as server:
        assert client(server.endpoint_url, "s3").list_buckets()["Buckets"] == []
    assert list((folder / "blobs").iterdir()) == []


def test_objects_written_by_a_bucket_in_the_host_come_back(folder):
    def work(url):
        client(url, "s3").create_bucket(Bucket="data")
        port = int(url.rpartition(":")[2])
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        scope = "test/20260101/us-east-1/s3/aws4_request"
        signed = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
        connection.request("PUT", "/a/b", b"1", {"Host": f"data.localhost:{port}", "Authorization": signed})
        assert connection.getresponse().status == 200
        connection.close()

    def then(url):
        assert client(url, "s3").get_object(Bucket="data", Key="a/b")["Body"].read() == b"1"

    restarted(folder, work, then=then)


def test_roles_queues_and_rules_come_back_and_messages_do_not(folder):
    def work(url):
        client(url, "iam").create_role(RoleName="job", AssumeRolePolicyDocument=TRUST)
        sqs, events = client(url, "sqs"), client(url, "events")
        queue = sqs.create_queue(QueueName="news", Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
        sqs.send_message(QueueUrl=queue, MessageBody="old")
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        events.put_rule(Name="jobs", EventPattern=json.dumps({"source": ["aws.sagemaker"]}))
        events.put_targets(Rule="jobs", Targets=[{"Id": "1", "Arn": arn}])
        client(url, "sqs").create_queue(QueueName="gone")
        sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="gone")["QueueUrl"])

    def then(url):
        assert client(url, "iam").get_role(RoleName="job")["Role"]["Arn"] == ROLE
        sqs = client(url, "sqs")
        queue = sqs.get_queue_url(QueueName="news")["QueueUrl"]
        assert len(sqs.list_queues()["QueueUrls"]) == 1
        attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
        assert (attributes["VisibilityTimeout"], attributes["ApproximateNumberOfMessages"]) == ("7", "0")
        client(url).create_training_job(**training())
        deadline = time.monotonic() + 20
        while not (got := sqs.receive_message(QueueUrl=queue).get("Messages")):
            assert time.monotonic() < deadline
        assert "Training Job State Change" in got[0]["Body"]

    restarted(folder, work, then=then)


@pytest.mark.parametrize("assumed", [False, True])
def test_what_another_account_had_comes_back_to_it(folder, assumed):
    """However it was asked for: the keys of an assumed role are gone with the process that gave them."""
    number = "111122223333"

    def other(url, service):
        if not assumed:
            return client(url, service, key=number)
        role = {"RoleArn": f"arn:aws:iam::{number}:role/any", "RoleSessionName": "other"}
        return client(url, service, key=client(url, "sts").assume_role(**role)["Credentials"]["AccessKeyId"])

    def work(url):
        other(url, "iam").create_role(RoleName="job", AssumeRolePolicyDocument=TRUST)
        s3 = other(url, "s3")
        s3.create_bucket(Bucket="theirs")
        s3.put_object(Bucket="theirs", Key="a", Body=b"x")

    def then(url):
        assert client(url, "iam").list_roles()["Roles"] == []
        assert client(url, "s3").list_buckets()["Buckets"] == []
        theirs = client(url, "iam", key=number)
        assert [role["Arn"] for role in theirs.list_roles()["Roles"]] == [f"arn:aws:iam::{number}:role/job"]
        assert client(url, "s3", key=number).get_object(Bucket="theirs", Key="a")["Body"].read() == b"x"

    restarted(folder, work, then=then)


def test_logs_come_back_in_order(folder):
    where = {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": "job/algo-1"}
    lines = [{"timestamp": int(time.time() * 1000) + n, "message": f"line {n}"} for n in range(3)]

    def work(url):
        logs = client(url, "logs")
        logs.create_log_group(logGroupName=where["logGroupName"])
        logs.create_log_stream(**where)
        logs.create_log_stream(**{**where, "logStreamName": "gone"})
        logs.put_log_events(**where, logEvents=lines)
        logs.delete_log_stream(**{**where, "logStreamName": "gone"})

    def then(url):
        logs = client(url, "logs")
        events = logs.get_log_events(**where, startFromHead=True)["events"]
        assert [(e["timestamp"], e["message"]) for e in events] == [(e["timestamp"], e["message"]) for e in lines]
        assert len(logs.describe_log_streams(logGroupName=where["logGroupName"])["logStreams"]) == 1

    restarted(folder, work, then=then)


def test_what_a_full_disk_could_not_take_is_told_to_nobody_before_it_is_kept(folder, monkeypatch):
    """Moto has it all the same: once there is room, it is kept before anything else is answered."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def work(url):
        s3, iam = client(url, "s3"), client(url, "iam")
        s3.create_bucket(Bucket="data")
        s3.put_object(Bucket="data", Key="k", Body=b"old")
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", full)
            for call in (
                lambda: iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST),
                lambda: s3.put_object(Bucket="data", Key="k", Body=b"new"),
                lambda: s3.get_object(Bucket="data", Key="k"),
                lambda: iam.get_role(RoleName="r"),
            ):
                with pytest.raises(ClientError, match=r"InternalFailure.*can't write its state to .*: No space left"):
                    call()
        with pytest.raises(iam.exceptions.EntityAlreadyExistsException):
            iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", full)
            with pytest.raises(ClientError, match="InternalFailure"):
                s3.put_object(Bucket="data", Key="other", Body=b"new")
        assert s3.get_object(Bucket="data", Key="other")["Body"].read() == b"new"

    def then(url):
        assert client(url, "iam").get_role(RoleName="r")["Role"]["RoleName"] == "r"
        assert client(url, "s3").get_object(Bucket="data", Key="k")["Body"].read() == b"old"
        assert client(url, "s3").get_object(Bucket="data", Key="other")["Body"].read() == b"new"

    restarted(folder, work, then=then)


def test_a_damaged_object_is_told_and_the_port_is_free_again(folder):
    with SandboxServer(state=folder) as server:
        s3 = client(server.endpoint_url, "s3")
        s3.create_bucket(Bucket="data")
        s3.put_object(Bucket="data", Key="a", Body=b"abc")
    (blob,) = (folder / "blobs").iterdir()
    blob.write_bytes(b"abd")
    with pytest.raises(StateUnreadable, match="has changed: it is the content of s3://data/a"):
        SandboxServer(state=folder).start()
    blob.write_bytes(b"abc")
    SandboxServer(state=folder).start().stop()


class Served:
    """``sm-prefer sandbox --state``, as a process that is killed and started again on the same port."""

    def __init__(self, folder, *arguments):
        self.arguments = ["--state", str(folder), *arguments]
        self.port = 0
        self.start()

    def start(self):
        command = [*SM_PREFER, "sandbox", "--port", str(self.port), *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert "ready" in line
        self.url = line.split()[-1]
        self.port = int(self.url.rpartition(":")[2])

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class Customers:
    """Threads that create jobs and write objects as fast as they are answered, and remember what they were told."""

    def __init__(self, url, round_number):
        self.told_jobs, self.told_objects = [], []
        self._url, self._round = url, round_number
        self._threads = [threading.Thread(target=work) for work in (self._create_jobs, self._write_objects)]
        for thread in self._threads:
            thread.start()

    def wait_until_served(self):
        deadline = time.monotonic() + 60
        while not (self.told_jobs and self.told_objects):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def join(self):
        for thread in self._threads:
            thread.join()

    def _create_jobs(self):
        sagemaker = client(self._url)
        with suppress(Exception):
            for number in range(1000):
                name = f"job-{self._round}-{number}"
                sagemaker.create_training_job(**run_of(name, prefer(P5 if number % 3 == 0 else G5)))
                self.told_jobs.append(name)

    def _write_objects(self):
        s3 = client(self._url, "s3")
        with suppress(Exception):
            for number in range(1000):
                key = f"{self._round}/{number}"
                s3.put_object(Bucket="data", Key=key, Body=key.encode())
                self.told_objects.append(key)


def run_of(name, resources):
    script = "import time; time.sleep(0.2)"
    request = training(name, resources, Tags=[{"Key": "task", "Value": name}])
    request["OutputDataConfig"] = {"S3OutputPath": "s3://data/models"}
    request["AlgorithmSpecification"]["ContainerEntrypoint"] = ["python3", "-c", script]
    return request


def all_jobs(url):
    pages = client(url).get_paginator("list_training_jobs").paginate(MaxResults=100)
    return [row["TrainingJobName"] for page in pages for row in page["TrainingJobSummaries"]]


def test_killed_at_any_moment_no_job_is_lost_or_doubled_and_all_are_run(folder, tmp_path):
    pytest.importorskip("airflow_sm_prefer.sandbox.runner")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(f"rates: off\ncapacity: {{{P5}: 0, {G5}: 2}}\nsettings: {{double_events_every: 0}}")
    moments = random.Random(11)
    jobs, objects = set(), set()
    with Served(folder, "--scenario", str(scenario)) as served:
        client(served.url, "s3").create_bucket(Bucket="data")
        for round_number in range(3):
            customers = Customers(served.url, round_number)
            customers.wait_until_served()
            time.sleep(moments.uniform(0.0, 1.0))
            served.kill()
            customers.join()
            jobs.update(customers.told_jobs)
            objects.update(customers.told_objects)
            served.start()
            known = all_jobs(served.url)
            assert len(known) == len(set(known))
            assert jobs <= set(known)
            s3 = client(served.url, "s3")
            assert all(s3.get_object(Bucket="data", Key=key)["Body"].read() == key.encode() for key in objects)
        control = SandboxControl(served.url)
        # Each job is a process: as many at once as a small machine has time for.
        control.set_capacity({P5: 6, G5: 6})
        deadline = time.monotonic() + 240
        while any(job["live"] for job in control.jobs()):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        sagemaker = client(served.url)
        ends = [sagemaker.describe_training_job(TrainingJobName=job["name"]) for job in control.jobs()]
        assert [end for end in ends if end["TrainingJobStatus"] != "Completed"] == []
        assert len(jobs) > 3
        assert all(control.most_live(tag=("task", name)) == 1 for name in jobs)


def test_a_running_job_goes_on_from_its_checkpoint(folder, tmp_path):
    pytest.importorskip("airflow_sm_prefer.sandbox.runner")
    script = """
import pathlib, time
kept = pathlib.Path("/opt/ml/checkpoints/epoch")
epochs = int(kept.read_text()) if kept.exists() else 0
print("begins after", epochs, flush=True)
while epochs < 1000000:
    epochs += 1
    kept.write_text(str(epochs))
    if epochs > 3 and pathlib.Path("%s").exists():
        break
    time.sleep(0.1)
pathlib.Path("/opt/ml/model/epochs").write_text(str(epochs))
"""
    go = tmp_path / "go"
    request = run_of("job", prefer(G5))
    request["AlgorithmSpecification"]["ContainerEntrypoint"] = ["python3", "/opt/ml/input/data/code/main.py"]
    source = {"S3DataType": "S3Prefix", "S3Uri": "s3://data/code", "S3DataDistributionType": "FullyReplicated"}
    request["InputDataConfig"] = [{"ChannelName": "code", "DataSource": {"S3DataSource": source}}]
    request["CheckpointConfig"] = {"S3Uri": "s3://data/checkpoints"}
    with Served(folder) as served:
        s3 = client(served.url, "s3")
        s3.create_bucket(Bucket="data")
        s3.put_object(Bucket="data", Key="code/main.py", Body=(script % go).encode())
        client(served.url).create_training_job(**request)
        epochs = 0
        deadline = time.monotonic() + 120
        while epochs < 5:
            assert time.monotonic() < deadline
            with suppress(Exception):
                epochs = int(s3.get_object(Bucket="data", Key="checkpoints/epoch")["Body"].read())
            time.sleep(0.1)
        served.kill()
        go.touch()
        served.start()
        sagemaker = client(served.url)
        sagemaker.get_waiter("training_job_completed_or_stopped").wait(
            TrainingJobName="job", WaiterConfig={"Delay": 1, "MaxAttempts": 120}
        )
        job = sagemaker.describe_training_job(TrainingJobName="job")
        assert job["TrainingJobStatus"] == "Completed"
        messages = [t["StatusMessage"] for t in job["SecondaryStatusTransitions"]]
        assert "Launched instance was unhealthy, replacing it!" in messages
        logs = client(served.url, "logs")
        said = logs.filter_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix="job/")
        begun = [int(e["message"].split()[-1]) for e in said["events"] if "begins after" in e["message"]]
        assert begun[0] == 0
        assert begun[-1] >= epochs


def test_a_second_sandbox_and_a_damaged_state_are_told_without_a_traceback(folder):
    pytest.importorskip("airflow_sm_prefer.sandbox.runner")
    with Served(folder) as served:
        client(served.url).create_training_job(**run_of("job", prefer(G5)))
        done = run("sandbox", "--port", "0", "--state", str(folder))
        assert done.returncode == 2
        assert f"another sandbox (process {served.process.pid}) uses the state in {folder}" in done.stderr
    data = bytearray((folder / "journal").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "journal").write_bytes(data)
    done = run("sandbox", "--port", "0", "--state", str(folder))
    assert done.returncode == 2
    assert f"{folder}/journal, line " in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "journal").read_bytes() == data
