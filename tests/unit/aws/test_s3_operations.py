import io
import tarfile
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from airflow_sm_prefer.aws.s3_operations import run_s3_operations
from airflow_sm_prefer.errors import InvalidRequest


def refused(code, status=400):
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "S3")


class FakeS3:
    def __init__(self):
        self.buckets = {}
        self.objects = {}
        self.uploads = 0

    def create_bucket(self, *, Bucket, **place):
        if Bucket in self.buckets:
            raise refused("BucketAlreadyOwnedByYou", 409)
        if Bucket == "theirs":
            raise refused("BucketAlreadyExists", 409)
        self.buckets[Bucket] = place

    def head_object(self, *, Bucket, Key):
        if Bucket == "closed":
            raise refused("403", 403)
        if (Bucket, Key) not in self.objects:
            raise refused("404", 404)
        return {"Metadata": self.objects[Bucket, Key][1]}

    def upload_file(self, path, bucket, key, ExtraArgs):
        self.uploads += 1
        self.objects[bucket, key] = (Path(path).read_bytes(), ExtraArgs["Metadata"])

    def upload_fileobj(self, file, bucket, key):
        self.objects[bucket, key] = (file.read(), {})


@pytest.fixture
def s3():
    return FakeS3()


def upload(path, **more):
    return {"S3Upload": [{"Path": str(path), "Bucket": "b", "Key": "k", **more}]}


@pytest.mark.parametrize(
    ("region", "place"),
    [
        ("us-east-1", {}),
        ("eu-west-1", {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}),
    ],
)
def test_a_bucket_is_made_in_the_region(s3, region, place):
    run_s3_operations(s3, region, {"S3CreateBucket": [{"Bucket": "b"}]})
    assert s3.buckets == {"b": place}


def test_a_bucket_of_ours_is_not_made_twice(s3):
    for _ in range(2):
        run_s3_operations(s3, "us-east-1", {"S3CreateBucket": [{"Bucket": "b"}]})


def test_a_bucket_of_somebody_else_is_an_error(s3):
    with pytest.raises(ClientError):
        run_s3_operations(s3, "us-east-1", {"S3CreateBucket": [{"Bucket": "theirs"}]})


def test_a_file_is_uploaded_once_however_often_the_task_is_tried(s3, tmp_path):
    file = tmp_path / "data.csv"
    file.write_bytes(b"1,2")
    for _ in range(2):
        run_s3_operations(s3, None, upload(file, Tar=False))
    assert s3.objects["b", "k"][0] == b"1,2"
    assert s3.uploads == 1


def test_another_file_of_that_key_is_not_overwritten(s3, tmp_path):
    file = tmp_path / "data.csv"
    file.write_bytes(b"1,2")
    s3.objects["b", "k"] = (b"precious", {})
    with pytest.raises(InvalidRequest, match="s3://b/k"):
        run_s3_operations(s3, None, upload(file))
    assert s3.objects["b", "k"][0] == b"precious"


def test_a_file_that_is_not_there_is_named(s3, tmp_path):
    with pytest.raises(InvalidRequest, match="missing"):
        run_s3_operations(s3, None, upload(tmp_path / "missing", Tar=True))


def test_a_key_that_may_not_be_looked_at_is_an_error(s3, tmp_path):
    file = tmp_path / "data.csv"
    file.touch()
    with pytest.raises(ClientError):
        run_s3_operations(s3, None, {"S3Upload": [{"Path": str(file), "Bucket": "closed", "Key": "k"}]})


def names_in(s3):
    with tarfile.open(fileobj=io.BytesIO(s3.objects["b", "k"][0]), mode="r:gz") as tar:
        return tar.getnames()


def test_a_directory_is_packed_without_its_own_name(s3, tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "train.py").touch()
    (source / "sub" / "x").touch()
    run_s3_operations(s3, None, upload(source, Tar=True))
    assert names_in(s3) == ["sub", "sub/x", "train.py"]


def test_a_file_is_packed_alone(s3, tmp_path):
    (tmp_path / "train.py").touch()
    run_s3_operations(s3, None, upload(tmp_path / "train.py", Tar=True))
    assert names_in(s3) == ["train.py"]


def test_nothing_asked_for_is_nothing_done(s3):
    run_s3_operations(s3, None, {"S3CreateBucket": None})
    assert (s3.buckets, s3.objects) == ({}, {})
