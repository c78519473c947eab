# The targets a contributor needs. Each makes .venv first, from the locked versions.

# The first that runs and is of a version that works: a name on the PATH alone says neither.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3 python; do \
	$$python -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1 \
	&& { echo $$python; break; }; done)
BIN := .venv/bin
CLIENTS := .venv-clients/bin
BENCH := .venv-bench/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install

.PHONY: test test-fast test-clients test-compose test-reruns sequences check bench demo demo-stop lock clean

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

# The AWS CLI and the SageMaker Python SDK, which the sandbox is tried with: 80 packages and a gigabyte, so apart.
.PHONY: .venv-clients
.venv-clients: .venv-clients/.ready

.venv-clients/.ready: requirements-clients.lock .venv/.ready
	$(BIN)/python -m venv .venv-clients
	$(CLIENTS)/python -m pip --quiet --disable-pip-version-check install --retries 10 --require-hashes \
		-r requirements-clients.lock
	@touch .venv-clients/.ready

# The product with the Amazon provider's trigger able to run, and matplotlib: what make bench needs.
.PHONY: .venv-bench
.venv-bench: .venv-bench/.ready

.venv-bench/.ready: requirements-bench.lock pyproject.toml .venv/.ready
	$(BIN)/python -m venv .venv-bench
	$(BENCH)/python -m pip --quiet --disable-pip-version-check install --retries 10 --require-hashes \
		-r requirements-bench.lock
	$(BENCH)/python -m pip --quiet --disable-pip-version-check install --no-deps --no-build-isolation --editable .
	@touch .venv-bench/.ready

# A file's tests stay together: some share a server that takes long to come up. So do all that start an Airflow; in the
# order of the folders they come first and the quick ones last. By number of tests, the slowest would come last.
PYTEST_OPTIONS ?=
test: .venv/.ready
	$(BIN)/python -m pytest -n 2 --no-loadscope-reorder $(PYTEST_OPTIONS)

# What follows clicks in Airflow's UI, and kills of its processes, on a real Airflow.
DATABASE ?= postgresql
test-reruns: .venv/.ready
	RERUNS=1 RERUNS_DATABASE=$(DATABASE) $(BIN)/python -m pytest tests/e2e/reruns

# The same at random; with SEED, beginning with another sequence than the first; DAGS is all, direct or queued.
COUNT ?= 20
SEED ?= 1
DAGS ?= all
sequences: .venv/.ready
	$(BIN)/python -m tests.e2e.reruns.sequences --count $(COUNT) --seed $(SEED) --database $(DATABASE) \
		--dags $(DAGS)

# Fifty runs at once on what docker-compose.yaml starts, as processes, whose services are killed meanwhile: KILLS is
# random, triggerer or none.
KILLS ?= random
RUNS ?= 50
test-compose: .venv/.ready
	$(BIN)/python -m tests.e2e.compose.kills --kills $(KILLS) --seed $(SEED) --runs $(RUNS)

test-clients: .venv/.ready .venv-clients/.ready
	$(BIN)/python -m pytest tests/integration/test_sandbox_with_sdk.py tests/integration/test_sandbox_with_cli.py

test-fast: .venv/.ready
	$(BIN)/python -m pytest tests/unit -n auto

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cfn-lint deploy/*.yaml

# Our trigger beside the Amazon provider's, for each number of jobs; about half an hour. QUICK=1 is a minute's look, and
# leaves docs/benchmarks as it is.
JOBS ?= 100 300 1000
SECONDS ?= 150
bench: .venv-bench/.ready
	$(BENCH)/python -m benchmarks.watch $(if $(QUICK),--quick,--jobs $(JOBS) --seconds $(SECONDS) \
		--into docs/benchmarks)

# KEEP=1 leaves it running; make demo-stop ends it then.
demo: .venv/.ready
	@$(BIN)/sm-prefer demo $(if $(KEEP),--keep)

demo-stop: .venv/.ready
	@$(BIN)/sm-prefer demo --stop

# pip before 23.3 takes a package that is asked for with extras for another one, and finds no hash for it.
WITH_EXTRAS := awk '{ print } /^celery==/ { more = 1 } \
	more { again = again $$0 "\n"; if ($$0 !~ /\\$$/) { sub(/==/, "[redis]==", again); printf "%s", again; more = 0 } }'

# Takes in what pyproject.toml asks for anew, and with UPGRADE=1 the newest of everything.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --extra sandbox --extra celery \
		--extra dev --generate-hashes --no-header --no-annotate $(if $(UPGRADE),--upgrade) \
		--output-file requirements.lock
	build/lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --extra sandbox --extra celery \
		--constraint requirements.lock --generate-hashes --no-header --no-annotate \
		--output-file requirements-image.lock
	for lock in requirements.lock requirements-image.lock; do \
		$(WITH_EXTRAS) $$lock > build/lock/both && cp build/lock/both $$lock; \
	done
	build/lock/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --extra sandbox --group bench \
		--generate-hashes --no-header --no-annotate $(if $(UPGRADE),--upgrade) --output-file requirements-bench.lock
	build/lock/bin/uv pip compile --group pyproject.toml:clients --quiet --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate $(if $(UPGRADE),--upgrade) --output-file requirements-clients.lock
	rm -rf build/lock

clean:
	rm -rf .venv .venv-clients .venv-bench .demo build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
