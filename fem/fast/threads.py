"""How many threads a compiled loop with a barrier in every step should use.

The loops can share their rows out over threads and find the same bits. A run does not ask for that by itself: where
another program holds a core, every step waits at its barriers, which made steps 100 times slower, and that two threads
pay was never seen on cores known to be idle. `python -m benchmarks.fem_f2` measures it.
"""

from __future__ import annotations

import math

import numba

THREADS_PAY = math.inf
"""Nodes from which a run takes two threads: none so far, see above."""


def threads_for(nodes: int) -> int:
    """Return 1 for small bodies and on one core, else 2."""
    return 1 if nodes < THREADS_PAY else min(2, int(numba.get_num_threads()))
