"""Making what service jobs are queued with, from AWS's Create requests: over the API, or as a scenario gives them."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch import rules
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import ENABLED, Environment, Queue, QuotaShare, SchedulingPolicy
from airflow_sm_prefer.sandbox.batch.shown import KIND

Request = dict[str, Any]


def make_environment(estate: Estate, request: Request) -> Environment:
    """Make a service environment.

    Raises:
        ApiError: the name is used or not a name, there are too many, or a limit isn't one.
    """
    name = request["serviceEnvironmentName"]
    _check("serviceEnvironmentName", name, request)
    limits = rules.read_limits(request["capacityLimits"])
    arn = estate.arn("service-environment", name)
    rules.check_new(estate.environments, arn, rules.MOST_ENVIRONMENTS, "service environments")
    environment = Environment(name=name, arn=arn, limits=limits, **_common(request))
    estate.environments[arn] = environment
    return environment


def make_policy(estate: Estate, request: Request) -> SchedulingPolicy:
    """Make a scheduling policy.

    Raises:
        ApiError: the name is used or not a name, there are too many, or the policy isn't one.
    """
    name = request["name"]
    _check("name", name, request)
    fairshare, quota_share = request.get("fairsharePolicy"), request.get("quotaSharePolicy")
    rules.check_policy(fairshare, quota_share)
    arn = estate.arn("scheduling-policy", name)
    rules.check_new(estate.policies, arn, rules.MOST_POLICIES, "scheduling policies")
    tags = dict(request.get("tags", {}))
    policy = SchedulingPolicy(name=name, arn=arn, fairshare=fairshare, quota_share=quota_share, tags=tags)
    estate.policies[arn] = policy
    return policy


def make_queue(estate: Estate, request: Request, elapsed: float) -> Queue:
    """Make a job queue.

    Raises:
        ApiError: the name is used or not a name, there are too many, or its environment and policy don't fit.
    """
    name = request["jobQueueName"]
    _check("jobQueueName", name, request)
    rules.check_queue_priority(request["priority"])
    if request.get("computeEnvironmentOrder") or request.get("jobQueueType", KIND) != KIND:
        raise client_error(f"A job queue with a serviceEnvironmentOrder has the jobQueueType {KIND} and no other order")
    rules.check_time_limits(request.get("jobStateTimeLimitActions", []))
    environment, order = rules.environment_of(estate, request.get("serviceEnvironmentOrder", []))
    policy = estate.policy(request["schedulingPolicyArn"]) if "schedulingPolicyArn" in request else None
    rules.check_units(environment, policy)
    rules.check_alone(estate, environment, policy)
    arn = estate.arn("job-queue", name)
    rules.check_new(estate.queues, arn, rules.MOST_QUEUES, "job queues")
    queue = Queue(
        name=name,
        arn=arn,
        priority=request["priority"],
        environment=environment.arn,
        order=order,
        policy=None if policy is None else policy.arn,
        time_limits=list(request.get("jobStateTimeLimitActions", [])),
        used_as_of=elapsed,
        **_common(request),
    )
    estate.queues[arn] = queue
    return queue


def make_share(estate: Estate, request: Request, elapsed: float) -> QuotaShare:
    """Make a quota share of a queue.

    Raises:
        ApiError: the queue isn't there, isn't VALID or has no quota management; the name is used or not a name; or
            there are too many.
    """
    name = request["quotaShareName"]
    _check("quotaShareName", name, request)
    queue = estate.queue(request["jobQueue"])
    policy = estate.policy_of(queue)
    if policy is None or policy.quota_share is None:
        raise client_error(f"JobQueue {queue.arn} has no quota share scheduling policy")
    if queue.status(elapsed) in {"CREATING", "DELETING"}:
        raise client_error(f"JobQueue {queue.arn} is not VALID")
    limits = rules.read_limits(request["capacityLimits"], least=1)
    rules.check_share_limits(limits)
    sharing = request["resourceSharingConfiguration"]
    rules.check_sharing(sharing)
    arn = f"{queue.arn}/quota-share/{name}"
    others = {share.arn: share for share in estate.shares_of(queue)}
    rules.check_new(others, arn, rules.MOST_SHARES, f"quota shares in JobQueue {queue.arn}")
    share = QuotaShare(
        name=name,
        arn=arn,
        queue=queue.arn,
        limits=limits,
        strategy=sharing["strategy"],
        borrow_limit=sharing.get("borrowLimit", rules.NO_BORROW_LIMIT),
        in_share_preemption=request["preemptionConfiguration"]["inSharePreemption"],
        **_common(request),
    )
    estate.shares[arn] = share
    return share


def _check(member: str, name: str, request: Request) -> None:
    rules.check_name(member, name)
    rules.check_tags(request.get("tags", {}))


def _common(request: Request) -> dict[str, Any]:
    return {"state": request.get("state", ENABLED), "tags": dict(request.get("tags", {}))}
