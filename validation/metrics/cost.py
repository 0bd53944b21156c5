"""What a run costs: speed against the clock, steps a second, memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np


def real_time_factor(simulated: float, wall: float | None) -> float:
    """Return simulated seconds per wall second [1]: 1 keeps pace with the clock, more is faster."""
    return simulated / wall if wall else float("nan")


def step_rate(steps: int | None, wall: float | None) -> float:
    """Return steps per wall second [1/s]."""
    return steps / wall if wall and steps is not None else float("nan")


def state_memory(state: Mapping[str, Any]) -> int:
    """Return the size [byte] of a saved state, `Simulation.save()`: what a model must remember, whatever it runs on."""
    return sum(np.asarray(values).nbytes for values in state.values())


def peak_memory() -> int:
    """Return the most memory [byte] this process has held so far; 0 where the system does not tell (Windows).

    It only grows, and includes the interpreter and its libraries (about 150 MB): compare runs of one process each.
    """
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)
