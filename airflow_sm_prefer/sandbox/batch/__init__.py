"""AWS Batch for SageMaker Training: queues of service jobs, each attempt a training job of the sandbox.

objects.py      environments, queues, policies, quota shares: values
estate.py       what one account has in one Region
rules.py        what these may be; job_rules.py: what may be submitted
service_job.py  one service job, and its life
dispatcher.py   carries out what the policies of `scheduling` decide, and follows the training jobs
snapshots.py    what those policies are shown
shown.py        what Describe and List show; listing.py: filters and pages; events.py: EventBridge
"""
