"""Energy of arms that remember a stress tensor: kappa V0 z:z/4 with the metric of the present shape.

z is twice the deviatoric strain of an arm's spring, mu e:e its energy. Exact for small strains; at large ones linear
viscoelasticity of the second Piola stress has no energy to be exact about.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.particles.shear_volume.group import Group, Memory
from rheotwin.particles.shear_volume.lanes import CHUNK

Array = NDArray[np.float64]

PLANE = np.array([[0, 1], [1, 2]])
"""Which of s_11, s_12, s_22 each entry is."""
SPACE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])
"""Which of s_11, s_22, s_33, s_12, s_23, s_13 each entry is."""


@njit(cache=True, nogil=True)
def arm_energy(group: Group, memory: Memory, chunk: int, k: int, edges: Array) -> float:
    """Return the energy [J] of all arms of one element, whose edges are rows of the gathered ones."""
    total = 0.0
    for arm in range(group.volume.arm_stiffness.shape[1]):
        total += 0.5 * group.volume.arm_stiffness[chunk, arm, k] * memory.volume_arms[chunk, arm, 0, k] ** 2
    size = 2 if memory.shear_arms.shape[2] == 3 else 3
    place, metric, product = PLANE if size == 2 else SPACE, np.zeros((size, size)), np.zeros((size, size))
    for a in range(size):
        for b in range(size):
            for axis in range(size):
                metric[a, b] += edges[(size * a + axis) * CHUNK + k] * edges[(size * b + axis) * CHUNK + k]
    for arm in range(group.shear.arm_stiffness.shape[1]):
        product[:] = 0.0
        for a in range(size):
            for b in range(size):
                for c in range(size):
                    product[a, b] += memory.shear_arms[chunk, arm, place[a, c], k] * metric[c, b]
        for a in range(size):
            for b in range(size):
                total += 0.25 * group.shear.arm_stiffness[chunk, arm, k] * product[a, b] * product[b, a]
    return total
