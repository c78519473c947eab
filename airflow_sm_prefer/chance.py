"""Chance, as something that is handed in, as the clock is: it spreads what would else happen at the same instant.

Nothing in this package draws by itself: whoever waits for a while that is drawn is given a function for it. Tests hand
in one that they know.
"""

from __future__ import annotations

import random

_system = random.SystemRandom()


def draw() -> float:
    """Return a number from 0 to 1 that is drawn evenly.

    By the system, and not by Python's own generator: a DAG file that seeds that one, as those who train models do,
    would have all tasks draw the same.
    """
    return _system.random()
