"""Thin adapters over boto3 clients: one call, one method; one failure, one value. No Airflow here."""
