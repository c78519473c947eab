"""What becomes of a run: what it leaves goes to S3, and how it ended is put into SageMaker's words.

Source: https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-output.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from airflow_sm_prefer.sandbox.runner.failures import RunFailed, algorithm_error
from airflow_sm_prefer.sandbox.runner.storage import Storage
from airflow_sm_prefer.sandbox.runs import Ending, RunResult, RunSpec

#: ExitMessage is cut to this many bytes (https://docs.aws.amazon.com/sagemaker/latest/dg/byoc-metadata.html).
_MESSAGE_BYTES = 1024


def upload_model(spec: RunSpec, storage: Storage, roots: Sequence[Path]) -> str | None:
    """Upload what all hosts together have in ``model`` and in ``output/data``, however the job ended.

    That a failed job's model goes up too is seen in its statuses: https://github.com/huggingface/notebooks/issues/136

    Returns:
        The model's address: of an archive, or of a prefix if OutputDataConfig has no compression; None if there is
        no model.
    """
    output = spec.request["OutputDataConfig"]
    base = f"{output['S3OutputPath'].rstrip('/')}/{spec.name}/output"
    models, data = [root / "model" for root in roots], [root / "output/data" for root in roots]
    if output.get("CompressionType") == "NONE":
        # The first host comes last: of a name that several have, its file is the one that stays.
        for folder in reversed(data):
            storage.upload_folder(folder, f"{base}/data")
        files = sum(storage.upload_folder(folder, f"{base}/model") for folder in reversed(models))
        return f"{base}/model/" if files else None
    storage.upload_archive(data, f"{base}/output.tar.gz")
    address = f"{base}/model.tar.gz"
    return address if storage.upload_archive(models, address) else None


def judged(
    spec: RunSpec, roots: Mapping[str, Path], codes: Sequence[tuple[str, int]], *, stopped: bool, artifacts: str | None
) -> RunResult:
    """Return how a run ended.

    Args:
        spec: The job.
        roots: Each host's folder.
        codes: The hosts and their exit codes, in the order in which they ended.
        stopped: Whether it was stopped.
        artifacts: The model's address.
    """
    message = _exit_message(spec, roots.values(), strict=not stopped and not any(code for _, code in codes))
    if stopped:
        return RunResult(Ending.STOPPED, exit_message=message, model_artifacts=artifacts)
    failed = next(((host, code) for host, code in codes if code != 0), None)
    if failed is None:
        return RunResult(Ending.COMPLETED, exit_message=message, model_artifacts=artifacts)
    host, code = failed
    reason = algorithm_error(_said(roots[host] / "output/failure").decode(errors="replace"), code)
    return RunResult(Ending.FAILED, failure_reason=reason, exit_message=message, model_artifacts=artifacts)


def _exit_message(spec: RunSpec, roots: Iterable[Path], *, strict: bool) -> str | None:
    """Return what a processing job's hosts together wrote; what isn't UTF-8 fails a job that had no other fault."""
    if spec.kind != "processing":
        return None
    said = b"".join(_said(root / "output/message") for root in roots)
    try:
        text = said.decode()
    except UnicodeDecodeError:
        if strict:
            msg = "ClientError: /opt/ml/output/message has to be UTF-8, and isn't."
            raise RunFailed(msg) from None
        return None
    return text.encode()[:_MESSAGE_BYTES].decode(errors="ignore") or None


def _said(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
