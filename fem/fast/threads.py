"""How many threads a compiled loop with a barrier in every step should use."""

from __future__ import annotations

import numba

THREADS_PAY = 60_000
"""Nodes from which two threads are worth their barriers. Below, one busy neighbour makes a step 100 times slower."""


def threads_for(nodes: int) -> int:
    """Return 1 for small bodies and on one core, else 2."""
    return 1 if nodes < THREADS_PAY else min(2, int(numba.get_num_threads()))
