"""What an author wrote, rendered, checked and cut into waves: all that a worker needs to go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_sm_prefer.aws.training_request import check_training_request
from airflow_sm_prefer.errors import InvalidPreference, StateUnreadable
from airflow_sm_prefer.model.job import JobKind, resources_of
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.preference import InstancePreference, PreferenceList
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.model.rules import validate_request
from airflow_sm_prefer.model.service_job import training_request
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement import budget
from airflow_sm_prefer.placement.fullest import fullest
from airflow_sm_prefer.placement.naming import fingerprint, job_name
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.queueing import INNER_NAME_LIMIT, Terms, client_token, inner_name
from airflow_sm_prefer.placement.request import Envelope, build_request, max_runtime
from airflow_sm_prefer.placement.state import Entry, Limits, State
from airflow_sm_prefer.placement.waves import Wave, compile_waves

#: What a request is checked with before there is one to send; all of our jobs have as many tags, or a few more.
_SOME_ROLE = "arn:aws:iam::123456789012:role/some-role"
_SOME_ENVELOPE = Envelope(
    name="name",
    tags=Ownership("task", "deployment", "ti", 0, "fingerprint", 1, 0.0).to_tags(),
    pending_limit=0,
    inner_name="n" * INNER_NAME_LIMIT,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One task's job: the config without our additions, the list, its waves, and the terms that queues are given."""

    kind: JobKind
    config: Mapping[str, Any]
    preferences: PreferenceList
    waves: tuple[Wave, ...]
    terms: Terms = field(default_factory=Terms)

    @property
    def name_prefix(self) -> str:
        """The job name that the author gave; empty if none."""
        return str(self.config.get(self.kind.name_key) or "")

    def job_name(self, this: Try, submission: int) -> str:
        """Return the name of a task instance's nth job, wherever it is sent to."""
        return job_name(this.identity, self.name_prefix or this.name_prefix, submission)

    @property
    def fingerprint(self) -> str:
        """What the job does."""
        return fingerprint(self.kind, self.config)

    def start(
        self, limits: Limits, *, recover: int = 0, recover_any: bool = False, submits_only: bool = False
    ) -> State:
        """Return the machine's first state."""
        return State(
            kind=self.kind,
            entries=self._entries(),
            waves=tuple(wave.indices for wave in self.waves),
            limits=limits,
            fingerprint=self.fingerprint,
            recover=recover,
            recover_any=recover_any,
            submits_only=submits_only,
            priority=self.terms.priority,
        )

    @property
    def queues(self) -> tuple[str, ...]:
        """The job queues on the list, each once, in order."""
        return tuple(dict.fromkeys(wave.queue.name for wave in self.waves if wave.queue is not None))

    @property
    def is_direct(self) -> bool:
        """Whether any of it goes to SageMaker itself."""
        return any(wave.queue is None for wave in self.waves)

    def check_payloads(self) -> None:
        """Check the payload of every queue on the list as SageMaker will, which Batch leaves to its dispatch.

        A role that is only named is looked up by its name later on, and not checked here.

        Raises:
            InvalidRequest: one can't work.
        """
        is_named = not str(self.config.get("RoleArn", "arn:")).startswith("arn:")
        checked = replace(self, config={**self.config, "RoleArn": _SOME_ROLE}) if is_named else self
        for number, wave in enumerate(self.waves):
            if wave.queue is not None:
                check_training_request(training_request(checked.request(_SOME_ENVELOPE, number, frozenset())))

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether a training job that is started again finds what the last one has saved."""
        return bool(self.config.get("CheckpointConfig")) or all(p.overrides.checkpoint for p in self.preferences)

    def max_runtime(self) -> float:
        """Return the job's own MaxRuntimeInSeconds."""
        return max_runtime(self.config)

    def request(self, envelope: Envelope, wave: int, without: frozenset[int]) -> dict[str, Any]:
        """Return the request of one wave, without the entries that are left out."""
        part = self.waves[wave].without(without)
        return build_request(self.kind, self.config, self.preferences, part, envelope, terms=self.terms)

    def _entries(self) -> tuple[Entry, ...]:
        if self.preferences.as_written:
            return (Entry("the instances of the request", 0),)
        return tuple(self._entry(n, preference) for n, preference in enumerate(self.preferences))

    def _entry(self, index: int, preference: InstancePreference) -> Entry:
        return Entry(
            instance_type=preference.instance_type,
            count=self.preferences.count_of(index),
            kind=preference.kind,
            plan=preference.training_plan_arn or self._job_plan,
            wait_for_plan=preference.wait_for_plan,
            queue=preference.queue.name if preference.queue else None,
            share=preference.queue.share if preference.queue else None,
        )

    @property
    def _job_plan(self) -> str | None:
        """The training plan of the whole job, which AWS binds to the entry of the plan's type."""
        arn: str | None = resources_of(self.kind, self.config).get("TrainingPlanArn")
        return arn


def make_plan(
    kind: JobKind,
    config: Mapping[str, Any],
    prefer: Any,
    *,
    known: Callable[[str], bool],
    allow_unknown_types: bool,
    native: bool,
    queues: Queues | None = None,
    terms: Terms | None = None,
) -> Plan:
    """Check what an author wrote and compile it.

    Args:
        kind: Training or processing.
        config: The Create request without instances, rendered, its integers made integers.
        prefer: The preference list as written; None leaves it to the config.
        known: Whether the installed botocore knows an instance type.
        allow_unknown_types: Whether types that it doesn't know pass.
        native: Whether AWS takes preference lists here.
        queues: What the operator says about queues; None where it knows none.
        terms: What service jobs are submitted with.

    Raises:
        InvalidInput: it can't work; nothing was sent.
    """
    preferences = parse_preferences(
        prefer, kind=kind, config=config, known_types=known, allow_unknown_types=allow_unknown_types, queues=queues
    )
    validate_request(config, preferences, kind)
    listed = prefer is not None or bool(resources_of(kind, config).get("InstancePreferences"))
    # A training config with its own InstanceType and no list stays as it is; a processing job always goes as a list,
    # so that AWS says what it selected.
    waves = compile_waves(preferences, native=native and (listed or kind is JobKind.PROCESSING))
    plan = Plan(kind, config, preferences, waves, terms or Terms())
    _check_size(plan)
    _check_plan_of_the_job(plan)
    return plan


def envelope(plan: Plan, this: Try, state: State, owner: Ownership, now: float) -> Envelope:
    """Return what the next job is sent with: its name, our tags and how long it may wait."""
    name = plan.job_name(this, owner.submission)
    return Envelope(
        # Names of service jobs are looked up without regard to case; lower case shows that.
        name=name if plan.waves[state.wave].queue is None else name.lower(),
        tags=owner.to_tags(),
        pending_limit=budget.pending_limit(state, now),
        inner_name=inner_name(this.identity, owner.submission),
        token=client_token(this.identity, owner.submission),
        priority=state.priority,
    )


def _check_size(plan: Plan) -> None:
    """Refuse a list of which the account, with an attempt at every wave, would not fit where Airflow keeps it."""
    try:
        fullest(plan.start(Limits(budget=0.0))).to_json()
    except StateUnreadable as error:
        many = f"The list has {len(plan.preferences.preferences)} entries in {len(plan.waves)} requests"
        msg = f"{many}, and the account of what came of each doesn't fit in what Airflow keeps of a task. Shorten it."
        raise InvalidPreference(msg) from error


def _check_plan_of_the_job(plan: Plan) -> None:
    """Refuse a plan for the whole job where there are several requests: AWS takes it only in that of its type."""
    resources = resources_of(plan.kind, plan.config)
    if len(plan.waves) > 1 and resources.get("TrainingPlanArn") is not None:
        msg = (
            f"ResourceConfig.TrainingPlanArn is for one request, and the list needs {len(plan.waves)}.\n"
            "Take it away, and write the entry that it is for as training_plan(type, arn=…)."
        )
        raise InvalidPreference(msg)
