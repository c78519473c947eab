"""The CloudFormation template, as the program cfn-lint sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[2] / "deploy" / "queues.yaml"

#: The exit code of cfn-lint for errors.
ERRORS = 2


def lint(template: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("cfn-lint")), "--", str(template)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_cfn_lint_finds_nothing_in_it() -> None:
    result = lint(TEMPLATE)
    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ServiceEnvironmentType: SAGEMAKER_TRAINING", "ServiceEnvironmentType: SAGEMAKER"),
        ("MaxTimeSeconds: !Ref MisfitSeconds", "MaxTimeSeconds: 60"),
        ("ServiceEnvironment: !Ref P5Environment", "ServiceEnvironment: !Ref P6Environment"),
        ("      PreemptionConfiguration: {InSharePreemption: ENABLED}\n", ""),
    ],
)
def test_cfn_lint_knows_the_resources_and_would_find_a_mistake(tmp_path: Path, before: str, after: str) -> None:
    broken = tmp_path / "queues.yaml"
    assert before in TEMPLATE.read_text()
    broken.write_text(TEMPLATE.read_text().replace(before, after, 1))
    result = lint(broken)
    assert result.returncode == ERRORS, result.stderr
    assert str(broken) in result.stdout
