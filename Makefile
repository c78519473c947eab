# The targets a contributor needs. Each makes .venv first, from the locked versions.

# The first that runs and is of a version that works: a name on the PATH alone says neither.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	$$python -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1 \
	&& { echo $$python; break; }; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install

.PHONY: test test-fast check demo demo-stop lock clean

# Locked requirements first, with their hashes; then the package itself, without its dependencies:
# pip refuses hashes together with an editable install.
.PHONY: .venv
.venv: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 to 3.13 with its venv module is needed (on Debian: apt-get install python3-venv), \
	and none is on the PATH. Say where one is: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) --retries 10 --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch .venv/.ready

test: .venv/.ready
	$(BIN)/python -m pytest

test-fast: .venv/.ready
	$(BIN)/python -m pytest tests/unit -n auto

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# KEEP=1 leaves it running; make demo-stop ends it then.
demo: .venv/.ready
	@$(BIN)/sm-prefer demo $(if $(KEEP),--keep)

demo-stop: .venv/.ready
	@$(BIN)/sm-prefer demo --stop

# Takes in what pyproject.toml asks for anew, and with UPGRADE=1 the newest of everything.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --extra sandbox --extra dev \
		--generate-hashes --no-header --no-annotate $(if $(UPGRADE),--upgrade) --output-file requirements.lock
	rm -rf build/lock

clean:
	rm -rf .venv .demo build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
