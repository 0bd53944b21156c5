"""Pressure of quadrilaterals by their signed area, S = (x2 - x0) x (x3 - x1)/2, beside the papers' shear of them.

-p = K g + sum_a kappa_a z_a + eta g',     g = S/S0 - 1,     corner force p dS/dx
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.shear_volume.seed_softening import SofteningRows, soften_row

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def quadrilateral_areas(points: Array, cells: Indices) -> Array:
    """Return the signed areas (E,) [m2] of quadrilaterals (E, 4) with points (N, 2 or 3) [m]."""
    a, b = points[cells[:, 2]] - points[cells[:, 0]], points[cells[:, 3]] - points[cells[:, 1]]
    return np.asarray(0.5 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))


@compiled
def add_quadrilateral_forces(cells: Elements, arms: Array, x: Array, v: Array, force: Array) -> None:
    """Advance the arms (arms, E) with the rates of area, then add the forces of the pressure [N] to (N, 3).

    Constants are area moduli [Pa] times thickness [m], `rest` areas [m2].
    """
    for cell in range(cells.corners.shape[0]):
        i, j = cells.corners[cell, 0], cells.corners[cell, 1]
        k, m = cells.corners[cell, 2], cells.corners[cell, 3]
        ax, ay, bx, by = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[m, 0] - x[j, 0], x[m, 1] - x[j, 1]
        ux, uy, wx, wy = v[k, 0] - v[i, 0], v[k, 1] - v[i, 1], v[m, 0] - v[j, 0], v[m, 1] - v[j, 1]
        rest = cells.rest[cell]
        rate = 0.5 * (ux * by + ax * wy - uy * bx - ay * wx) / rest
        tension = cells.stiffness[cell] * (0.5 * (ax * by - ay * bx) / rest - 1.0) + cells.viscosity[cell] * rate
        for arm in range(arms.shape[0]):
            state = cells.arm_decay[arm, cell] * arms[arm, cell] + cells.arm_gain[arm, cell] * rate
            arms[arm, cell] = state
            tension += cells.arm_stiffness[arm, cell] * state
        half = 0.5 * tension
        force[k, 0] -= half * by
        force[k, 1] += half * bx
        force[i, 0] += half * by
        force[i, 1] -= half * bx
        force[m, 0] += half * ay
        force[m, 1] -= half * ax
        force[j, 0] -= half * ay
        force[j, 1] += half * ax


@compiled
def soften_quadrilaterals(cells: Elements, rows: SofteningRows, x: Array, v: Array, d: Array, arms: Array) -> None:
    """Advance softening networks of areas with their rates; stresses become the last of the arms."""
    for cell in range(cells.corners.shape[0]):
        i, j = cells.corners[cell, 0], cells.corners[cell, 1]
        k, m = cells.corners[cell, 2], cells.corners[cell, 3]
        ax, ay, bx, by = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[m, 0] - x[j, 0], x[m, 1] - x[j, 1]
        ux, uy, wx, wy = v[k, 0] - v[i, 0], v[k, 1] - v[i, 1], v[m, 0] - v[j, 0], v[m, 1] - v[j, 1]
        rate = 0.5 * (ux * by + ax * wy - uy * bx - ay * wx) / cells.rest[cell]
        soften_row(rows, cell, rate, d, arms)
