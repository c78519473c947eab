"""``sm-prefer demo``: a sandbox and a real Airflow on this machine, one nightly run, and everything cleaned up.

The parts, from the outside in: :mod:`command` is what the user calls, :mod:`session` one whole demo, :mod:`stack` the
processes of it, :mod:`follow` the account of the run as it happens, :mod:`report` what was measured. The rest serves
them: :mod:`home` the folder, :mod:`record` who runs in it, :mod:`processes` starting and ending, :mod:`environment`
what the processes see, :mod:`rest` Airflow's API, :mod:`jobs` the sandbox's.
"""
