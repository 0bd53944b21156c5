"""Energy of arms and Voigt parts that remember a stress tensor: kappa V0 z:z/4 with the metric of the present shape.

z is twice the deviatoric strain of an arm's spring, mu e:e its energy. Exact for small strains; at large ones linear
viscoelasticity of the second Piola stress has no energy to be exact about.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.group import Group, Memory
from rheotwin.particles.shear_volume.lanes import CHUNK

Array = NDArray[np.float64]

PLANE = np.array([[0, 1], [1, 2]])
"""Which of s_11, s_12, s_22 each entry is."""
SPACE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])
"""Which of s_11, s_22, s_33, s_12, s_23, s_13 each entry is."""


@compiled(nogil=True)
def voigt_volume_energy(group: Group, memory: Memory, chunk: int, k: int) -> float:
    """Return the energy k V0 d^2/2 [J] of the Voigt part of one element whose volume softens."""
    soft = group.soft_volume
    if memory.volume_voigt.shape[0] == 0:
        return 0.0
    found: float = 0.5 * soft.size[chunk, k] * soft.spring[chunk, k] * memory.volume_voigt[chunk, 0, k] ** 2
    return found


@compiled(nogil=True)
def _with_square(total: float, factor: float, z: Array, metric: Array, product: Array, k: int) -> float:
    """Return `total` and `factor` times z:z of one tensor, rows of components (rows, CHUNK)."""
    size = metric.shape[0]
    place = PLANE if size == 2 else SPACE
    product[:] = 0.0
    for a in range(size):
        for b in range(size):
            for c in range(size):
                product[a, b] += z[place[a, c], k] * metric[c, b]
    for a in range(size):
        for b in range(size):
            total += factor * product[a, b] * product[b, a]
    return total


@compiled(nogil=True, allocates=True)
def arm_energy(group: Group, memory: Memory, chunk: int, k: int, edges: Array) -> float:
    """Return the energy [J] of all arms of one element, whose edges are rows of the gathered ones."""
    total = 0.0
    for arm in range(group.volume.arm_stiffness.shape[1]):
        total += 0.5 * group.volume.arm_stiffness[chunk, arm, k] * memory.volume_arms[chunk, arm, 0, k] ** 2
    size = 2 if memory.shear_arms.shape[2] == 3 else 3
    metric, product = np.zeros((size, size)), np.zeros((size, size))
    for a in range(size):
        for b in range(size):
            for axis in range(size):
                metric[a, b] += edges[(size * a + axis) * CHUNK + k] * edges[(size * b + axis) * CHUNK + k]
    for arm in range(group.shear.arm_stiffness.shape[1]):
        factor = 0.25 * group.shear.arm_stiffness[chunk, arm, k]
        total = _with_square(total, factor, memory.shear_arms[chunk, arm], metric, product, k)
    if memory.shear_voigt.shape[0] > 0:
        factor = 0.25 * group.soft_shear.size[chunk, k] * group.soft_shear.spring[chunk, k]
        total = _with_square(total, factor, memory.shear_voigt[chunk], metric, product, k)
    return total + voigt_volume_energy(group, memory, chunk, k)
