import pytest

from airflow_sm_prefer.aws.pacing import DEFAULT_RATES, DEFAULT_WATCH_RATE, WATCH
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.hooks import settings
from airflow_sm_prefer.model.priority import DEFAULT_PRIORITIES


@pytest.fixture(autouse=True)
def own_settings(monkeypatch):
    for name in (
        "SM_PREFER__DEPLOYMENT",
        "SM_PREFER__CLOCK_SPEED",
        "SM_PREFER__PRIORITIES",
        "SM_PREFER__EVENTS_QUEUE",
        "API__BASE_URL",
    ):
        monkeypatch.delenv(f"AIRFLOW__{name}", raising=False)
    return lambda name, value: monkeypatch.setenv(f"AIRFLOW__{name}", value)


def test_a_deployment_that_is_named_has_that_name(own_settings):
    own_settings("SM_PREFER__DEPLOYMENT", " research-prod ")
    own_settings("API__BASE_URL", "https://airflow.example.com")
    assert settings.deployment() == settings.deployment_setting() == "research-prod"


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://Airflow.example.com/", "airflow.example.com"),
        ("http://airflow.example.com", "airflow.example.com"),
        ("http://localhost:8080/team-a", "localhost:8080/team-a"),
        ("", "airflow"),
    ],
)
def test_without_a_name_it_goes_by_its_address(own_settings, base_url, name):
    own_settings("SM_PREFER__DEPLOYMENT", "")
    own_settings("API__BASE_URL", base_url)
    assert settings.deployment() == name
    assert settings.deployment_setting() is None


def test_real_aws_runs_at_real_speed():
    assert settings.clock_speed(loopback=False) == 1.0
    assert settings.clock_speed(loopback=True) == 1.0


def test_a_faster_clock_is_refused_against_anything_but_this_machine(own_settings):
    own_settings("SM_PREFER__CLOCK_SPEED", "120")
    assert settings.clock_speed(loopback=True) == 120.0
    with pytest.raises(InvalidSetting) as caught:
        settings.clock_speed(loopback=False)
    assert "clock_speed is 120" in str(caught.value)


@pytest.mark.parametrize("written", ["fast", "0", "-1", "nan", "inf"])
def test_a_speed_that_is_no_number_above_zero_is_named(own_settings, written):
    own_settings("SM_PREFER__CLOCK_SPEED", written)
    with pytest.raises(InvalidSetting, match="clock_speed"):
        settings.clock_speed(loopback=True)


def test_rates_are_ours_unless_they_are_set(own_settings):
    own_settings("SM_PREFER__DESCRIBE_RATE", "4")
    own_settings("SM_PREFER__LIST_RATE", "")
    assert settings.rates() == {**DEFAULT_RATES, "describe": 4.0}


def test_a_rate_of_nothing_is_refused(own_settings):
    own_settings("SM_PREFER__CREATE_RATE", "0")
    with pytest.raises(InvalidSetting, match="create_rate"):
        settings.rates()


@pytest.mark.parametrize("written", [None, ""])
def test_priorities_have_their_usual_names_unless_they_are_set(own_settings, written):
    if written is not None:
        own_settings("SM_PREFER__PRIORITIES", written)
    assert settings.priorities() == DEFAULT_PRIORITIES


def test_priorities_have_the_names_that_are_set_and_no_others(own_settings):
    own_settings("SM_PREFER__PRIORITIES", "urgent=9999, nightly=0")
    assert settings.priorities() == {"urgent": 9999, "nightly": 0}


def test_a_priority_that_can_not_be_read_is_named_with_its_setting(own_settings):
    own_settings("SM_PREFER__PRIORITIES", "urgent=much")
    with pytest.raises(InvalidSetting, match=r"^\[sm_prefer\] priorities: urgent is 'much'"):
        settings.priorities()


@pytest.mark.parametrize("written", [None, "", "  "])
def test_there_is_no_queue_of_events_unless_it_is_set(own_settings, written):
    if written is not None:
        own_settings("SM_PREFER__EVENTS_QUEUE", written)
    assert settings.events_queue() is None


@pytest.mark.parametrize(
    "written",
    ["sm-prefer_1", "a" * 80, "https://sqs.us-west-2.amazonaws.com/123456789012/events", "http://127.0.0.1:1/1/e"],
)
def test_a_queue_of_events_is_a_name_or_a_url(own_settings, written):
    own_settings("SM_PREFER__EVENTS_QUEUE", f" {written} ")
    assert settings.events_queue() == written


@pytest.mark.parametrize(
    ("host", "name"),
    [("airflow-triggerer-0", "airflow-triggerer-0"), ("ip-10-0-0-1.ec2.internal", "ip-10-0-0-1-ec2-internal")],
)
@pytest.mark.parametrize(
    "written", ["sm-prefer-{hostname}", "https://sqs.us-west-2.amazonaws.com/123456789012/{hostname}"]
)
def test_each_machine_may_have_a_queue_of_its_own(own_settings, monkeypatch, written, host, name):
    monkeypatch.setattr("socket.gethostname", lambda: host)
    own_settings("SM_PREFER__EVENTS_QUEUE", written)
    assert settings.events_queue() == written.replace("{hostname}", name)


@pytest.mark.parametrize(
    "written",
    ["a b", "events.fifo", "a" * 81, "arn:aws:sqs:us-west-2:123456789012:events", "https://", "ftp://a/b", "{host}"],
)
def test_what_is_neither_a_queues_name_nor_a_url_is_named(own_settings, written):
    own_settings("SM_PREFER__EVENTS_QUEUE", written)
    with pytest.raises(InvalidSetting, match=r"^\[sm_prefer\] events_queue is "):
        settings.events_queue()


def test_one_triggerer_has_the_whole_rate_for_logs_and_each_of_more_its_share(own_settings):
    assert (settings.triggerers(), settings.log_rate()) == (1, 0.4)
    own_settings("SM_PREFER__TRIGGERERS", "4")
    own_settings("SM_PREFER__LOG_RATE", "2")
    assert (settings.triggerers(), settings.log_rate()) == (4, 0.5)


@pytest.mark.parametrize("written", ["0", "1.5", "two", "-1"])
def test_triggerers_are_counted_in_whole_numbers_from_one(own_settings, written):
    own_settings("SM_PREFER__TRIGGERERS", written)
    with pytest.raises(InvalidSetting, match=r"^\[sm_prefer\] triggerers is .*must be a"):
        settings.triggerers()


def test_one_triggerer_watches_with_the_whole_rate_and_each_of_more_with_its_share(own_settings):
    assert settings.watching_rates() == {**DEFAULT_RATES, WATCH: DEFAULT_WATCH_RATE}
    own_settings("SM_PREFER__TRIGGERERS", "2")
    own_settings("SM_PREFER__WATCH_RATE", "1.0")
    own_settings("SM_PREFER__LIST_RATE", "1.6")
    shares = settings.watching_rates()
    assert (shares[WATCH], shares["list"], shares["stop"]) == (0.5, 0.8, DEFAULT_RATES["stop"] / 2)


@pytest.mark.parametrize("written", ["0", "nan", "fast"])
def test_a_rate_to_watch_with_is_a_number_above_zero(own_settings, written):
    own_settings("SM_PREFER__WATCH_RATE", written)
    with pytest.raises(InvalidSetting, match=r"^\[sm_prefer\] watch_rate is "):
        settings.watching_rates()
