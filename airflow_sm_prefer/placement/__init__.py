"""What to do next: a preference list's waves, a job's whole life, names and tags. Pure."""
