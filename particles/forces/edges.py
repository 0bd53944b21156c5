"""Forces of edges with linear networks (spec sections 1, 2), tension positive: start +f e, end -f e.

z <- exp(-A h) z + (1 - exp(-A h))/A  ldot,      f = k (l - l0) + sum_a kappa_a z_a + eta ldot
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.elements import Elements

Array = NDArray[np.float64]


@compiled
def add_edge_forces(edges: Elements, x: Array, v: Array, z: Array, force: Array) -> None:
    """Advance the arms with the current velocities and scatter f e to both ends: (a) and (b)."""
    arms = z.shape[0]
    for edge in range(edges.corners.shape[0]):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        inverse = 1.0 / length
        ex, ey, ez = dx * inverse, dy * inverse, dz * inverse
        rate = (v[j, 0] - v[i, 0]) * ex + (v[j, 1] - v[i, 1]) * ey + (v[j, 2] - v[i, 2]) * ez
        f = edges.stiffness[edge] * (length - edges.rest[edge]) + edges.viscosity[edge] * rate
        for arm in range(arms):
            state = edges.arm_decay[arm, edge] * z[arm, edge] + edges.arm_gain[arm, edge] * rate
            z[arm, edge] = state
            f += edges.arm_stiffness[arm, edge] * state
        force[i, 0] += f * ex
        force[i, 1] += f * ey
        force[i, 2] += f * ez
        force[j, 0] -= f * ex
        force[j, 1] -= f * ey
        force[j, 2] -= f * ez
