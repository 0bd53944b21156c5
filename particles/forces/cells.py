"""Pressure of simplices with linear networks: corner force p dV/dx (spec section 5).

-p = K g + sum_a kappa_a z_a + eta gdot,      g = V/V0 - 1
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.elements import Elements

Array = NDArray[np.float64]


@compiled(spliced=True)
def _tension(cells: Elements, cell: int, volume: float, flow: float, z: Array) -> float:
    """Advance the arms of one cell with its volume rate `flow` [m^d/s] and return minus its pressure."""
    rest = cells.rest[cell]
    rate = flow / rest
    tension: float = cells.stiffness[cell] * (volume / rest - 1.0) + cells.viscosity[cell] * rate
    for arm in range(z.shape[0]):
        state = cells.arm_decay[arm, cell] * z[arm, cell] + cells.arm_gain[arm, cell] * rate
        z[arm, cell] = state
        tension += cells.arm_stiffness[arm, cell] * state
    return tension


@compiled
def add_triangle_forces(cells: Elements, x: Array, v: Array, z: Array, force: Array) -> None:
    """Push the corners of each triangle by its pressure: (a) and (b). The gradients of A sum to zero.

    Written out, as are the tetrahedra: calling `cell_volume` here made the step half as slow again.
    """
    for cell in range(cells.corners.shape[0]):
        i, j, k = cells.corners[cell, 0], cells.corners[cell, 1], cells.corners[cell, 2]
        bx, by, cx, cy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[k, 0] - x[i, 0], x[k, 1] - x[i, 1]
        jx, jy, kx, ky = 0.5 * cy, -0.5 * cx, -0.5 * by, 0.5 * bx
        area = 0.5 * (bx * cy - by * cx)
        flow = jx * (v[j, 0] - v[i, 0]) + jy * (v[j, 1] - v[i, 1])
        flow += kx * (v[k, 0] - v[i, 0]) + ky * (v[k, 1] - v[i, 1])
        t = _tension(cells, cell, area, flow, z)
        force[i, 0] += t * (jx + kx)
        force[i, 1] += t * (jy + ky)
        force[j, 0] -= t * jx
        force[j, 1] -= t * jy
        force[k, 0] -= t * kx
        force[k, 1] -= t * ky


@compiled
def add_tet_forces(cells: Elements, x: Array, v: Array, z: Array, force: Array) -> None:
    """Push the corners of each tetrahedron by its pressure: (a) and (b). The gradients of V sum to zero."""
    for cell in range(cells.corners.shape[0]):
        i, j = cells.corners[cell, 0], cells.corners[cell, 1]
        k, m = cells.corners[cell, 2], cells.corners[cell, 3]
        ax, ay, az = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        bx, by, bz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        cx, cy, cz = x[m, 0] - x[i, 0], x[m, 1] - x[i, 1], x[m, 2] - x[i, 2]
        jx, jy, jz = (by * cz - bz * cy) / 6.0, (bz * cx - bx * cz) / 6.0, (bx * cy - by * cx) / 6.0
        kx, ky, kz = (cy * az - cz * ay) / 6.0, (cz * ax - cx * az) / 6.0, (cx * ay - cy * ax) / 6.0
        mx, my, mz = (ay * bz - az * by) / 6.0, (az * bx - ax * bz) / 6.0, (ax * by - ay * bx) / 6.0
        volume = ax * jx + ay * jy + az * jz
        flow = jx * (v[j, 0] - v[i, 0]) + jy * (v[j, 1] - v[i, 1]) + jz * (v[j, 2] - v[i, 2])
        flow += kx * (v[k, 0] - v[i, 0]) + ky * (v[k, 1] - v[i, 1]) + kz * (v[k, 2] - v[i, 2])
        flow += mx * (v[m, 0] - v[i, 0]) + my * (v[m, 1] - v[i, 1]) + mz * (v[m, 2] - v[i, 2])
        t = _tension(cells, cell, volume, flow, z)
        force[i, 0] += t * (jx + kx + mx)
        force[i, 1] += t * (jy + ky + my)
        force[i, 2] += t * (jz + kz + mz)
        force[j, 0] -= t * jx
        force[j, 1] -= t * jy
        force[j, 2] -= t * jz
        force[k, 0] -= t * kx
        force[k, 1] -= t * ky
        force[k, 2] -= t * kz
        force[m, 0] -= t * mx
        force[m, 1] -= t * my
        force[m, 2] -= t * mz
