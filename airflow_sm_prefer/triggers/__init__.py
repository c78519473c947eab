"""What sleeps in the triggerer on a task's behalf."""
