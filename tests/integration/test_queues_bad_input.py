"""What can't work through job queues is refused before anything is submitted, or with Batch's own words."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from unittest import mock

import jinja2
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_sm_prefer import SageMakerPreferTrainingOperator, on_demand, queued, spot
from airflow_sm_prefer.aws.queues import QueuesApi
from airflow_sm_prefer.errors import InvalidInput, QueueUnfit, RequestRejected
from airflow_sm_prefer.placement.queues import QueueStatus
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner

from .harness import TRAINING, Airflow, TaskInstance, airflow_and_sandbox
from .queues import batch, fair_share, occupy, queue, quota_share, quota_shares, service_jobs, training

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
OWN_TYPE = {**TRAINING, "ResourceConfig": {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 30}}
MOST_LINES = 5


@pytest.fixture(scope="module")
def airflow() -> Iterator[Airflow]:
    """A sandbox with a queue of each policy, and some that take no job."""
    with airflow_and_sandbox() as airflow:
        queue(airflow, "fifo", instances=2)
        queue(airflow, "fair", policy=fair_share(airflow, research=1.0))
        queue(airflow, "quotas", limits={P5: 4}, policy=quota_shares(airflow))
        quota_share(airflow, "quotas", "research", {P5: 2})
        queue(airflow, "closed")
        batch(airflow).update_job_queue(jobQueue="closed", state="DISABLED")
        airflow.server.sandbox.advance(60)
        yield airflow


def nothing_was_submitted(airflow: Airflow) -> bool:
    return airflow.calls("SubmitServiceJob") == [] and airflow.calls("CreateTrainingJob") == []


def check_message(error: BaseException, says: list[str]) -> None:
    message = str(error)
    assert len(message.splitlines()) <= MOST_LINES
    for words in says:
        assert words in message


def refused(airflow: Airflow, operator: Any, says: list[str]) -> None:
    """Run a task that can't work: it fails for good, and nothing is submitted."""
    with pytest.raises(AirflowFailException) as caught:
        airflow.run(operator)
    assert isinstance(caught.value, InvalidInput)
    check_message(caught.value, says)
    assert nothing_was_submitted(airflow)


def with_hyperparameters(**more: str) -> dict[str, Any]:
    return {**deepcopy(TRAINING), "HyperParameters": more}


# -- known where it is written -------------------------------------------------------------------------------

#: By what is wrong: the arguments, and what the message has to say.
WRITTEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no queue at all": ({"prefer": [G5]}, ["Nothing on the list is for a job queue", "Give job_queue", "queued("]),
    "no queue and no list": ({"prefer": None, "config": OWN_TYPE}, ["Nothing on the list is for a job queue"]),
    "an entry without its queue": ({"prefer": [queued(P5)]}, [f"prefer, entry 1 ({P5})", "doesn't say for which"]),
    "a share without its queue": (
        {"prefer": [queued(P5, "fair")], "share_identifier": "research"},
        ["share_identifier and quota_share are of job_queue, which isn't given", "queued(…) takes its own"],
    ),
    "both shares": (
        {"prefer": [G5], "job_queue": "fair", "share_identifier": "a", "quota_share": "b"},
        ["job_queue", "'a' and the quota share 'b'"],
    ),
    "both shares of an entry": (
        {"prefer": [G5, queued(P5, "fair", share_identifier="a", quota_share="b")], "job_queue": "fifo"},
        [f"prefer, entry 2 ({P5})", "'a' and the quota share 'b'"],
    ),
    "a queue that can't be one": ({"prefer": [G5], "job_queue": "my queue"}, ["job_queue", "'my queue'", "its ARN"]),
    "a queue that is a number": ({"prefer": [G5], "job_queue": 5}, ["job_queue=5", "has to be a string"]),
    "a share that can't be one": (
        {"prefer": [G5], "job_queue": "fair", "share_identifier": "a-b"},
        ["ShareIdentifier is 'a-b'", "letters and digits"],
    ),
    "spot in a queue": (
        {"prefer": [{**spot(G5), "JobQueue": "fifo"}]},
        [f"prefer, entry 1 ({G5})", "spot capacity through a queue", "without a queue"],
    ),
    "managed spot training": (
        {"prefer": None, "job_queue": "fifo", "config": {**OWN_TYPE, "EnableManagedSpotTraining": True}},
        ["EnableManagedSpotTraining asks for spot capacity, and AWS Batch's queues", "Take it away"],
    ),
    "a list beside a list": (
        {
            "prefer": [queued(P5, "fifo")],
            "config": {
                **TRAINING,
                "ResourceConfig": {"VolumeSizeInGB": 30, "InstancePreferences": [{"InstanceType": G5}]},
            },
        },
        ["InstancePreferences"],
    ),
    "a priority too high": (
        {"prefer": [queued(P5, "fifo")], "scheduling_priority": 10_000},
        ["scheduling_priority is 10000", "AWS Batch takes 0 to 9999"],
    ),
    "a priority below 0": ({"prefer": [queued(P5, "fifo")], "scheduling_priority": -1}, ["scheduling_priority is -1"]),
    "a priority that is True": (
        {"prefer": [queued(P5, "fifo")], "scheduling_priority": True},
        ["scheduling_priority is True", "has to be a number from 0 to 9999"],
    ),
    "a priority in quotes": (
        {"prefer": [queued(P5, "fifo")], "scheduling_priority": "5"},
        ["scheduling_priority is the text '5'", "Write 5, without quotes"],
    ),
    "a priority that nobody knows": (
        {"prefer": [queued(P5, "fifo")], "scheduling_priority": "prodcution"},
        ["scheduling_priority is 'prodcution'", "production, research, sweep", "Did you mean production?"],
    ),
    "a list that only submits": (
        {"prefer": [queued(P5, "fifo"), queued(G5, "fifo")], "wait_for_completion": False},
        ["wait_for_completion=False sends one request, and the list needs 2"],
    ),
    "retries without a number": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": {"evaluateOnExit": []}},
        ["retry_strategy=", "a dict with attempts"],
    ),
    "eleven attempts": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": {"attempts": 11}},
        ["retry_strategy: attempts is 11, and AWS takes 1 to 10"],
    ),
    "attempts in quotes": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": {"attempts": "3"}},
        ["retry_strategy: attempts is '3'"],
    ),
    "attempts that are True": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": {"attempts": True}},
        ["retry_strategy: attempts is True"],
    ),
    "another key of retries": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": {"attempts": 3, "evaluateonexit": []}},
        ["no key 'evaluateonexit'", "Did you mean evaluateOnExit?"],
    ),
    "rules that are none": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": {"attempts": 3, "evaluateOnExit": {"action": "EXIT"}}},
        ["evaluateOnExit has to be a list of at most 5 rules"],
    ),
    "six rules": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": {"attempts": 3, "evaluateOnExit": [{"action": "EXIT"}] * 6}},
        ["evaluateOnExit has to be a list of at most 5 rules"],
    ),
    "another action": (
        {
            "prefer": [queued(P5, "fifo")],
            "retry_strategy": {"attempts": 3, "evaluateOnExit": [{"action": "EXIT"}, {"action": "STOP"}]},
        },
        ["rule 2 of evaluateOnExit", "'STOP'", "RETRY and EXIT"],
    ),
    "a rule for containers": (
        {
            "prefer": [queued(P5, "fifo")],
            "retry_strategy": {"attempts": 3, "evaluateOnExit": [{"action": "EXIT", "onExitCode": "1"}]},
        },
        ["rule 1 of evaluateOnExit is", "onStatusReason"],
    ),
    "a pattern too long": (
        {
            "prefer": [queued(P5, "fifo")],
            "retry_strategy": {
                "attempts": 3,
                "evaluateOnExit": [{"action": "EXIT", "onStatusReason": "x" * 513}],
            },
        },
        ["rule 1 of evaluateOnExit", "1 to 512 characters"],
    ),
    "retries as a text": (
        {"prefer": [queued(P5, "fifo")], "retry_strategy": "3"},
        ["retry_strategy='3'", "a dict with attempts"],
    ),
    "no time for an attempt": (
        {"prefer": [queued(P5, "fifo")], "timeout_config": {"attemptDurationSeconds": 0}},
        ["timeout_config: attemptDurationSeconds is 0"],
    ),
    "a time limit by another name": (
        {"prefer": [queued(P5, "fifo")], "timeout_config": {"seconds": 60}},
        ["timeout_config=", "a dict with attemptDurationSeconds"],
    ),
    "fewer preemptions than none": (
        {"prefer": [queued(P5, "fifo")], "preemption_configuration": {"preemptionRetriesBeforeTermination": -1}},
        ["preemption_configuration: preemptionRetriesBeforeTermination is -1"],
    ),
    "tags as a list": (
        {"prefer": [queued(P5, "fifo")], "tags": [{"Key": "team", "Value": "vision"}]},
        ["tags=", "a dict of strings"],
    ),
    "a tag that is a number": ({"prefer": [queued(P5, "fifo")], "tags": {"team": 7}}, ["tags=", "a dict of strings"]),
    "too many tags": (
        {"prefer": [queued(P5, "fifo")], "tags": {f"t{n}": "x" for n in range(51)}},
        ["tags: there are 51, and a service job takes 50"],
    ),
    "too many tags with ours": (
        {"prefer": [queued(P5, "fifo")], "tags": {f"t{n}": "x" for n in range(45)}},
        ["tags", "a service job takes 50"],
    ),
    "the config's tags as a dict": (
        {"prefer": [queued(P5, "fifo")], "config": {**TRAINING, "Tags": {"team": "vision"}}},
        [
            "config: Tags have to be a list of dicts of strings, and are {'team': 'vision'}",
            '{"Key": "team", "Value": "vision"}',
        ],
    ),
    "a payload over 10 KiB": (
        {"prefer": [queued(P5, "fifo")], "config": with_hyperparameters(**{f"k{n}": "x" * 2400 for n in range(5)})},
        ["bytes as JSON, and AWS Batch takes 10,240", "Shorten HyperParameters and Environment"],
    ),
    "a value too long": (
        {"prefer": [queued(P5, "fifo")], "config": with_hyperparameters(lr="x" * 2501)},
        ["SageMaker would refuse it", "HyperParameters.lr is 2501 long, and AWS takes 2500 at most"],
    ),
    "a name that has another form": (
        {
            "prefer": [queued(P5, "fifo")],
            "config": {
                **TRAINING,
                "InputDataConfig": [
                    {
                        "ChannelName": "my channel",
                        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/d"}},
                    }
                ],
            },
        },
        ["InputDataConfig[0].ChannelName doesn't have the form that AWS wants"],
    ),
    "a part of the request missing": (
        {
            "prefer": [queued(P5, "fifo")],
            "config": {key: value for key, value in TRAINING.items() if key != "OutputDataConfig"},
        },
        ["SageMaker would refuse it", "OutputDataConfig"],
    ),
    "an override too long": (
        {"prefer": [queued(P5, "fifo"), queued(G5, "fifo", hyperparameters={"lr": "x" * 2501})]},
        ["HyperParameters.lr is 2501 long"],
    ),
}


@pytest.mark.parametrize(("arguments", "says"), WRITTEN.values(), ids=WRITTEN)
def test_what_is_known_when_the_dag_is_parsed_is_refused_there(
    arguments: dict[str, Any], says: list[str], airflow: Airflow
) -> None:
    with pytest.raises(InvalidInput) as caught:
        training(**deepcopy(arguments))
    check_message(caught.value, says)


#: The arguments that Airflow renders.
TEMPLATED = ("config", "prefer", "job_queue", "share_identifier", "quota_share", "scheduling_priority")
#: What is no mistake once it is rendered, since a template makes a string of everything.
FINE_IF_RENDERED = {"a priority in quotes", "a priority that is True", "a queue that is a number"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [pytest.param(*case, id=name) for name, case in WRITTEN.items() if name not in FINE_IF_RENDERED],
)
def test_what_is_rendered_is_refused_before_anything_is_submitted(
    arguments: dict[str, Any], says: list[str], airflow: Airflow
) -> None:
    given = deepcopy({"config": TRAINING, **arguments})
    late = {name: given[name] for name in TEMPLATED if given.get(name) is not None}
    early = {name: value for name, value in given.items() if name not in late}
    try:
        operator = training(**{"prefer": None, **early, **{name: f"{{{{ {name} }}}}" for name in late}})
    except InvalidInput as error:
        check_message(error, says)  # it has no template in it, and was refused where it is written
        return
    operator.render_template_fields(late, jinja2.Environment())
    refused(airflow, operator, says)


def test_a_priority_that_a_template_renders_to_a_number_works() -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "fifo")
        operator = training([queued(P5, "fifo")], scheduling_priority="{{ priority }}")
        operator.render_template_fields({"priority": 5}, jinja2.Environment())
        airflow.run(operator)
        assert service_jobs(airflow, "fifo")[0]["schedulingPriority"] == 5


def test_awss_own_list_in_the_config_goes_through_the_queue_one_by_one() -> None:
    listed = [{"InstanceType": G5, "InstanceCount": 1}, {"InstanceType": P5, "InstanceCount": 1}]
    config = {**TRAINING, "ResourceConfig": {"VolumeSizeInGB": 30, "InstancePreferences": listed}}
    with airflow_and_sandbox() as airflow:
        queue(airflow, "fifo")
        result = airflow.run(training(None, config=config, job_queue="fifo"))
        assert "InstancePreferences" not in result["Training"]["ResourceConfig"]
        assert len(service_jobs(airflow, "fifo")) == 1


def test_an_operator_without_queues_says_which_one_has_them(airflow: Airflow) -> None:
    with pytest.raises(InvalidInput) as caught:
        SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, prefer=[queued(P5, "fifo")])
    check_message(caught.value, [f"prefer, entry 1 ({P5})", "Use BatchPreferTrainingOperator"])
    operator = SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, prefer="{{ types }}")
    operator.render_template_fields({"types": [queued(P5, "fifo")]}, jinja2.Environment())
    refused(airflow, operator, ["Use BatchPreferTrainingOperator"])


# -- known when Batch is asked -------------------------------------------------------------------------------

#: By what is wrong: the entries, and what the message has to say.
ASKED: dict[str, tuple[list[Any], list[str]]] = {
    "a share on a FIFO queue": (
        [queued(P5, "fifo", share_identifier="research")],
        [f"entry 1 ({P5})", "'fifo' has no shares", "names 'research'", "Take the share away"],
    ),
    "a quota share on a FIFO queue": ([queued(P5, "fifo", quota_share="research")], ["'fifo' has no shares"]),
    "no share on a fair-share queue": (
        [on_demand(G5), queued(P5, "fair")],
        [f"entry 2 ({P5})", "'fair' shares by share identifiers", "queued(…, share_identifier=…)"],
    ),
    "a quota share on a fair-share queue": (
        [queued(P5, "fair", quota_share="research")],
        ["'fair' shares by share identifiers", "without a quota share"],
    ),
    "no quota share": ([queued(P5, "quotas")], ["'quotas' has quota shares", "There are research."]),
    "a share identifier for a quota share": (
        [queued(P5, "quotas", share_identifier="research")],
        ["'quotas' has quota shares"],
    ),
    "a quota share that there is not": (
        [queued(P5, "quotas", quota_share="reserach")],
        ["'quotas' has no quota share 'reserach'", "Did you mean research?"],
    ),
    "a queue that there is not": ([queued(P5, "nowhere")], [f"entry 1 ({P5})", "there is no job queue 'nowhere'"]),
    "a queue that there is not, beside one": (
        [queued(P5, "fifo"), queued(G5, "nowhere")],
        [f"entry 2 ({G5})", "there is no job queue 'nowhere'"],
    ),
    "a disabled queue": (
        [queued(P5, "closed")],
        ["No entry of the list can run", f"entry 1 ({P5})", "'closed' takes no jobs: it is disabled. Enable it"],
    ),
    "a job larger than its environment": (
        [queued(P5, "fifo", 3)],
        ["asks for 3 instances", "the service environment of 'fifo' has 2", "Ask for fewer"],
    ),
    "a job larger than its quota share and what it may borrow": (
        [queued(P5, "quotas", 5, quota_share="research")],
        ["asks for 5 instances", "environment of 'quotas' has 4"],
    ),
    "a type without a limit": (
        [queued(G5, "quotas", quota_share="research")],
        [f"the service environment of 'quotas' has no {G5}", "Give it a limit for that type"],
    ),
}


@pytest.mark.parametrize(("prefer", "says"), ASKED.values(), ids=ASKED)
def test_what_batch_can_be_asked_about_is_refused_before_anything_is_submitted(
    prefer: list[Any], says: list[str], airflow: Airflow
) -> None:
    refused(airflow, training(prefer), says)


def test_the_operators_own_share_is_looked_at_like_an_entrys(airflow: Airflow) -> None:
    refused(airflow, training([P5], job_queue="fifo", share_identifier="research"), ["'fifo' has no shares"])


def test_a_queue_for_containers_takes_no_training_job(airflow: Airflow) -> None:
    shown = {"ecs": QueueStatus("ecs", is_for_training=False)}
    with mock.patch.object(QueuesApi, "read", return_value=shown):
        refused(airflow, training([queued(P5, "ecs")]), ["'ecs' isn't for SageMaker training jobs"])


def test_an_entry_that_its_queue_cannot_take_now_is_left_out_and_the_next_is_taken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "p5")
        queue(airflow, "closed")
        batch(airflow).update_job_queue(jobQueue="closed", state="DISABLED")
        airflow.server.sandbox.advance(60)
        result = airflow.run(training([queued(P5, "closed"), queued(P5, "p5", 2), queued(G5, "p5")]))
        assert result["decision"]["preference_index"] == 2
        assert [wave["verdict"] for wave in result["decision"]["waves"]] == ["queue_unfit", "queue_unfit", "succeeded"]
        assert len(airflow.calls("SubmitServiceJob")) == 1
    assert (
        f"Left out: entry 1 ({P5}): the job queue 'closed' takes no jobs: it is disabled. Enable it."
        in capsys.readouterr().out
    )


def test_a_list_of_which_quotas_and_queues_together_leave_nothing_is_refused() -> None:
    quotas = {f"{G5} for training job usage": 0}
    with airflow_and_sandbox({"quotas": quotas}) as airflow:
        queue(airflow, "p5")
        operator = training([queued(P5, "p5", 2), on_demand(G5)], check_quotas=True)
        refused(airflow, operator, [f"entry 1 ({P5})", "entry 2", "the quota"])


# -- known only from Batch's answer --------------------------------------------------------------------------


def closes(airflow: Airflow, name: str) -> Any:
    """Have a queue disabled between the check and the submission."""
    ours = QueuesApi.read

    def read(self: QueuesApi, names: Any) -> Any:
        found = ours(self, names)
        batch(airflow).update_job_queue(jobQueue=name, state="DISABLED")
        airflow.server.sandbox.advance(60)
        return found

    return mock.patch.object(QueuesApi, "read", read)


def test_a_queue_that_is_disabled_after_the_check_is_passed_over_with_batchs_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with airflow_and_sandbox() as airflow:
        arn = queue(airflow, "p5")
        queue(airflow, "g5")
        with closes(airflow, "p5"):
            result = airflow.run(training([queued(P5, "p5"), queued(G5, "g5")]))
        waves = result["decision"]["waves"]
        assert [wave["verdict"] for wave in waves] == ["queue_refused", "succeeded"]
        assert waves[0]["reason"] == f"ClientException: JobQueue {arn} is DISABLED and doesn't accept jobs"
        assert service_jobs(airflow, "p5") == []
    assert (
        f"JobQueue {arn} is DISABLED and doesn't accept jobs See that the queue exists, is enabled"
        in capsys.readouterr().out
    )


def test_a_queue_that_is_disabled_after_the_check_fails_the_task_for_good_where_nothing_else_is_left() -> None:
    with airflow_and_sandbox() as airflow:
        arn = queue(airflow, "p5")
        with closes(airflow, "p5"), pytest.raises(AirflowFailException) as caught:
            airflow.run(training([queued(P5, "p5")]))
        assert isinstance(caught.value, RequestRejected)
        check_message(
            caught.value,
            [f"JobQueue {arn} is DISABLED and doesn't accept jobs", "See that the queue exists, is enabled"],
        )


REFUSALS: dict[str, tuple[list[Any], str]] = {
    "no share": ([queued(P5, "fair")], "shareIdentifier must be specified"),
    "a share too many": ([queued(P5, "fifo", share_identifier="a")], "shareIdentifier can't be specified"),
    "an unknown quota share": ([queued(P5, "quotas", quota_share="x")], "QuotaShare x does not exist"),
    "no such queue": ([queued(P5, "nowhere")], "JobQueue nowhere does not exist"),
}


@pytest.mark.parametrize(("prefer", "words"), REFUSALS.values(), ids=REFUSALS)
def test_where_the_role_may_not_read_queues_batchs_answer_is_shown_and_the_next_entry_tried(
    prefer: list[Any], words: str
) -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "fifo")
        queue(airflow, "fair", policy=fair_share(airflow, research=1.0))
        queue(airflow, "quotas", limits={P5: 4}, policy=quota_shares(airflow))
        with mock.patch.object(QueuesApi, "read", return_value={}):
            with pytest.raises(AirflowFailException, match=words) as caught:
                airflow.run(training(prefer))
            assert isinstance(caught.value, RequestRejected)
            result = airflow.run(training([*prefer, queued(G5, "fifo")]), TaskInstance(task_id="other"))
        assert [wave["verdict"] for wave in result["decision"]["waves"]] == ["queue_refused", "succeeded"]
        assert words in result["decision"]["waves"][0]["reason"]


def test_a_queue_that_can_no_longer_run_the_job_says_what_to_do() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=3600 * 5))) as airflow:
        queue(airflow, "p5", instances=2)
        operator, ti = training([queued(P5, "p5", 2)]), TaskInstance()
        occupy(airflow, "p5", count=2, instance_type=P5)
        deferred = airflow.begin(operator, ti)
        batch(airflow).update_service_environment(
            serviceEnvironment="p5-env", capacityLimits=[{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}]
        )
        with pytest.raises(QueueUnfit) as caught:
            airflow.finish(operator, ti, deferred)
        check_message(
            caught.value,
            [
                "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) associated with the job",
                "Ask for fewer instances, or raise the limits",
            ],
        )
        assert str(caught.value).count("AWS said:") == 1


def test_a_quota_share_that_is_deleted_after_the_check_is_passed_over() -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "quotas", limits={P5: 4}, policy=quota_shares(airflow))
        quota_share(airflow, "quotas", "research", {P5: 2})
        ours = QueuesApi.read

        def read(self: QueuesApi, names: Any) -> Any:
            found = ours(self, names)
            shares = batch(airflow).list_quota_shares(jobQueue="quotas")["quotaShares"]
            share = shares[0]["quotaShareArn"]
            batch(airflow).update_quota_share(quotaShareArn=share, state="DISABLED")
            airflow.server.sandbox.advance(60)
            return found

        with mock.patch.object(QueuesApi, "read", read):
            result = airflow.run(training([queued(P5, "quotas", quota_share="research"), on_demand(G5)]))
        assert [wave["verdict"] for wave in result["decision"]["waves"]] == ["queue_refused", "succeeded"]
