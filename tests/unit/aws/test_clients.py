"""Clients of commands that need no Airflow."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.aws.client_config import CONNECT_TIMEOUT_SECONDS
from airflow_sm_prefer.aws.clients import Clients
from airflow_sm_prefer.errors import InvalidSetting


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


def test_they_go_where_they_are_told_and_behave_as_ours_do():
    client = Clients("eu-west-1", "http://127.0.0.1:4580")("batch")
    assert (client.meta.region_name, client.meta.endpoint_url) == ("eu-west-1", "http://127.0.0.1:4580")
    assert client.meta.config.connect_timeout == CONNECT_TIMEOUT_SECONDS
    assert client.meta.config.retries["mode"] == "standard"


@pytest.mark.parametrize(("region", "url"), [(None, None), ("eu-west-1", "not a url")])
def test_what_can_not_work_is_told_with_the_option_that_helps(region, url):
    with pytest.raises(InvalidSetting, match="See --region, --endpoint-url"):
        Clients(region, url)("batch")
