"""Length, rate and direction of an edge, for loops over edges whose own arithmetic outweighs a call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]


@compiled(spliced=True)
def edge_frame(x: Array, v: Array, i: int, j: int) -> tuple[float, float, float, float, float]:
    """Return length l [m], rate (v_j - v_i) . e [m/s] and unit vector e from i to j."""
    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    inverse = 1.0 / length
    ex, ey, ez = dx * inverse, dy * inverse, dz * inverse
    rate = (v[j, 0] - v[i, 0]) * ex + (v[j, 1] - v[i, 1]) * ey + (v[j, 2] - v[i, 2]) * ez
    return length, rate, ex, ey, ez


@compiled(spliced=True)
def pull_together(force: Array, i: int, j: int, fx: float, fy: float, fz: float) -> None:
    """Add +f to the start and -f to the end of an edge [N]."""
    force[i, 0] += fx
    force[i, 1] += fy
    force[i, 2] += fz
    force[j, 0] -= fx
    force[j, 1] -= fy
    force[j, 2] -= fz
