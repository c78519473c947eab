"""Split and scale scikit-learn's handwritten digits: a SageMaker processing job.

Reads ``/opt/ml/processing/input/raw/digits.csv.gz`` (64 pixels and the digit, a row each) and writes
``train/train.csv``, ``test/test.csv`` and ``scaler/scaler.json`` below ``/opt/ml/processing/output``.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

INPUT = Path("/opt/ml/processing/input/raw/digits.csv.gz")
OUTPUT = Path("/opt/ml/processing/output")


def write(name: str, pixels: np.ndarray, digits: np.ndarray) -> None:
    """Write a set as CSV, the digit first."""
    folder = OUTPUT / name
    folder.mkdir(parents=True, exist_ok=True)
    np.savetxt(folder / f"{name}.csv", np.column_stack([digits, pixels]), delimiter=",", fmt="%.6g")
    print(f"{name}: {len(digits)} digits")


def main() -> None:
    """Split, scale by the training set, and write both and the scale."""
    data = np.loadtxt(INPUT, delimiter=",")
    pixels, digits = data[:, :-1], data[:, -1].astype(int)
    train_x, test_x, train_y, test_y = train_test_split(
        pixels, digits, test_size=0.25, stratify=digits, random_state=20
    )
    scaler = StandardScaler().fit(train_x)
    write("train", scaler.transform(train_x), train_y)
    write("test", scaler.transform(test_x), test_y)
    folder = OUTPUT / "scaler"
    folder.mkdir(parents=True, exist_ok=True)
    scale = {"mean": scaler.mean_.tolist(), "scale": scaler.scale_.tolist()}
    (folder / "scaler.json").write_text(json.dumps(scale))


if __name__ == "__main__":
    main()
