"""Softening of shear and of volume of a group of elements: each by its own stress, or both by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.group import Group, Memory
from rheotwin.particles.shear_volume.lanes import CHUNK
from rheotwin.particles.shear_volume.softening import drive, give_way, step_of

Array = NDArray[np.float64]


@compiled(nogil=True)
def drive_group(
    group: Group, memory: Memory, chunk: int, part: float, strain: Array, rate: Array, g: Array
) -> None:  # fmt: skip
    """Write g of shear, and of volume behind it, of strains (rows * CHUNK) and their rates."""
    rows = memory.shear_before.shape[1]
    shear, volume = slice(0, rows * CHUNK), slice(rows * CHUNK, (rows + 1) * CHUNK)
    if group.soft_shear.size.shape[0] > 0:
        h, d, before = step_of(group.soft_shear, part), memory.shear_voigt[chunk], memory.shear_before[chunk]
        drive(group.soft_shear, chunk, h, d, strain[shear], before, rate[shear], g[shear])
    if group.soft_volume.size.shape[0] > 0:
        h, d, before = step_of(group.soft_volume, part), memory.volume_voigt[chunk], memory.volume_before[chunk]
        drive(group.soft_volume, chunk, h, d, strain[volume], before, rate[volume], g[volume])


@compiled(nogil=True)
def settle_group(
    group: Group,
    memory: Memory,
    chunk: int,
    part: float,
    strain: Array,
    rate: Array,
    g: Array,
    sizes: Array,
    tension: Array,
    viscosities: Array,
) -> None:
    """Solve for the stresses of g, whose shear has the `sizes` (CHUNK,); add them to `tension` and `viscosities`.

    Where both soften together, in plane stress, the size is von Mises/sqrt(3) of shear t and area stress p,
    (t^2 + p^2/3)^(1/2). With one Poisson ratio c/c2 of both is the same, and with it f/g.
    """
    rows = memory.shear_before.shape[1]
    shear, volume = slice(0, rows * CHUNK), slice(rows * CHUNK, (rows + 1) * CHUNK)
    if group.soft_shear.size.shape[0] > 0:
        if group.together:
            for k in range(CHUNK):
                i = rows * CHUNK + k
                sizes[k] = np.sqrt(sizes[k] ** 2 + ((1.0 + strain[i]) * g[i]) ** 2 / 3.0)
        give_way(
            group.soft_shear,
            chunk,
            step_of(group.soft_shear, part),
            memory.shear_voigt[chunk],
            strain[shear],
            memory.shear_before[chunk],
            rate[shear],
            g[shear],
            sizes,
            tension[shear],
            viscosities[:CHUNK],
        )
    if group.soft_volume.size.shape[0] > 0:
        if not group.together:
            for k in range(CHUNK):
                sizes[k] = abs(g[rows * CHUNK + k])
        give_way(
            group.soft_volume,
            chunk,
            step_of(group.soft_volume, part),
            memory.volume_voigt[chunk],
            strain[volume],
            memory.volume_before[chunk],
            rate[volume],
            g[volume],
            sizes,
            tension[volume],
            viscosities[CHUNK : 2 * CHUNK],
        )
