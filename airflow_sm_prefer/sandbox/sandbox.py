"""A sandbox in this process: AWS's operations on one side, capacity and jobs on the other, no wire between.

:class:`Sandbox` is what the server serves; a test may drive it directly, with a clock that it moves itself.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from airflow_sm_prefer.clock import Clock, FakeClock, SystemClock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import (
    ApiError,
    DroppedConnection,
    client_error,
    throttled,
    too_many_requests,
)
from airflow_sm_prefer.sandbox.batch.dispatcher import Dispatcher
from airflow_sm_prefer.sandbox.batch.ownership import is_for_service_jobs
from airflow_sm_prefer.sandbox.batch.training import TrainingMaker
from airflow_sm_prefer.sandbox.changes import Change, apply_change, clear_faults, read_change
from airflow_sm_prefer.sandbox.effects import Emit
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.operations.base import Operations
from airflow_sm_prefer.sandbox.operations.batch_environments import ServiceEnvironments
from airflow_sm_prefer.sandbox.operations.batch_jobs import ServiceJobs
from airflow_sm_prefer.sandbox.operations.batch_policies import SchedulingPolicies
from airflow_sm_prefer.sandbox.operations.batch_queues import JobQueues
from airflow_sm_prefer.sandbox.operations.batch_shares import QuotaShares
from airflow_sm_prefer.sandbox.operations.batch_tags import BatchTags
from airflow_sm_prefer.sandbox.operations.offerings import Offerings
from airflow_sm_prefer.sandbox.operations.plans import TrainingPlans
from airflow_sm_prefer.sandbox.operations.processing import ProcessingJobs
from airflow_sm_prefer.sandbox.operations.search import Search
from airflow_sm_prefer.sandbox.operations.service_quotas import ServiceQuotas
from airflow_sm_prefer.sandbox.operations.tags import Tags
from airflow_sm_prefer.sandbox.operations.training import TrainingJobs
from airflow_sm_prefer.sandbox.pace import Timekeeper
from airflow_sm_prefer.sandbox.rates import RateLimits
from airflow_sm_prefer.sandbox.runs import Runner
from airflow_sm_prefer.sandbox.scenario import Scenario
from airflow_sm_prefer.sandbox.scenario_file import as_scenario, as_text
from airflow_sm_prefer.sandbox.scripted import ScriptedRunner
from airflow_sm_prefer.sandbox.shapes import Constraints, service_model
from airflow_sm_prefer.sandbox.state.beginning import take_up
from airflow_sm_prefer.sandbox.state.folder import StateFolder
from airflow_sm_prefer.sandbox.state.keeper import FolderKeeper
from airflow_sm_prefer.sandbox.state.world import World

DEFAULT_CALLER = Caller("123456789012", "us-east-1")
"""Who calls when nobody says: the account that moto takes for unknown access keys."""

READS = ("Describe", "List", "Search", "Get")
"""How the names of operations begin that change nothing."""

MOST_STEPS = 20
"""How often one tick looks again: a job that starts, fails and starts again at one instant can't hold it for ever."""


@runtime_checkable
class TickingRunner(Protocol):
    """A runner that has no threads of its own and is moved on by the sandbox."""

    def keep_time(self, time: Timekeeper) -> None:
        """Take over the sandbox's time."""

    def tick(self) -> None:
        """Report everything that has happened by now."""

    def next_due(self) -> float:
        """Return the elapsed seconds at which there will be something to report."""


class Sandbox:
    """AWS's SageMaker jobs, with capacity, and AWS Batch's queues for them.

    Args:
        scenario: What there is and what goes wrong: a :class:`Scenario`, the path of a file, or a mapping as the file
            has it. Without one, capacity and quotas are ample.
        clock: The time.
        speed: How many seconds of durations pass in one second of the clock.
        runner: What makes jobs run; without one, a :class:`ScriptedRunner`.
        emit: Sends an event for an account and Region.
        state: The folder that everything is kept in, so that a sandbox with the same one goes on after this process
            was killed; without it, nothing is kept. A state goes on with the scenario and the speed that it has.

    Raises:
        InvalidScenario: the scenario has a mistake.
        InvalidSetting: the speed isn't above 0, or is too high; another sandbox uses the state, or it began with
            something else.
        StateUnreadable: the state is damaged, or is a later version's.
    """

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | Path | str | None = None,
        *,
        clock: Clock | None = None,
        speed: float | None = None,
        runner: Runner | None = None,
        emit: Emit | None = None,
        state: StateFolder | Path | str | None = None,
    ) -> None:
        self.folder, began = take_up(state, None if scenario is None else as_scenario(scenario), speed)
        self.scenario = began.scenario
        self.clock = clock or SystemClock()
        self.time = Timekeeper(self.clock, began.speed)
        self.runner = runner or ScriptedRunner()
        self.endpoint_url = ""
        self._leaping = threading.Lock()
        # Asked once: a look at a protocol's methods takes longer than a call does.
        self._ticking = self.runner if isinstance(self.runner, TickingRunner) else None
        if self._ticking is not None:
            self._ticking.keep_time(self.time)
        self.engine = Engine(
            scenario=self.scenario,
            time=self.time,
            runner=self.runner,
            emit=emit or _discard,
            endpoint_url=lambda: self.endpoint_url,
        )
        self.rates = RateLimits(self.scenario.rates)
        settings = self.scenario.settings
        lengths = {
            "InstancePreferenceList": settings.max_preferences,
            "ProcessingInstancePreferenceList": settings.max_preferences,
        }
        self._constraints = Constraints(lengths, open_enums=settings.allow_unknown_types)
        self._offerings = Offerings(self.engine)
        self._training = TrainingJobs(self.engine, self.scenario)
        maker = TrainingMaker(self._training.take_in, self._constraints)
        self.dispatcher = Dispatcher(self.engine, maker, self.scenario.batch)
        self.engine.follower = self.dispatcher
        groups = self._groups()
        self._handlers = {name: handler for group in groups for name, handler in group.handlers().items()}
        self._services = {name: group.SERVICE for group in groups for name in group.NAMES}
        self._keeper = None if self.folder is None else self._go_on(self.folder)

    def _go_on(self, folder: StateFolder) -> FolderKeeper:
        """Go on where a folder's state ends, and have what follows kept there."""
        keeper = FolderKeeper(folder, self.engine, World(self.engine, self.rates, self._offerings, self.dispatcher))
        self.engine.keeper = keeper
        try:
            keeper.restore()
        except BaseException:
            folder.close()
            raise
        return keeper

    def _groups(self) -> list[Operations]:
        return [
            self._training,
            ProcessingJobs(self.engine, self.scenario),
            Tags(self.engine),
            TrainingPlans(self.engine),
            self._offerings,
            Search(self.engine),
            ServiceQuotas(self.engine),
            ServiceEnvironments(self.dispatcher),
            JobQueues(self.dispatcher),
            SchedulingPolicies(self.dispatcher),
            QuotaShares(self.dispatcher),
            ServiceJobs(self.dispatcher),
            BatchTags(self.dispatcher),
        ]

    def has(self, service: str, operation: str) -> bool:
        """Whether an operation is ours, for some of its requests at least.

        Args:
            service: As botocore calls it.
            operation: In AWS's spelling.
        """
        return self._services.get(operation) == service

    def owns(self, operation: str, request: Mapping[str, Any], caller: Caller) -> bool:
        """Whether a request of an operation of ours is for us.

        Tags of anything but a job are not, nor a search for it, nor the quotas of another service; nor are Batch's job
        queues that have compute environments.
        """
        if self._services[operation] == "batch":
            with self.engine.locked():
                return is_for_service_jobs(self.dispatcher.estate(caller), operation, request)
        arn = request.get("ResourceArn", ":training-job/")
        return (
            (":training-job/" in arn or ":processing-job/" in arn)
            and request.get("Resource", "TrainingJob") == "TrainingJob"
            and request.get("ServiceCode", "sagemaker") == "sagemaker"
        )

    def call(
        self, operation: str, request: Mapping[str, Any] | None = None, caller: Caller = DEFAULT_CALLER
    ) -> dict[str, Any]:
        """Call an operation, as over the wire but without one.

        Args:
            operation: Its name, as ``CreateTrainingJob``.
            request: In botocore's shape; instants in epoch seconds.
            caller: Whose call it is.

        Returns:
            The response in botocore's shape; instants in epoch seconds.

        Raises:
            ApiError: AWS would have refused it.
            DroppedConnection: an injected fault ate the call or its answer.
        """
        body = dict(request or {})
        error = "Internal"
        try:
            response = self._answer(operation, body, caller)
            error = ""
        except ApiError as refusal:
            error = refusal.code
            raise
        except DroppedConnection:
            error = "Dropped"
            raise
        finally:
            self._note_call(operation, body, caller, error)
        return response

    def tick(self) -> None:
        """Do everything that is due by now, and what follows from it at once."""
        for _ in range(MOST_STEPS):
            self._tick_runner()
            self.engine.tick()
            if self.next_due() > self.time.now().elapsed:
                return

    def next_due(self) -> float:
        """Return the elapsed seconds at which :meth:`tick` will have something to do."""
        runner_due = float("inf") if self._ticking is None else self._ticking.next_due()
        return min(self.engine.next_due(), runner_due)

    def advance(self, seconds: float) -> None:
        """Move a :class:`FakeClock` on, stopping at every instant at which something is due.

        Raises:
            InvalidSetting: the sandbox has another clock.
        """
        if not isinstance(self.clock, FakeClock):
            msg = "only a sandbox with a FakeClock can be advanced; the time of any other passes by itself"
            raise InvalidSetting(msg)
        end = self.clock.time() + seconds
        self.tick()
        while self.clock.time() < end:
            until = min(max(self.time.pace.instant_of(self.next_due()), self.clock.time()), end)
            # At least a millisecond, so that rounding never leaves the clock standing.
            self.clock.advance(min(max(until - self.clock.time(), 0.001), end - self.clock.time()))
            self.tick()
        self.tick()

    def leap(self, seconds: float) -> None:
        """Let so many of the scenario's seconds pass at once, stopping wherever something is due; any clock will do.

        Instants stay those of the clock, so what happens on the way happens at nearly the same one.
        """
        with self._leaping:
            left = seconds
            self.tick()
            while left > 0:
                # At least a millisecond, so that what stays due never leaves the time standing.
                step = min(max(self.next_due() - self.time.now().elapsed, 0.001), left)
                left -= step
                self.engine.leap(step)
                self.tick()

    def change(self, **sections: Any) -> None:
        """Change what there is from now on: sections of a scenario file, ``speed`` and ``advance``, spelt as there.

        ``capacity``, ``spot``, ``plans``, ``quotas`` and ``rates`` replace what they name; faults are added to those
        that are still to come. Instants count from now. ``advance`` lets time pass at once, after all else.

        Raises:
            InvalidScenario: something has a mistake; nothing is changed.
        """
        self.apply(read_change(as_text(sections), "the change"))

    def apply(self, change: Change) -> None:
        """Apply a change that was read, all of it at one moment."""
        with self.engine.locked() as now:
            apply_change(change, self.engine, self.rates, self.dispatcher, now)
        self.tick()
        if change.advance:
            self.leap(change.advance)

    def clear_faults(self) -> None:
        """Forget every fault that is still to come."""
        with self.engine.locked() as now:
            clear_faults(self.engine)
            self.engine.record.add(now.instant, "control", {"sections": ["faults"], "change": {"faults": "cleared"}})

    def keep_record(self) -> None:
        """Keep the lines of the record that calls have left which changed nothing; every change is kept at once."""
        if self._keeper is not None and self._keeper.is_behind:
            with self.engine.locked():
                self._keeper.world_changed()

    def close(self) -> None:
        """End every run. A state keeps its jobs as they are; the next sandbox that is given it starts them again."""
        if self._keeper is not None:
            with contextlib.suppress(ApiError):
                self.keep_record()
            self._keeper.end()
        self.runner.close()
        if self.folder is not None:
            self.folder.close()

    def _answer(self, operation: str, request: dict[str, Any], caller: Caller) -> dict[str, Any]:
        service = self._services[operation]
        fault = self.engine.faults.for_call(operation, self._job_name(request, caller))
        if fault is not None and not fault.takes_effect:
            raise fault.exception()
        if not self.rates.allow(caller.account, caller.region, operation, self.clock.time()):
            raise throttled() if service != "batch" else too_many_requests()
        self._check(service, operation, request)
        self.tick()
        with self.engine.locked():
            response = self._handlers[operation](caller, request)
        if fault is not None:
            raise fault.exception()
        return response

    def _check(self, service: str, operation: str, request: dict[str, Any]) -> None:
        """Let a request through that botocore's model allows; Batch has an error code of its own for others."""
        try:
            self._constraints.check(service_model(service).operation_model(operation), request)
        except ApiError as refused:
            raise client_error(refused.message) if service == "batch" else refused from None

    def _tick_runner(self) -> None:
        if self._ticking is not None:
            self._ticking.tick()

    def _note_call(self, operation: str, request: Mapping[str, Any], caller: Caller, error: str) -> None:
        data = {
            "operation": operation,
            "account": caller.account,
            "region": caller.region,
            "name": self._job_name(request, caller),
            "error": error,
        }
        self.engine.record.add(self.clock.time(), "call", data)
        if error or not operation.startswith(READS):
            self.keep_record()

    def _job_name(self, request: Mapping[str, Any], caller: Caller) -> str:
        """Return the name of the job that a request is about, empty if it is about none; Batch has it by id or ARN."""
        if "jobId" in request and caller in self.dispatcher.estates:
            job = self.dispatcher.estates[caller].jobs.get(str(request["jobId"]).rpartition("/")[2])
            return job.name if job else ""
        members = ("TrainingJobName", "ProcessingJobName", "jobName")
        return str(next((request[member] for member in members if request.get(member)), ""))

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _discard(_account: str, _region: str, _event: dict[str, Any]) -> None:
    """Send an event to nobody."""
