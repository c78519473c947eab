"""``sm-prefer queues``: AWS Batch queues for SageMaker training. One module a command."""
