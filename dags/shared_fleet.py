"""Two teams share a fleet: production first, research next, sweeps last, each resumed where it was interrupted.

Copy this where several teams train on the same reserved instances. Each names its share of the queue and how urgent its
job is; AWS Batch decides who runs, and when somebody more urgent comes, stops a sweep, which waits in the queue again
and goes on from its checkpoint. Nobody holds a worker meanwhile.

The queue is made once, from ``shared_fleet.yaml`` beside this file::

    sm-prefer queues apply dags/shared_fleet.yaml

Then it runs on the sandbox as it is. Vision's two sweeps fill its share, language's research job the rest; the
production job comes last and takes the place of one sweep.

On AWS, set the Airflow Variables ``training_bucket``, ``training_role`` and ``training_image``; the image has
scikit-learn.
"""

from __future__ import annotations

from datetime import timedelta
from importlib.resources import files
from pathlib import Path

from airflow.sdk import DAG, Param, task
from airflow.sdk.bases.sensor import PokeReturnValue

from airflow_sm_prefer import BatchPreferTrainingOperator, queued

SCRIPT = Path(__file__).parent / "scripts" / "train_with_checkpoints.py"
BUCKET = "{{ var.value.get('training_bucket', 'sm-prefer-fleet') }}"
RUN = f"s3://{BUCKET}/shared-fleet/{{{{ dag_run.run_after | ts_nodash }}}}"
QUEUE = "fleet-g5"


def channel(name: str, uri: str) -> dict:
    """Give the job a folder of S3 as /opt/ml/input/data/NAME."""
    return {"ChannelName": name, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}}


def training(name: str, team: str, priority: str, epochs: str) -> BatchPreferTrainingOperator:
    """Return a task that trains on the team's share of the fleet."""
    return BatchPreferTrainingOperator(
        task_id=name,
        # A second entry here, for a queue of another family or for SageMaker itself, would be gone on to where the
        # first has no room within the patience.
        prefer=[queued("ml.g5.xlarge", job_queue=QUEUE, quota_share=team)],
        # production, research and sweep are names of numbers: [sm_prefer] priorities.
        scheduling_priority=priority,
        # A preempted job goes back into the queue as often as it takes; a number here would bound that.
        preemption_configuration=None,
        max_pending=timedelta(hours=12),
        tags={"team": team},
        config={
            "TrainingJobName": name,
            "RoleArn": "{{ var.value.get('training_role', 'arn:aws:iam::123456789012:role/sagemaker') }}",
            "AlgorithmSpecification": {
                "TrainingImage": "{{ var.value.get('training_image', 'scikit-learn:1') }}",
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python3", f"/opt/ml/input/data/code/{SCRIPT.name}"],
            },
            "HyperParameters": {"epochs": epochs, "epoch_seconds": "{{ params.epoch_seconds }}"},
            "InputDataConfig": [channel("train", f"{RUN}/data"), channel("code", f"{RUN}/code")],
            "OutputDataConfig": {"S3OutputPath": f"{RUN}/models/{name}"},
            # A place of the task's own: what was preempted finds what it had done.
            "CheckpointConfig": {"S3Uri": f"{RUN}/checkpoints/{name}"},
            "ResourceConfig": {"VolumeSizeInGB": 10},
            "StoppingCondition": {"MaxRuntimeInSeconds": 6 * 3600},
        },
    )


with DAG(
    "shared_fleet",
    schedule=None,
    catchup=False,
    is_paused_upon_creation=True,
    doc_md=__doc__,
    params={
        "epochs": Param(12, type="integer", minimum=1, title="Epochs of a sweep"),
        "epoch_seconds": Param(5, type="number", minimum=0, title="Seconds that each epoch is stretched by"),
    },
):

    @task
    def upload(run: str) -> None:
        """Put the data, as scikit-learn ships it, and the jobs' script into S3."""
        from airflow.providers.amazon.aws.hooks.s3 import S3Hook

        s3 = S3Hook()
        bucket, prefix = s3.parse_s3_url(run)
        if not s3.check_for_bucket(bucket):
            s3.create_bucket(bucket)
        digits = files("sklearn.datasets.data") / "digits.csv.gz"
        s3.load_bytes(digits.read_bytes(), f"{prefix}/data/digits.csv.gz", bucket, replace=True)
        s3.load_file(SCRIPT, f"{prefix}/code/{SCRIPT.name}", bucket, replace=True)

    @task.sensor(poke_interval=2, timeout=3600, mode="poke")
    def sweeps_are_under_way(run: str) -> PokeReturnValue:
        """Let the production job come when there is something to lose; on a real fleet it comes when it comes."""
        from airflow.providers.amazon.aws.hooks.s3 import S3Hook

        s3 = S3Hook()
        bucket, prefix = s3.parse_s3_url(run)
        begun = [s3.list_keys(bucket, f"{prefix}/checkpoints/vision-sweep-{number}/") for number in (1, 2)]
        return PokeReturnValue(is_done=all(begun))

    sweeps = [training(f"vision-sweep-{number}", "vision", "sweep", "{{ params.epochs }}") for number in (1, 2)]
    research = training("language-research", "language", "research", "6")
    production = training("vision-production", "vision", "production", "3")

    uploaded = upload(RUN)
    uploaded >> [*sweeps, research]
    uploaded >> sweeps_are_under_way(RUN) >> production
