# The one image of docker-compose.yaml: Airflow with Celery, this package from the checkout, and the sandbox.
FROM python:3.11-slim-bookworm

ENV AIRFLOW_HOME=/opt/airflow PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# The volumes take their owner from these folders.
RUN useradd --uid 50000 --create-home --home-dir "$AIRFLOW_HOME" airflow \
  && install -d -o airflow -g airflow "$AIRFLOW_HOME/logs" "$AIRFLOW_HOME/config" "$AIRFLOW_HOME/sandbox"

# What takes long and changes seldom comes first.
COPY requirements-image.lock /src/
RUN pip install --require-hashes -r /src/requirements-image.lock

COPY pyproject.toml README.md LICENSE /src/
COPY airflow_sm_prefer /src/airflow_sm_prefer
COPY dags /src/dags
RUN pip install --no-deps /src

COPY dags $AIRFLOW_HOME/dags
COPY deploy/compose $AIRFLOW_HOME/config
USER airflow
WORKDIR $AIRFLOW_HOME
