"""What Airflow shows about this package."""
