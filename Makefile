# The targets a contributor needs. Each makes .venv first, from the locked versions.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || echo python3)
BIN := .venv/bin

.PHONY: test test-fast check demo clean

# Locked requirements first, with their hashes; then the package itself, without its dependencies:
# pip refuses hashes together with an editable install.
.PHONY: .venv
.venv: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] <= (3, 13), "Python 3.11 to 3.13 is needed; say which: make PYTHON=python3.12"'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch .venv/.ready

test: .venv/.ready
	$(BIN)/python -m pytest

test-fast: .venv/.ready
	$(BIN)/python -m pytest tests/unit -n auto

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: .venv/.ready
	$(BIN)/sm-prefer demo $(if $(KEEP),--keep)

clean:
	rm -rf .venv .demo build dist .pytest_cache .mypy_cache .ruff_cache
