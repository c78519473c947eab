"""What the operators and the trigger reach AWS and Airflow through."""
