"""What may be submitted: Batch checks its own parameters, and passes the payload through (service-job-submit)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import ENABLED, VALID, Queue
from airflow_sm_prefer.sandbox.batch.rules import check_name, check_share_identifier, check_tags
from airflow_sm_prefer.sandbox.batch.snapshots import policy_of, snapshot_of
from airflow_sm_prefer.sandbox.settings import BatchPreferences
from airflow_sm_prefer.scheduling.fair_share import MAX_ACTIVE_SHARES, FairShare

PAYLOAD_BYTES = 10 * 1024
REQUEST_BYTES = 30 * 1024
MOST_RULES = 5
RULE_LENGTH = 512
PRIORITIES = (0, 9999)
ATTEMPTS = (1, 10)
IMPOSSIBLE = 1_000_000_000
"""More instances than any environment has: what a preference list counts as when it is taken for a misconfiguration."""

Request = Mapping[str, Any]


def check_request(request: Request) -> None:
    """Let through what can be said of a request by itself.

    Raises:
        ApiError: a parameter of Batch's own is out of range, or something is too long.
    """
    check_name("jobName", request["jobName"])
    check_tags(request.get("tags", {}))
    check_priority(request.get("schedulingPriority"))
    _check_retries(request.get("retryStrategy"))
    seconds = request.get("timeoutConfig", {}).get("attemptDurationSeconds")
    if seconds is not None and seconds < 1:
        raise client_error("attemptDurationSeconds must be 1 or more")
    retries = request.get("preemptionConfiguration", {}).get("preemptionRetriesBeforeTermination")
    if retries is not None and retries < 0:
        raise client_error("preemptionRetriesBeforeTermination must be 0 or more")
    if len(request["serviceRequestPayload"].encode()) > PAYLOAD_BYTES:
        raise client_error(f"serviceRequestPayload must be at most {PAYLOAD_BYTES // 1024} KiB")
    if len(json.dumps(dict(request), ensure_ascii=False).encode()) > REQUEST_BYTES:
        raise client_error(f"A SubmitServiceJob request must be at most {REQUEST_BYTES // 1024} KiB")


def check_priority(priority: int | None) -> None:
    """Let a scheduling priority through.

    Raises:
        ApiError: it is out of range.
    """
    least, most = PRIORITIES
    if priority is not None and not least <= priority <= most:
        raise client_error(f"schedulingPriority must be between {least} and {most}, not {priority}")


def check_queue(estate: Estate, queue: Queue, request: Request, elapsed: float) -> None:
    """Let a job into a queue.

    Raises:
        ApiError: the queue takes no jobs now, or not with such a share.
    """
    if queue.state != ENABLED:
        raise client_error(f"JobQueue {queue.arn} is DISABLED and doesn't accept jobs")
    if queue.status(elapsed) in {"CREATING", "DELETING"}:
        raise client_error(f"JobQueue {queue.arn} is not {VALID}")
    share, quota_share = request.get("shareIdentifier"), request.get("quotaShareName")
    policy = estate.policy_of(queue)
    is_fair = policy is not None and policy.fairshare is not None
    is_managed = policy is not None and policy.quota_share is not None
    _need("shareIdentifier", share, "fair-share", needed=is_fair)
    _need("quotaShareName", quota_share, "quota share", needed=is_managed)
    if share is not None:
        check_share_identifier(share)
        _check_active(estate, queue, share, elapsed)
    if quota_share is not None:
        _check_quota_share(estate, queue, quota_share, elapsed)


def needs(request: Request, preferences: BatchPreferences) -> tuple[str, int]:
    """Return the instance type and count that a payload asks for; the type is empty if it can't be told.

    Raises:
        ApiError: it isn't JSON, or has a preference list that is refused.
    """
    try:
        payload = json.loads(request["serviceRequestPayload"])
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict):
        raise client_error("serviceRequestPayload is not a JSON object")
    config = payload.get("ResourceConfig")
    config = config if isinstance(config, dict) else {}
    if "InstancePreferences" in config:
        return _of_preferences(config, preferences)
    groups = config.get("InstanceGroups")
    if isinstance(groups, list) and groups:
        return _type(groups[0]), sum(_count(group) for group in groups)
    return _type(config), _count(config)


def _of_preferences(config: Mapping[str, Any], preferences: BatchPreferences) -> tuple[str, int]:
    if preferences is BatchPreferences.REJECT:
        raise client_error("InstancePreferences are not supported in the serviceRequestPayload of a service job")
    if preferences is BatchPreferences.MISCONFIG:
        return "", IMPOSSIBLE
    entries = config["InstancePreferences"]
    entries = entries if isinstance(entries, list) and entries else [{}]
    return _type(entries[0]), max(_count(config), *(_count(entry) for entry in entries))


def _type(config: Any) -> str:
    found = config.get("InstanceType") if isinstance(config, dict) else None
    return found if isinstance(found, str) else ""


def _count(config: Any) -> int:
    found = config.get("InstanceCount") if isinstance(config, dict) else None
    return found if isinstance(found, int) and found > 0 else 1


def _check_retries(strategy: Mapping[str, Any] | None) -> None:
    if strategy is None:
        return
    least, most = ATTEMPTS
    if not least <= strategy["attempts"] <= most:
        raise client_error(f"retryStrategy attempts must be between {least} and {most}, not {strategy['attempts']}")
    rules = strategy.get("evaluateOnExit", [])
    if len(rules) > MOST_RULES:
        raise client_error(f"evaluateOnExit may have at most {MOST_RULES} entries")
    if any("action" not in rule or len(rule.get("onStatusReason", "")) > RULE_LENGTH for rule in rules):
        raise client_error(
            f"evaluateOnExit entries need an action, and an onStatusReason of at most {RULE_LENGTH} characters"
        )


def _need(member: str, given: str | None, kind: str, *, needed: bool) -> None:
    if needed and given is None:
        raise client_error(f"{member} must be specified for a job queue with a {kind} scheduling policy")
    if given is not None and not needed:
        raise client_error(f"{member} can't be specified for a job queue without a {kind} scheduling policy")


def _check_active(estate: Estate, queue: Queue, share: str, elapsed: float) -> None:
    policy = policy_of(estate, queue)
    assert isinstance(policy, FairShare)
    if len(estate.live.get(queue.arn, ())) + len(queue.used) < MAX_ACTIVE_SHARES:
        return  # there can't be so many
    active = policy.active_shares(snapshot_of(estate, queue, elapsed)) | {job.share for job in estate.live_in(queue)}
    if share not in active and len(active) >= MAX_ACTIVE_SHARES:
        raise client_error(f"JobQueue {queue.arn} has {MAX_ACTIVE_SHARES} active share identifiers, which is the limit")


def _check_quota_share(estate: Estate, queue: Queue, name: str, elapsed: float) -> None:
    share = next((one for one in estate.shares_of(queue) if one.name == name), None)
    if share is None:
        raise client_error(f"QuotaShare {name} does not exist in JobQueue {queue.arn}")
    if share.state != ENABLED or share.status(elapsed) in {"CREATING", "DELETING"}:
        raise client_error(f"QuotaShare {share.arn} doesn't accept jobs: it is not ENABLED and {VALID}")
