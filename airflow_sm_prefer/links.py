"""Links from a task to its job."""
