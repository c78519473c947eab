"""One run: data down, containers up, results up, and how it ended."""

from __future__ import annotations

import logging
import os
import queue
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.sandbox.runner import environment, toolkit
from airflow_sm_prefer.sandbox.runner.failures import INTERNAL_ERROR, REASON_LENGTH, RunFailed, RunStopped
from airflow_sm_prefer.sandbox.runner.hosts import HOSTS_FILE, host_names, hosts_file
from airflow_sm_prefer.sandbox.runner.images import ImageTable
from airflow_sm_prefer.sandbox.runner.isolation import ML, Isolation, rewrite_scripts, rewritten
from airflow_sm_prefer.sandbox.runner.layout import Layout, layout_of
from airflow_sm_prefer.sandbox.runner.logs import GROUPS, LogStream
from airflow_sm_prefer.sandbox.runner.mirror import Mirror
from airflow_sm_prefer.sandbox.runner.process import Container, Launch
from airflow_sm_prefer.sandbox.runner.results import judged, upload_model
from airflow_sm_prefer.sandbox.runner.shims import module_folder, path_folder, write_shims
from airflow_sm_prefer.sandbox.runner.storage import Storage
from airflow_sm_prefer.sandbox.runs import Ending, Phase, RunResult, RunSpec

log = logging.getLogger(__name__)

#: How often checkpoints and continuous outputs are uploaded while a job runs, in seconds.
_SYNC_SECONDS = 1.0


class LocalRun:
    """One run, in a thread of its own; :class:`LocalRunner` makes it."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        folder: Path,
        images: ImageTable,
        isolation: Isolation,
        clock: Clock,
        client: Callable[[str], Any],
        on_phase: Callable[[Phase], None],
        on_end: Callable[[RunResult], None],
    ) -> None:
        self._spec, self._folder, self._images, self._isolation = spec, folder, images, isolation
        self._clock, self._client, self._on_phase, self._on_end = clock, client, on_phase, on_end
        self._roots = {host: folder / host / "ml" for host in host_names(spec.instance_count)}
        self._containers: dict[str, Container] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run_and_report, name=f"run-{spec.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def stop(self) -> None:
        """Send SIGTERM to the containers; one that hasn't begun doesn't."""
        for container in self._begin_no_more():
            container.stop()

    def kill(self) -> None:
        """Send SIGKILL to the containers; one that hasn't begun doesn't."""
        for container in self._begin_no_more():
            container.kill()

    def _begin_no_more(self) -> list[Container]:
        with self._lock:
            self._stopped.set()
            return list(self._containers.values())

    # -- from beginning to end ---------------------------------------------------------------------------

    def _run_and_report(self) -> None:
        try:
            result = self._run()
        except RunStopped:
            result = RunResult(Ending.STOPPED)
        except RunFailed as failed:
            result = RunResult(Ending.FAILED, failure_reason=str(failed)[:REASON_LENGTH])
        except Exception:
            log.exception("The sandbox could not run %s", self._spec.name)
            result = RunResult(Ending.FAILED, failure_reason=INTERNAL_ERROR)
        for container in self._containers.values():
            # Nothing runs any more after an ordinary end; whatever else has ended the run hasn't ended them.
            container.end()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._on_end(result)

    def _run(self) -> RunResult:
        if self._stopped.is_set():
            raise RunStopped
        self._on_phase(Phase.DOWNLOADING)
        storage = Storage(self._client("s3"), self._stopped.is_set)
        command = self._command()
        layout = layout_of(self._spec, storage)
        self._lay_out(layout)
        mirrors = layout.mirrors(list(self._roots.values()))
        for mirror in mirrors:
            mirror.note()
        self._start_containers(command)
        codes = self._wait_for_all([mirror for mirror in mirrors if mirror.continuous])
        self._on_phase(Phase.UPLOADING)
        artifacts = self._upload(storage, mirrors, failed=any(code for _, code in codes))
        return judged(self._spec, self._roots, codes, stopped=self._stopped.is_set(), artifacts=artifacts)

    @property
    def _what(self) -> Mapping[str, Any]:
        """Return the part of the request that names the image and what it runs."""
        part = "AlgorithmSpecification" if self._spec.kind == "training" else "AppSpecification"
        what: Mapping[str, Any] = self._spec.request[part]
        return what

    @property
    def _program(self) -> str | None:
        return toolkit.program_of(self._spec.request) if self._spec.kind == "training" else None

    @property
    def _image(self) -> str:
        what = self._what
        return what.get("ImageUri") or what.get("TrainingImage") or what.get("AlgorithmName") or ""

    def _command(self) -> list[str]:
        what = self._what
        if self._program is not None:
            python = self._images.python_for(self._image)
            return toolkit.command(self._program, python, self._spec.request.get("HyperParameters") or {})
        entrypoint, arguments = what.get("ContainerEntrypoint") or (), what.get("ContainerArguments") or ()
        return self._images.command(self._image, entrypoint, arguments)

    def _lay_out(self, layout: Layout) -> None:
        write_shims(self._shims, self._images.python_for(self._image))
        (self._folder / "hosts").write_text(hosts_file(list(self._roots), str(self._folder)), encoding="utf-8")
        for host, root in self._roots.items():
            for name in ("home", "tmp", "scratch"):
                (self._folder / host / name).mkdir(parents=True)
            layout.prepare(root, host, list(self._roots))
            if self._isolation is Isolation.REWRITTEN:
                rewrite_scripts(root, root)

    @property
    def _shims(self) -> Path:
        return self._folder / "shims"

    # -- containers --------------------------------------------------------------------------------------

    def _start_containers(self, command: list[str]) -> None:
        with self._lock:
            if self._stopped.is_set():
                raise RunStopped
            self._on_phase(Phase.TRAINING)
            for host in self._roots:
                # One by one, so that those which did start are known if another doesn't.
                self._containers[host] = self._container(command, host)

    def _wait_for_all(self, mirrors: list[Mirror]) -> list[tuple[str, int]]:
        """Return the hosts and their exit codes in the order in which they ended."""
        ended: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        for host in self._containers:
            threading.Thread(target=self._wait, args=(host, ended), daemon=True).start()
        codes: list[tuple[str, int]] = []
        while len(codes) < len(self._containers):
            try:
                codes.append(ended.get(timeout=_SYNC_SECONDS))
            except queue.Empty:
                for mirror in mirrors:
                    mirror.push()
        return codes

    def _wait(self, host: str, ended: queue.SimpleQueue[tuple[str, int]]) -> None:
        code = self._containers[host].wait()
        ended.put((host, code))
        if code != 0 and not self._stopped.is_set():
            # One host that fails takes the others with it; when all were told to stop, each has its grace.
            for other in self._containers.values():
                other.kill()

    def _container(self, command: list[str], host: str) -> Container:
        stream = LogStream(
            self._client("logs"),
            GROUPS[self._spec.kind],
            f"{self._spec.name}/{host}-{int(self._clock.time())}",
            self._clock,
        )
        stream.write(
            f"sandbox: {host}, {self._spec.instance_type}, /opt/ml by {self._isolation.value}; no requirements"
        )
        return Container(self._launch(command, host), stream)

    def _launch(self, command: list[str], host: str) -> Launch:
        root, variables = self._roots[host], self._variables(host)
        workdir = "/" if self._program is None else toolkit.CODE
        if self._isolation is Isolation.NAMESPACE:
            mounts = [(str(root), ML)]
            if Path(HOSTS_FILE).is_file():
                mounts.append((str(self._folder / "hosts"), HOSTS_FILE))
            return Launch(command, variables, workdir, True, mounts, str(self._folder / host / "scratch"))
        told = [rewritten(part, root) for part in command]
        return Launch(told, {key: rewritten(value, root) for key, value in variables.items()}, rewritten(workdir, root))

    def _variables(self, host: str) -> dict[str, str]:
        own = self._folder / host
        variables = environment.base_environment(self._spec, str(own / "home"), str(own / "tmp"))
        if self._program is not None:
            variables |= toolkit.toolkit_environment(self._spec, host, list(self._roots))
        variables |= environment.job_environment(self._spec)
        before = {"PATH": path_folder(self._shims), "PYTHONPATH": module_folder(self._shims)}
        return variables | {
            name: os.pathsep.join(filter(None, (str(folder), variables.get(name)))) for name, folder in before.items()
        }

    # -- results -----------------------------------------------------------------------------------------

    def _upload(self, storage: Storage, mirrors: list[Mirror], *, failed: bool) -> str | None:
        """Upload what there is, after a failure or a stop too; the script's own failure comes before the upload's."""
        try:
            for mirror in mirrors:
                mirror.push()
            if self._spec.kind == "training":
                return upload_model(self._spec, storage, list(self._roots.values()))
        except RunFailed:
            if not failed:
                raise
        return None
