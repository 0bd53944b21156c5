"""Softening of `cotangent` triangles: one scalar equation for the strains of their three corners.

With the stress f_i that a corner has per weight om_i, the size sqrt(sum om_i f_i^2) is the shear stress of the element
as far as strains are small: the energy S0 mu sum om_i gamma_i^2/2 of springs is S0 t^2/(2 mu), whatever the direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.group import Group, Memory
from rheotwin.particles.shear_volume.lanes import CHUNK
from rheotwin.particles.shear_volume.softening_group import drive_group, settle_group

Array = NDArray[np.float64]

SCRATCH = 11
"""Rows of scratch: two viscosities, sizes, rates and g of four strains."""


@compiled(nogil=True)
def soften_corners(
    group: Group, memory: Memory, chunk: int, part: float, weights: Array, strain: Array, tension: Array, scratch: Array
) -> None:
    """Add to `tension` what softening networks answer to strains; advance Voigt parts.

    `weights` (3 * CHUNK) are om_i. `scratch` holds viscosities of dashpots in its first two rows, to which what
    softening leaves is added, and from its fourth on the strain rates.
    """
    sizes, rate, g = scratch[2 * CHUNK : 3 * CHUNK], scratch[3 * CHUNK : 7 * CHUNK], scratch[7 * CHUNK : 11 * CHUNK]
    drive_group(group, memory, chunk, part, strain, rate, g)
    for k in range(CHUNK):
        square = 0.0
        for i in range(3):
            square += weights[i * CHUNK + k] * g[i * CHUNK + k] ** 2
        sizes[k] = np.sqrt(square)
    settle_group(group, memory, chunk, part, strain, rate, g, sizes, tension, scratch[: 2 * CHUNK])
