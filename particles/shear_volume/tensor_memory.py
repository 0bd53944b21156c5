"""Energy of arms and Voigt parts that remember a stress tensor: kappa V0 z:z/4 with the metric of the present shape.

z is twice the deviatoric strain of an arm's spring, mu e:e its energy. Exact for small strains; at large ones linear
viscoelasticity of the second Piola stress has no energy to be exact about.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.shear_volume.group import Group, Memory

Array = NDArray[np.float64]

PLANE = np.array([[0, 1], [1, 2]])
"""Which of s_11, s_12, s_22 each entry is."""
SPACE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])
"""Which of s_11, s_22, s_33, s_12, s_23, s_13 each entry is."""


def in_elements(chunks: Array, group: Group) -> Array:
    """Return values (chunks, ..., CHUNK) as (..., E), without what fills up the last chunk."""
    rows = np.moveaxis(chunks, 0, -2)
    if not rows.size:
        return np.zeros((*rows.shape[:-2], group.number))
    return rows.reshape(*rows.shape[:-2], -1)[..., : group.number]


def volume_energy(group: Group, memory: Memory) -> float:
    """Return the energy kappa V0 z^2/2 of the arms of volumes, and k V0 d^2/2 of Voigt parts that soften [J]."""
    arms = in_elements(group.volume.arm_stiffness, group) * in_elements(memory.volume_arms, group)[:, 0] ** 2
    total = 0.5 * float(np.sum(arms))
    if len(memory.volume_voigt):
        soft = group.soft_volume
        voigt = in_elements(memory.volume_voigt, group)[0]
        total += 0.5 * float(np.sum(in_elements(soft.size * soft.spring, group) * voigt**2))
    return total


def _squares(z: Array, metric: Array) -> Array:
    """Return z:z (..., E) of tensors in components (..., rows, E), with the metric (E, d, d) of each element."""
    tensor = z[..., PLANE if z.shape[-2] == 3 else SPACE, :]
    product = np.einsum("...ace,ecb->...abe", tensor, metric)
    return np.asarray(np.einsum("...abe,...bae->...e", product, product))


def arm_energy(group: Group, memory: Memory, metric: Array) -> float:
    """Return the energy [J] of all arms and Voigt parts; `metric` (E, d, d) [m2] is e_a . e_b of the present edges."""
    arms = in_elements(group.shear.arm_stiffness, group) * _squares(in_elements(memory.shear_arms, group), metric)
    total = 0.25 * float(np.sum(arms))
    if len(memory.shear_voigt):
        soft = group.soft_shear
        voigt = _squares(in_elements(memory.shear_voigt, group), metric)
        total += 0.25 * float(np.sum(in_elements(soft.size * soft.spring, group) * voigt))
    return total + volume_energy(group, memory)
