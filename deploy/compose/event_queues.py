"""Make the queues through which AWS tells of jobs, in the sandbox: ``python event_queues.py NAME…``.

One EventBridge rule, and an SQS queue for each triggerer. What is there already stays as it is. On AWS the same is made
once, by whoever owns the account.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from airflow.providers.amazon.aws.hooks.base_aws import AwsGenericHook

RULE = "sm-prefer-jobs"
PATTERN = {
    "source": ["aws.sagemaker", "aws.batch"],
    "detail-type": [
        "SageMaker Training Job State Change",
        "SageMaker Processing Job State Change",
        "Batch Service Job State Change",
    ],
}


def make(names: Sequence[str]) -> None:
    """Make the queues, and the rule that fills each of them."""
    sqs = AwsGenericHook(client_type="sqs").get_conn()
    events = AwsGenericHook(client_type="events").get_conn()
    events.put_rule(Name=RULE, EventPattern=json.dumps(PATTERN))
    for name in names:
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        events.put_targets(Rule=RULE, Targets=[{"Id": name, "Arn": arn}])
        print(f"{name} hears of jobs")  # noqa: T201 - the log of its container


if __name__ == "__main__":
    make(sys.argv[1:])
