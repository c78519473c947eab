"""Fit a classifier of handwritten digits: a SageMaker training job.

Reads the channel ``train`` and the hyperparameters ``C`` and ``max_iter``; writes ``/opt/ml/model/model.joblib``, which
SageMaker packs into ``model.tar.gz``.
"""

import json
from pathlib import Path

import joblib
import numpy as np
from sklearn.linear_model import LogisticRegression

ML = Path("/opt/ml")


def main() -> None:
    """Fit, say how well, and save."""
    hyperparameters = json.loads((ML / "input/config/hyperparameters.json").read_text())
    files = sorted((ML / "input/data/train").glob("*.csv"))
    data = np.vstack([np.loadtxt(path, delimiter=",") for path in files])
    digits, pixels = data[:, 0].astype(int), data[:, 1:]
    model = LogisticRegression(
        C=float(hyperparameters.get("C", "1.0")), max_iter=int(hyperparameters.get("max_iter", "500"))
    )
    model.fit(pixels, digits)
    print(f"train:accuracy={model.score(pixels, digits):.4f}; digits={len(digits)}")
    joblib.dump(model, ML / "model/model.joblib")


if __name__ == "__main__":
    main()
