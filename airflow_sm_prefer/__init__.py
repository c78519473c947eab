"""SageMaker jobs from Airflow that name the instance types they may run on, in order."""
