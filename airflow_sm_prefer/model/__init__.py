"""The language of the domain: frozen values, and what may be written for them. Nothing here does I/O.

Begin with ``preference`` (a list and its entries), ``parsing`` (from what was written to a list), ``job`` (a job as
AWS shows it) and ``verdict`` (what its end means).
"""
