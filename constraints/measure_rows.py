"""Areas and volumes of patches as rows of the compiled constraint solver: the formulas of `measure`, in one pass.

S, V = g . a                    (a: an edge that leaves the first corner, g: dS/dx, dV/dx where it ends)
2D  Q = det[a'; b'],            3D  Q = (det[a'; b'; c] + det[a'; b; c'] + det[a; b'; c'])/3      (E8)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array
from rheotwin.constraints.measure import MeasureConstraints
from rheotwin.kernels.compiled import compiled

Indices = NDArray[np.uint32]  # see `rows`


class Measures(NamedTuple):
    """Patches as the compiled loop reads them: element e has the shares `start[e]:start[e + 1]` in constraints.

    Share n is one in constraint `patch[n]`, and `slot` (shares, corners) says where each corner stands among the
    entries of its gradient. `rest` (constraints,) are measures at rest [m^d].
    """

    simplices: Indices
    start: Indices
    patch: Indices
    share: Array
    slot: Indices
    rest: Array


def pack_measures(constraints: MeasureConstraints | None, corners: int = 3) -> Measures:
    """Pack the constraints of patches; none for a body of simplices with `corners`."""
    if constraints is None:
        none = np.zeros(0, np.uint32)
        return Measures(
            simplices=np.zeros((0, corners), np.uint32),
            start=np.zeros(1, np.uint32),
            patch=none,
            share=np.zeros(0),
            slot=np.zeros((0, corners), np.uint32),
            rest=np.zeros(0),
        )
    shares, simplices = constraints.patches.shares, constraints.patches.simplices
    by_element = np.argsort(shares.indices, kind="stable")
    patch = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    return Measures(
        simplices=simplices.astype(np.uint32),
        start=np.searchsorted(shares.indices[by_element], np.arange(len(simplices) + 1)).astype(np.uint32),
        patch=patch[by_element].astype(np.uint32),
        share=shares.data[by_element].astype(np.float64),
        slot=np.ascontiguousarray(constraints.node_slots[by_element], np.uint32),
        rest=constraints.rest,
    )


@compiled(contract=True)
def _fill_triangles(measures: Measures, x: Array, v: Array, gradient: Array, value: Array, curvature: Array) -> None:
    """Add the shares of every triangle to what its constraints have."""
    simplices, start, patch = measures.simplices, measures.start, measures.patch
    shares, slot = measures.share, measures.slot
    for e in range(simplices.shape[0]):
        i, j, k = simplices[e, 0], simplices[e, 1], simplices[e, 2]
        ax, ay, bx, by = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[k, 0] - x[i, 0], x[k, 1] - x[i, 1]
        px, py, qx, qy = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[k, 0] - v[i, 0], v[k, 1] - v[i, 1]
        jx, jy, kx, ky = 0.5 * by, -0.5 * bx, -0.5 * ay, 0.5 * ax
        measure, curve = ax * jx + ay * jy, px * qy - py * qx
        for n in range(start[e], start[e + 1]):
            m, share = patch[n], shares[n]
            value[m] += share * measure
            curvature[m] += share * curve
            at = slot[n, 0]
            gradient[at, 0] -= share * (jx + kx)
            gradient[at, 1] -= share * (jy + ky)
            at = slot[n, 1]
            gradient[at, 0] += share * jx
            gradient[at, 1] += share * jy
            at = slot[n, 2]
            gradient[at, 0] += share * kx
            gradient[at, 1] += share * ky


@compiled(contract=True)
def _fill_tets(measures: Measures, x: Array, v: Array, gradient: Array, value: Array, curvature: Array) -> None:
    """Add the shares of every tet to what its constraints have."""
    simplices, start, patch = measures.simplices, measures.start, measures.patch
    shares, slot = measures.share, measures.slot
    for e in range(simplices.shape[0]):
        i, j, k, o = simplices[e, 0], simplices[e, 1], simplices[e, 2], simplices[e, 3]
        ax, ay, az = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        bx, by, bz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        cx, cy, cz = x[o, 0] - x[i, 0], x[o, 1] - x[i, 1], x[o, 2] - x[i, 2]
        px, py, pz = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[j, 2] - v[i, 2]
        qx, qy, qz = v[k, 0] - v[i, 0], v[k, 1] - v[i, 1], v[k, 2] - v[i, 2]
        rx, ry, rz = v[o, 0] - v[i, 0], v[o, 1] - v[i, 1], v[o, 2] - v[i, 2]
        jx, jy, jz = (by * cz - bz * cy) / 6.0, (bz * cx - bx * cz) / 6.0, (bx * cy - by * cx) / 6.0
        kx, ky, kz = (cy * az - cz * ay) / 6.0, (cz * ax - cx * az) / 6.0, (cx * ay - cy * ax) / 6.0
        ox, oy, oz = (ay * bz - az * by) / 6.0, (az * bx - ax * bz) / 6.0, (ax * by - ay * bx) / 6.0
        measure = ax * jx + ay * jy + az * jz
        curve = cx * (py * qz - pz * qy) + cy * (pz * qx - px * qz) + cz * (px * qy - py * qx)
        curve += bx * (ry * pz - rz * py) + by * (rz * px - rx * pz) + bz * (rx * py - ry * px)
        curve += ax * (qy * rz - qz * ry) + ay * (qz * rx - qx * rz) + az * (qx * ry - qy * rx)
        for n in range(start[e], start[e + 1]):
            m, share = patch[n], shares[n]
            value[m] += share * measure
            curvature[m] += share * curve / 3.0
            at = slot[n, 0]
            gradient[at, 0] -= share * (jx + kx + ox)
            gradient[at, 1] -= share * (jy + ky + oy)
            gradient[at, 2] -= share * (jz + kz + oz)
            at = slot[n, 1]
            gradient[at, 0] += share * jx
            gradient[at, 1] += share * jy
            gradient[at, 2] += share * jz
            at = slot[n, 2]
            gradient[at, 0] += share * kx
            gradient[at, 1] += share * ky
            gradient[at, 2] += share * kz
            at = slot[n, 3]
            gradient[at, 0] += share * ox
            gradient[at, 1] += share * oy
            gradient[at, 2] += share * oz


@compiled
def fill_measures(measures: Measures, x: Array, v: Array, gradient: Array, value: Array, curvature: Array) -> None:
    """Put the entries of gradients, R and Q at positions and velocities (N, 3) into the last three."""
    gradient[:] = 0.0
    curvature[:] = 0.0
    for m in range(measures.rest.shape[0]):
        value[m] = -measures.rest[m]
    if measures.simplices.shape[1] == 3:
        _fill_triangles(measures, x, v, gradient, value, curvature)
    else:
        _fill_tets(measures, x, v, gradient, value, curvature)


@compiled(contract=True)
def fill_values(measures: Measures, x: Array, value: Array) -> None:
    """Put R (C,) [m^d] at positions (N, 3) [m] into `value`, and nothing else anywhere."""
    simplices, flat = measures.simplices, measures.simplices.shape[1] == 3
    for m in range(measures.rest.shape[0]):
        value[m] = -measures.rest[m]
    for e in range(simplices.shape[0]):
        i, j, k = simplices[e, 0], simplices[e, 1], simplices[e, 2]
        ax, ay, az = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        bx, by, bz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        measure = 0.5 * (ax * by - ay * bx)
        if not flat:
            m = simplices[e, 3]
            cx, cy, cz = x[m, 0] - x[i, 0], x[m, 1] - x[i, 1], x[m, 2] - x[i, 2]
            measure = (ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)) / 6.0
        for n in range(measures.start[e], measures.start[e + 1]):
            value[measures.patch[n]] += measures.share[n] * measure
