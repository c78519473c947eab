from botocore.config import Config

from airflow_sm_prefer.aws.client_config import with_defaults


def test_the_retry_mode_is_set():
    assert with_defaults(None).retries == {"mode": "standard", "total_max_attempts": 3}


def test_what_the_user_set_holds_and_the_rest_is_ours():
    merged = with_defaults(Config(read_timeout=5, proxies={"https": "http://p"}))
    assert (merged.read_timeout, merged.connect_timeout) == (5, 10)
    assert merged.proxies == {"https": "http://p"}
    assert merged.retries["mode"] == "standard"


def test_the_users_retries_are_the_users_alone():
    assert with_defaults(Config(retries={"mode": "adaptive"})).retries == {"mode": "adaptive"}
