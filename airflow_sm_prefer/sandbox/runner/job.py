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
from airflow_sm_prefer.sandbox.runner import environment
from airflow_sm_prefer.sandbox.runner.failures import INTERNAL_ERROR, REASON_LENGTH, RunFailed, algorithm_error
from airflow_sm_prefer.sandbox.runner.images import ImageTable
from airflow_sm_prefer.sandbox.runner.isolation import ML, Isolation, in_namespace, rewrite_scripts, rewritten
from airflow_sm_prefer.sandbox.runner.layout import ProcessingLayout, TrainingLayout, host_names
from airflow_sm_prefer.sandbox.runner.logs import GROUPS, LogStream
from airflow_sm_prefer.sandbox.runner.process import Container
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
        self._hosts = host_names(spec.instance_count)
        self._containers: list[Container] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._uploaded: dict[Path, tuple[int, int]] = {}
        self._thread = threading.Thread(target=self._run_and_report, name=f"run-{spec.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def stop(self) -> None:
        """Send SIGTERM to the containers; one that hasn't begun doesn't."""
        for container in self._stop_beginning():
            container.stop()

    def kill(self) -> None:
        """Send SIGKILL to the containers; one that hasn't begun doesn't."""
        for container in self._stop_beginning():
            container.kill()

    def _stop_beginning(self) -> list[Container]:
        """Begin no more containers; returns those that have begun."""
        with self._lock:
            self._stopped.set()
            return list(self._containers)

    # -- from beginning to end ---------------------------------------------------------------------------

    def _run_and_report(self) -> None:
        try:
            result = self._run()
        except RunFailed as failed:
            result = RunResult(Ending.FAILED, failure_reason=str(failed)[:REASON_LENGTH])
        except Exception:
            log.exception("The sandbox could not run %s", self._spec.name)
            result = RunResult(Ending.FAILED, failure_reason=INTERNAL_ERROR)
        for container in self._containers:
            # Nothing runs any more after an ordinary end; whatever else has ended the run hasn't ended them.
            container.end()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._on_end(result)

    def _run(self) -> RunResult:
        self._on_phase(Phase.DOWNLOADING)
        storage = Storage(self._client("s3"))
        layout: TrainingLayout | ProcessingLayout
        layout = TrainingLayout(self._spec, storage) if self._is_training else ProcessingLayout(self._spec, storage)
        command = self._command(layout)
        write_shims(self._shims, self._images.python_for(self._image))
        for host in self._hosts:
            layout.prepare(self._root(host), host, self._hosts)
            (self._folder / host / "home").mkdir()
            if self._isolation is Isolation.REWRITTEN:
                rewrite_scripts(self._root(host), self._root(host))
        self._on_phase(Phase.TRAINING)
        codes = self._run_containers(command, storage, layout)
        self._on_phase(Phase.UPLOADING)
        return self._judge(codes, self._upload_results(storage, layout, failed=any(code for _, code in codes)))

    @property
    def _is_training(self) -> bool:
        return self._spec.kind == "training"

    def _root(self, host: str) -> Path:
        """Return the folder that a host sees as ``/opt/ml``."""
        return self._folder / host / "ml"

    @property
    def _shims(self) -> Path:
        return self._folder / "shims"

    @property
    def _what(self) -> Mapping[str, Any]:
        """Return the part of the request that names the image and what it runs."""
        what: Mapping[str, Any] = self._spec.request[
            "AlgorithmSpecification" if self._is_training else "AppSpecification"
        ]
        return what

    @property
    def _image(self) -> str:
        what = self._what
        return what.get("ImageUri") or what.get("TrainingImage") or what.get("AlgorithmName") or ""

    def _command(self, layout: TrainingLayout | ProcessingLayout) -> list[str]:
        what = self._what
        entrypoint = what.get("ContainerEntrypoint") or ()
        if isinstance(layout, TrainingLayout) and layout.program and not entrypoint:
            options = environment.arguments(self._spec.request.get("HyperParameters") or {})
            return [self._images.python_for(self._image), f"{ML}/code/{layout.program}", *options]
        return self._images.command(self._image, entrypoint, what.get("ContainerArguments") or ())

    # -- containers --------------------------------------------------------------------------------------

    def _run_containers(
        self, command: list[str], storage: Storage, layout: TrainingLayout | ProcessingLayout
    ) -> list[tuple[int, int]]:
        with self._lock:
            if self._stopped.is_set():
                return []
            for host in self._hosts:
                # One by one, so that those which did start are known if another doesn't.
                self._containers.append(self._container(command, host))
        ended: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
        for number in range(len(self._containers)):
            threading.Thread(target=self._wait, args=(number, ended), daemon=True).start()
        return self._collect(ended, lambda: self._sync(storage, layout, at_end=False))

    def _wait(self, number: int, ended: queue.SimpleQueue[tuple[int, int]]) -> None:
        code = self._containers[number].wait()
        ended.put((number, code))
        if code != 0:
            # One host that fails takes the others with it.
            for other in self._containers:
                other.kill()

    def _collect(self, ended: queue.SimpleQueue[tuple[int, int]], sync: Callable[[], None]) -> list[tuple[int, int]]:
        """Return the hosts and their exit codes in the order in which they ended."""
        codes: list[tuple[int, int]] = []
        while len(codes) < len(self._containers):
            try:
                codes.append(ended.get(timeout=_SYNC_SECONDS))
            except queue.Empty:
                sync()
        return codes

    def _container(self, command: list[str], host: str) -> Container:
        root = self._root(host)
        workdir = f"{ML}/code" if self._is_training and self._has_program else "/"
        variables = self._variables(host, workdir)
        stream = LogStream(
            self._client("logs"),
            GROUPS[self._spec.kind],
            f"{self._spec.name}/{host}-{int(self._clock.time())}",
            self._clock,
        )
        stream.write(
            f"sandbox: {host}, {self._spec.instance_type}, /opt/ml by {self._isolation.value}; no requirements"
        )
        if self._isolation is Isolation.NAMESPACE:
            return Container(in_namespace(command, root, workdir), variables, root, stream)
        told = [rewritten(part, root) for part in command]
        variables = {key: rewritten(value, root) for key, value in variables.items()}
        return Container(told, variables, Path(rewritten(workdir, root)), stream)

    @property
    def _has_program(self) -> bool:
        hyperparameters = self._spec.request.get("HyperParameters") or {}
        return "sagemaker_program" in hyperparameters

    def _variables(self, host: str, workdir: str) -> dict[str, str]:
        variables = environment.base_environment(self._spec, str(self._folder / host / "home"))
        if self._is_training:
            variables |= environment.training_environment(self._spec, host, self._hosts, workdir)
        else:
            variables |= environment.processing_environment(self._spec)
        before = {"PATH": path_folder(self._shims), "PYTHONPATH": module_folder(self._shims)}
        return variables | {
            name: os.pathsep.join(filter(None, (str(folder), variables.get(name)))) for name, folder in before.items()
        }

    # -- results -----------------------------------------------------------------------------------------

    def _sync(self, storage: Storage, layout: TrainingLayout | ProcessingLayout, *, at_end: bool) -> None:
        for host in self._hosts:
            root = self._root(host)
            if isinstance(layout, TrainingLayout):
                config = self._spec.request.get("CheckpointConfig")
                if config:
                    storage.upload_folder(layout.checkpoints(root), config["S3Uri"], self._uploaded)
                continue
            for address, folder, continuous in layout.outputs(root):
                if at_end or continuous:
                    storage.upload_folder(folder, address, self._uploaded, follow=False)

    def _upload_results(
        self, storage: Storage, layout: TrainingLayout | ProcessingLayout, *, failed: bool
    ) -> str | None:
        """Upload what there is; where the script itself has failed, that is the reason and not its results' way."""
        try:
            self._sync(storage, layout, at_end=True)
            return self._upload_model(storage) if self._is_training else None
        except RunFailed:
            if failed:
                return None
            raise

    def _upload_model(self, storage: Storage) -> str | None:
        """Upload what the first host has in ``model`` and ``output/data``, after a failure or a stop too.

        Returns:
            The model's address: of an archive, or of a prefix if OutputDataConfig has no compression; None if there is
            no model.
        """
        output = self._spec.request["OutputDataConfig"]
        base = f"{output['S3OutputPath'].rstrip('/')}/{self._spec.name}/output"
        root = self._root(self._hosts[0])
        if output.get("CompressionType") == "NONE":
            storage.upload_folder(root / "output/data", f"{base}/data")
            return f"{base}/model/" if storage.upload_folder(root / "model", f"{base}/model") else None
        storage.upload_archive(root / "output/data", f"{base}/output.tar.gz")
        address = f"{base}/model.tar.gz"
        return address if storage.upload_archive(root / "model", address) else None

    def _judge(self, codes: list[tuple[int, int]], artifacts: str | None) -> RunResult:
        message = self._said("message")[:REASON_LENGTH] or None
        if self._stopped.is_set():
            return RunResult(Ending.STOPPED, exit_message=message, model_artifacts=artifacts)
        failed = next(((number, code) for number, code in codes if code != 0), None)
        if failed is None:
            return RunResult(Ending.COMPLETED, exit_message=message, model_artifacts=artifacts)
        number, code = failed
        reason = algorithm_error(self._said("failure", self._hosts[number]), code)
        return RunResult(Ending.FAILED, failure_reason=reason, exit_message=message, model_artifacts=artifacts)

    def _said(self, name: str, host: str = "algo-1") -> str:
        path = self._root(host) / "output" / name
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
