"""Nodal forces of linear tetrahedra from nodal states, without a matrix (spec 2.1, 2.2).

    f += J_vol s_vol + J_dev s_dev,      J_vol = int div div,      J_dev = int 2 dev(eps) : dev(eps)

The states carry the moduli: s = g_inf u + sum w + eta v of the bulk and of the shear channel [Pa m].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.fast.assembly import TetGeometry
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]


def add_tet_forces(tets: TetGeometry, volumetric: Array, deviatoric: Array, out: Array) -> None:
    """Add the forces [N] of two states (N, 3) [Pa m] to `out` (N, 3)."""
    _add_forces(tets.corners, tets.gradients, tets.volumes, volumetric, deviatoric, out)


@compiled(contract=True)
def _add_forces(
    corners: NDArray[Any], gradients: Array, volumes: Array, volumetric: Array, deviatoric: Array, out: Array
) -> None:
    for e in range(len(corners)):
        g = gradients[e]
        trace = xx = yy = zz = xy = yz = xz = 0.0
        for a in range(4):
            s, p = deviatoric[corners[e, a]], volumetric[corners[e, a]]
            trace += g[a, 0] * p[0] + g[a, 1] * p[1] + g[a, 2] * p[2]
            xx += g[a, 0] * s[0]
            yy += g[a, 1] * s[1]
            zz += g[a, 2] * s[2]
            xy += g[a, 0] * s[1] + g[a, 1] * s[0]
            yz += g[a, 1] * s[2] + g[a, 2] * s[1]
            xz += g[a, 0] * s[2] + g[a, 2] * s[0]
        pressure = trace - 2.0 / 3.0 * (xx + yy + zz)
        xx, yy, zz = 2.0 * xx + pressure, 2.0 * yy + pressure, 2.0 * zz + pressure
        for a in range(4):
            f, v = out[corners[e, a]], volumes[e]
            f[0] += v * (xx * g[a, 0] + xy * g[a, 1] + xz * g[a, 2])
            f[1] += v * (xy * g[a, 0] + yy * g[a, 1] + yz * g[a, 2])
            f[2] += v * (xz * g[a, 0] + yz * g[a, 1] + zz * g[a, 2])
