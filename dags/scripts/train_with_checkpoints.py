"""Fit a classifier of handwritten digits epoch by epoch: a SageMaker training job that may be interrupted at any time.

Reads the channel ``train`` (``digits.csv.gz``: 64 pixels and the digit, a row each) and the hyperparameters ``epochs``
and ``epoch_seconds``, which stretches each so that there is something to interrupt. After each epoch it writes
``/opt/ml/checkpoints/epoch-0003.joblib``; the end of it all is ``/opt/ml/model/model.joblib``.

With a CheckpointConfig, SageMaker copies that folder to S3 while the job runs, and from there into the next job that
names the same place. To go on there, on whatever instance type, a script has to

- look for a checkpoint before it does anything else, and begin after its epoch;
- keep in it all that the next epoch needs, and draw nothing at random that doesn't follow from the epoch's number;
- write it under another name first, since it may be killed, or copied, in the middle of that;
- pass over one that can't be read, and take the one before.
"""

import json
import time
from pathlib import Path

import joblib
import numpy as np
from sklearn.linear_model import SGDClassifier

ML = Path("/opt/ml")
CHECKPOINTS = ML / "checkpoints"
KEPT = 2


def last_checkpoint() -> tuple[int, SGDClassifier]:
    """Return the last epoch that was finished, and the model as it was then."""
    for path in sorted(CHECKPOINTS.glob("epoch-*.joblib"), reverse=True):
        try:
            epoch, model = joblib.load(path)
        except Exception as error:  # whatever is wrong with it, the one before is as good as any
            print(f"{path.name} can't be read: {error!r}")
        else:
            print(f"Going on after epoch {epoch}.")
            return epoch, model
    print("No checkpoint: beginning with epoch 1.")
    return 0, SGDClassifier(loss="log_loss", alpha=0.001)


def write_checkpoint(epoch: int, model: SGDClassifier) -> None:
    """Keep the model, and the one of the epoch before; a reader sees the whole of it or nothing."""
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    unfinished = CHECKPOINTS / "unfinished"
    joblib.dump((epoch, model), unfinished)
    unfinished.replace(CHECKPOINTS / f"epoch-{epoch:04d}.joblib")
    for old in sorted(CHECKPOINTS.glob("epoch-*.joblib"))[:-KEPT]:
        old.unlink()


def main() -> None:
    """Go on from the last checkpoint to the last epoch, and save the model."""
    hyperparameters = json.loads((ML / "input/config/hyperparameters.json").read_text())
    data = np.vstack([np.loadtxt(path, delimiter=",") for path in sorted((ML / "input/data/train").glob("*.csv*"))])
    pixels, digits = data[:, :-1] / 16, data[:, -1].astype(int)
    done, model = last_checkpoint()
    for epoch in range(done + 1, int(hyperparameters.get("epochs", "10")) + 1):
        order = np.random.default_rng(epoch).permutation(len(digits))
        model.partial_fit(pixels[order], digits[order], classes=np.arange(10))
        time.sleep(float(hyperparameters.get("epoch_seconds", "0")))
        write_checkpoint(epoch, model)
        print(f"epoch={epoch}; train:accuracy={model.score(pixels, digits):.4f}", flush=True)
    joblib.dump(model, ML / "model/model.joblib")


if __name__ == "__main__":
    main()
