"""The papers' plane shear element, as printed but for its sign (spec sections 3.2 and 9: E1, E2, E22, E23).

    gamma_i = cot(theta_i) - cot(theta_i at rest),   cot(theta_i) = a . b/(a x b)             (4.1), (4.12)
    F_i = +tau_i/2 (a + b),   -F_i/2 on either neighbour                                      (4.3), (4.13), (4.16)

a, b are the edges that leave corner i, tau_i is what a network answers to gamma_i. Printed, (4.2) and (4.3) have the
opposite sign, with which a corner that closes is shut further. A triangle has three such corners, a quadrilateral four.

NOT CONSERVATIVE: forces and their moments add up to zero, but only equilateral triangles have a potential (and the
shear modulus 1.5 G). Any other shape does work in a closed cycle of strain, 8 pi G S a^2 in a right isosceles triangle,
and its stiffness has a negative eigenvalue, -0.79 G there. Quadrilaterals do not resist e_xx - e_yy at all. Kept to
repeat the papers' figures; the consistent elements beside it are for work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.shear_volume.seed_softening import SofteningRows, soften_row

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def triangle_corners(cells: Indices) -> Indices:
    """Return (3E, 3): every corner of triangles (E, 3), followed by its neighbours, counter-clockwise as the cell."""
    return _corners(cells)


def quadrilateral_corners(cells: Indices) -> Indices:
    """Return (4E, 3): every corner of quadrilaterals (E, 4), followed by the next and the one before."""
    return _corners(cells)


def _corners(cells: Indices) -> Indices:
    return np.stack([cells, np.roll(cells, -1, axis=1), np.roll(cells, 1, axis=1)], axis=2).reshape(-1, 3)


@compiled(spliced=True)
def _edges(x: Array, corners: Indices, row: int) -> tuple[float, float, float, float]:
    """Return the edges a and b that leave the corner of a row."""
    i, j, k = corners[row, 0], corners[row, 1], corners[row, 2]
    return x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[k, 0] - x[i, 0], x[k, 1] - x[i, 1]


@compiled(allocates=True)
def corner_cotangents(x: Array, corners: Indices) -> Array:
    """Return cot(theta) (C,) of corner rows (C, 3) at positions (N, 3) [m]; angles beyond pi have negative areas."""
    found = np.empty(corners.shape[0])
    for row in range(corners.shape[0]):
        ax, ay, bx, by = _edges(x, corners, row)
        found[row] = (ax * bx + ay * by) / (ax * by - ay * bx)
    return found


@compiled
def add_corner_forces(elements: Elements, arms: Array, x: Array, v: Array, force: Array) -> None:
    """Advance the arms (arms, C) of corner rows (C, 3) with their strain rates, then add their forces [N] to (N, 3).

    `elements.rest` are the cotangents at rest; constants are the shear modulus [Pa] times the thickness [m].
    """
    for row in range(elements.corners.shape[0]):
        i, j, k = elements.corners[row, 0], elements.corners[row, 1], elements.corners[row, 2]
        ax, ay, bx, by = _edges(x, elements.corners, row)
        ux, uy, wx, wy = _edges(v, elements.corners, row)
        double_area = ax * by - ay * bx
        cotangent = (ax * bx + ay * by) / double_area
        turning = ux * by + ax * wy - uy * bx - ay * wx
        rate = (ux * bx + ax * wx + uy * by + ay * wy - cotangent * turning) / double_area
        stress = elements.stiffness[row] * (cotangent - elements.rest[row]) + elements.viscosity[row] * rate
        for arm in range(arms.shape[0]):
            state = elements.arm_decay[arm, row] * arms[arm, row] + elements.arm_gain[arm, row] * rate
            arms[arm, row] = state
            stress += elements.arm_stiffness[arm, row] * state
        fx, fy = 0.5 * stress * (ax + bx), 0.5 * stress * (ay + by)
        force[i, 0] += fx
        force[i, 1] += fy
        force[j, 0] -= 0.5 * fx
        force[j, 1] -= 0.5 * fy
        force[k, 0] -= 0.5 * fx
        force[k, 1] -= 0.5 * fy


@compiled
def soften_corners(elements: Elements, rows: SofteningRows, x: Array, v: Array, d: Array, arms: Array) -> None:
    """Advance softening networks of corner rows with their strain rates; stresses become the last of the arms."""
    for row in range(elements.corners.shape[0]):
        ax, ay, bx, by = _edges(x, elements.corners, row)
        ux, uy, wx, wy = _edges(v, elements.corners, row)
        double_area = ax * by - ay * bx
        cotangent = (ax * bx + ay * by) / double_area
        turning = ux * by + ax * wy - uy * bx - ay * wx
        rate = (ux * bx + ax * wx + uy * by + ay * wy - cotangent * turning) / double_area
        soften_row(rows, row, rate, d, arms)
