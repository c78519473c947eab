"""Operators for Airflow; ``sagemaker`` has those that DAG authors use."""
