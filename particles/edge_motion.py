"""How edges lie and how fast they lengthen, for results between steps: one pass over the edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@compiled(vectors=True, allocates=True)
def edge_motion(x: Array, v: Array, edges: Indices) -> tuple[Array, Array, Array]:
    """Return vectors d (M, 3) [m] from start to end, lengths l = |d| [m] and rates d . d'/l [m/s] of edges (M, 2).

    Positions (N, 3) are in m, velocities in m/s.
    """
    count = edges.shape[0]
    vectors, lengths, rates = np.empty((count, 3)), np.empty(count), np.empty(count)
    for e in range(count):
        start, end = edges[e, 0], edges[e, 1]
        square, product = 0.0, 0.0
        for c in range(3):
            apart = x[end, c] - x[start, c]
            vectors[e, c] = apart
            square += apart * apart
            product += apart * (v[end, c] - v[start, c])
        lengths[e] = np.sqrt(square)
        rates[e] = product / lengths[e]
    return vectors, lengths, rates
