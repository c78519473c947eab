"""The CloudFormation template of events: as cfn-lint sees it, and its rule on the events of jobs."""

from __future__ import annotations

import json
from pathlib import Path

from airflow_sm_prefer.aws.event_queue import EventQueue, Hint
from tests.integration import aws
from tests.integration.test_event_hints import service_queue
from tests.integration.test_queues_template_lint import ERRORS, lint
from tests.integration.test_sandbox_wire import serve, wait_for
from tests.unit.deploy.cloudformation import Stack, load
from tests.unit.sandbox.batch.bench import submission
from tests.unit.sandbox.builders import processing, training

TEMPLATE = Path(__file__).parents[2] / "deploy" / "events.yaml"


def test_cfn_lint_finds_nothing_in_it() -> None:
    result = lint(TEMPLATE)
    assert (result.returncode, result.stdout) == (0, "")


def test_cfn_lint_would_find_a_target_that_is_not_there(tmp_path: Path) -> None:
    broken = tmp_path / "events.yaml"
    text, target = TEMPLATE.read_text(), "        - Id: triggerer-0\n          Arn: !GetAtt Queue0.Arn\n"
    assert text.count(target) == 1
    broken.write_text(text.replace(target, target.replace("!GetAtt Queue0.Arn", "!GetAtt Queue5.Arn")))
    assert lint(broken).returncode == ERRORS


def test_its_rule_sends_the_events_of_every_kind_of_our_jobs_to_every_queue_and_of_no_others() -> None:
    with serve({"settings": {"double_events_every": 0}}) as server:
        sqs, events, sagemaker, batch = (
            aws.client(server.endpoint_url, service) for service in ("sqs", "events", "sagemaker", "batch")
        )
        stack = Stack(load(TEMPLATE), Triggerers=2, NamePrefix="t-")
        for name, queue in stack.resources("AWS::SQS::Queue").items():
            attributes = {key: str(value).lower() for key, value in queue.items() if key != "QueueName"}
            url = sqs.create_queue(QueueName=queue["QueueName"], Attributes=attributes)["QueueUrl"]
            arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
            stack.values |= {name: url, f"{name}.Arn": arn}
        (rule,) = stack.resources("AWS::Events::Rule").values()
        events.put_rule(Name="rule", EventPattern=json.dumps(rule["EventPattern"]), State=rule["State"])
        events.put_targets(Rule="rule", Targets=[{"Id": t["Id"], "Arn": t["Arn"]} for t in rule["Targets"]])
        service_queue(batch)
        sagemaker.create_training_job(**training("theirs"))
        sagemaker.create_training_job(**training("train-smp"))
        sagemaker.create_processing_job(**processing("prepare-smp"))
        batch.submit_service_job(**submission("theirs", "fifo"))
        arn = batch.submit_service_job(**submission("queued-smp", "fifo"))["jobArn"]
        for name in ("t-0", "t-1"):
            queue, heard = EventQueue(sqs, name), []

            def ends(queue: EventQueue = queue, heard: list[Hint] = heard) -> bool:
                heard.extend(queue.receive(1))
                return {hint.handle for hint in heard if hint.is_over} >= {"train-smp", "prepare-smp", arn}

            wait_for(ends, seconds=60)
            # A queue's job runs as a training job of SageMaker's, which has its name in its own.
            handles = {hint.handle for hint in heard if not hint.handle.startswith("AWSBatch")}
            assert handles == {"train-smp", "prepare-smp", arn}
