import copy

from airflow_sm_prefer.aws.redact import redacted

REQUEST = {
    "TrainingJobName": "n",
    "Environment": {"DB_PASSWORD": "hunter2"},
    "HyperParameters": {"api_key": "s3cret"},
    "InputDataConfig": ({"ChannelName": "train"},),
    "prefer": [{"InstanceType": "ml.g5.xlarge", "hyperparameters": {"token": "t0p"}, "environment": "{{ var.x }}"}],
}


def test_values_of_environment_and_hyperparameters_are_masked_wherever_they_are():
    shown = repr(redacted(REQUEST))
    assert not [secret for secret in ("hunter2", "s3cret", "t0p", "var.x") if secret in shown]


def test_their_keys_and_everything_else_can_be_read():
    assert redacted(REQUEST) == {
        "TrainingJobName": "n",
        "Environment": {"DB_PASSWORD": "***"},
        "HyperParameters": {"api_key": "***"},
        "InputDataConfig": [{"ChannelName": "train"}],
        "prefer": [{"InstanceType": "ml.g5.xlarge", "hyperparameters": {"token": "***"}, "environment": "***"}],
    }


def test_the_request_itself_stays_whole():
    before = copy.deepcopy(REQUEST)
    redacted(REQUEST)
    assert before == REQUEST
