"""AWS on your machine, with GPUs that run out when told to."""
