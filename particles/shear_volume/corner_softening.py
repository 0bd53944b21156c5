"""Softening of `cotangent` triangles: one scalar equation for the strains of their three corners.

With the stress f_i that a corner has per weight om_i, the size sqrt(sum om_i f_i^2) is the shear stress of the element
as far as strains are small: the energy S0 mu sum om_i gamma_i^2/2 of springs is S0 t^2/(2 mu), whatever the direction.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.particles.shear_volume.group import Group, Memory
from rheotwin.particles.shear_volume.lanes import CHUNK
from rheotwin.particles.shear_volume.softening import drive, give_way, give_way_alone, step_of

Array = NDArray[np.float64]

SCRATCH = 11
"""Rows of scratch: two viscosities, sizes, rates and g of four strains."""


@njit(cache=True, nogil=True)
def soften_corners(
    group: Group, memory: Memory, chunk: int, part: float, weights: Array, strain: Array, tension: Array, scratch: Array
) -> None:
    """Add to `tension` what softening networks answer to strains; advance Voigt parts.

    `weights` (3 * CHUNK) are om_i. `scratch` holds viscosities of dashpots in its first two rows, to which what
    softening leaves is added, and from its fourth on the strain rates.
    """
    shear, area = slice(0, 3 * CHUNK), slice(3 * CHUNK, 4 * CHUNK)
    sizes, rate, g = scratch[2 * CHUNK : 3 * CHUNK], scratch[3 * CHUNK : 7 * CHUNK], scratch[7 * CHUNK : 11 * CHUNK]
    if group.soft_shear.size.shape[0] > 0:
        h, d, before = step_of(group.soft_shear, part), memory.shear_voigt[chunk], memory.shear_before[chunk]
        drive(group.soft_shear, chunk, h, d, strain[shear], before, rate[shear], g[shear])
        for k in range(CHUNK):
            square = 0.0
            for i in range(3):
                square += weights[i * CHUNK + k] * g[i * CHUNK + k] ** 2
            sizes[k] = np.sqrt(square)
        give_way(
            group.soft_shear,
            chunk,
            h,
            d,
            strain[shear],
            before,
            rate[shear],
            g[shear],
            sizes,
            tension[shear],
            scratch[:CHUNK],
        )
    if group.soft_volume.size.shape[0] > 0:
        give_way_alone(
            group.soft_volume,
            chunk,
            step_of(group.soft_volume, part),
            memory.volume_voigt[chunk],
            strain[area],
            memory.volume_before[chunk],
            rate[area],
            g[area],
            sizes,
            tension[area],
            scratch[CHUNK : 2 * CHUNK],
        )
