"""Softening networks of scalar strains one by one: the papers' corners, and volumes beside them.

As on the edges of a truss, with strain rates of the present velocities:

    g = k d + (c1 + k h) r,     |f| (1 + (c1 + k h)/c2(|f|)) = |g|,     d <- d + h (r - f/c2)

The stress f goes where an arm that keeps still would have its state: the element's own loop takes it from there, with
the rest measure for a stiffness. In the next step it is the first guess.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.cell_volume import tet_frame, triangle_frame
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.softening import softened
from rheotwin.particles.shear_volume.softening_constants import SofteningConstants

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class SofteningRows(NamedTuple):
    """Constants (n,) of strains for steps of `step` [s], 0 to leave Voigt parts as they are; empty if nothing softens.

    `size` is positive where a network softens; k [Pa], c1, c_max and c_min [Pa s], thresholds [Pa] and B [1/Pa].
    """

    viscous: bool
    step: float
    size: Array
    spring: Array
    voigt: Array
    stiff: Array
    soft: Array
    start: Array
    end: Array
    exponent: Array


def pack_rows(constants: SofteningConstants | None, h: float) -> SofteningRows:
    """Pack networks for steps of `h` [s]."""
    if constants is None:
        return SofteningRows(True, h, *(np.zeros(0) for _ in range(8)))
    return SofteningRows(True, h, constants.size, *constants.rows)


def with_room(elements: Elements, constants: SofteningConstants | None) -> Elements:
    """Return elements with one more arm, that does not move, for the stress of softening networks."""
    if constants is None:
        return elements
    return elements._replace(
        arm_stiffness=np.vstack([elements.arm_stiffness, constants.size]),
        arm_decay=np.vstack([elements.arm_decay, np.ones(len(constants.size))]),
        arm_gain=np.vstack([elements.arm_gain, np.zeros(len(constants.size))]),
    )


@compiled
def soften_row(rows: SofteningRows, row: int, rate: float, d: Array, arms: Array) -> None:
    """Advance the Voigt part `d` (n,) of one strain with its rate [1/s]; its stress [Pa] is the last of the arms."""
    if rows.size[row] == 0.0:
        return
    stress, h = arms[arms.shape[0] - 1], rows.step
    seen = rate if rows.viscous else 0.0
    c = rows.voigt[row] + rows.spring[row] * h
    f, flow = softened(
        rows.spring[row] * d[row] + c * seen,
        c,
        rows.stiff[row],
        rows.soft[row],
        rows.start[row],
        rows.end[row],
        rows.exponent[row],
        stress[row],
    )
    d[row] += h * (seen - flow)
    stress[row] = f


@compiled
def soften_simplices(cells: Elements, rows: SofteningRows, x: Array, v: Array, d: Array, arms: Array) -> None:
    """Do so with the rates of area or volume of triangles (E, 3) or tetrahedra (E, 4)."""
    for cell in range(cells.corners.shape[0]):
        c, flow = cells.corners[cell], 0.0
        if cells.corners.shape[1] == 3:
            _, jx, jy, kx, ky = triangle_frame(x, c[0], c[1], c[2])
            flow = jx * (v[c[1], 0] - v[c[0], 0]) + jy * (v[c[1], 1] - v[c[0], 1])
            flow += kx * (v[c[2], 0] - v[c[0], 0]) + ky * (v[c[2], 1] - v[c[0], 1])
        else:
            _, jx, jy, jz, kx, ky, kz, mx, my, mz = tet_frame(x, c[0], c[1], c[2], c[3])
            for axis, j, k, m in ((0, jx, kx, mx), (1, jy, ky, my), (2, jz, kz, mz)):
                flow += j * (v[c[1], axis] - v[c[0], axis]) + k * (v[c[2], axis] - v[c[0], axis])
                flow += m * (v[c[3], axis] - v[c[0], axis])
        soften_row(rows, cell, flow / cells.rest[cell], d, arms)
