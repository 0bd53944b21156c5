"""What masters tell: stress, volume, energy."""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array
from rheotwin.materials.flow import KIND, LAME, SHEAR
from rheotwin.particles.slave.cloud import Cloud, Masters
from rheotwin.tensors import von_mises


def elastic_of(masters: Masters) -> Array:
    """Return the elastic deformation FE (M, 3, 3)."""
    return np.asarray(masters.elastic[:, : len(masters.x)].T.reshape(-1, 3, 3))


def volume_ratio(masters: Masters, constants: Array) -> Array:
    """Return volumes over those at rest (M,), det FE JP."""
    many = len(masters.x)
    plastic = np.where(constants[masters.law[:many], KIND] == 0.0, masters.memory[:many], 1.0)
    return np.asarray(np.linalg.det(elastic_of(masters)) * plastic)


def stress_of(masters: Masters, constants: Array) -> Array:
    """Return the Cauchy stress (M, 6) [Pa], P FE^T/J."""
    tau = masters.tau[:, : len(masters.x)] / volume_ratio(masters, constants)
    return np.asarray(tau.T[:, [0, 3, 5, 1, 4, 2]])


def particle_fields(cloud: Cloud, constants: Array) -> dict[str, Array]:
    """Return velocity, stress, invariants and volumes by the names of `PARTICLE_FIELDS`."""
    masters, elastic = cloud.masters, elastic_of(cloud.masters)
    right, ratio = np.einsum("mki,mkj->mij", elastic, elastic), np.linalg.det(elastic)
    first = np.trace(right, axis1=1, axis2=2)
    second = 0.5 * (first**2 - np.einsum("mij,mji->m", right, right))
    volume = volume_ratio(masters, constants)
    return {
        "velocity": masters.v[:, :3].copy(),
        "von_mises_stress": von_mises(stress_of(masters, constants)),
        "elastic_invariants": np.stack([first, second, ratio], axis=1),
        "plastic_volume": volume / ratio,
        "volume": cloud.spacing**3 * volume,
    }


def energies(cloud: Cloud, constants: Array) -> dict[str, float]:
    """Return m v^2/2, without that of velocity gradients, and V0 Psi(FE) [J]."""
    masters, many = cloud.masters, len(cloud.masters.x)
    kinetic = 0.5 * masters.mass @ np.sum(masters.v[:, :3] ** 2, axis=1)
    z, law = masters.left[:, :many], constants[masters.law[:many]]
    squares = z[0] ** 2 + z[3] ** 2 + z[5] ** 2 + 2.0 * (z[1] ** 2 + z[2] ** 2 + z[4] ** 2)
    stretched = squares - 2.0 * (z[0] + z[3] + z[5]) + 3.0
    ratio = np.linalg.det(elastic_of(masters))
    density = masters.hardened[0, :many] * (law[:, SHEAR] * stretched + 0.5 * law[:, LAME] * (ratio - 1.0) ** 2)
    return {"kinetic": float(kinetic), "stored": float(cloud.spacing**3 * density.sum())}
