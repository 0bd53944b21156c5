"""Element matrices of the papers' shear: what a dashpot of unit viscosity answers to unit velocities at rest.

Forces are linear in velocity, and a spring's tangent at rest is the same matrix: K_e = -dF/dv is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.network import Constants
from rheotwin.particles.shear_volume.elements import AllElements, Elements
from rheotwin.particles.shear_volume.forces import add_seed_forces
from rheotwin.particles.shear_volume.pack import exploded, pack_forces, rest_state

Array = NDArray[np.float64]


def seed_matrices(elements: AllElements, points: Array) -> dict[str, Array]:
    """Return K_e (E, k d, k d) [1/m2] of the papers' elements per unit of modulus times size; points are (N, 3) [m]."""
    names = [name for name in elements.kinds if name.startswith("seed") and len(elements.kinds[name])]
    return {name: _matrices(elements, name, points) for name in names}


def _matrices(elements: AllElements, name: str, points: Array) -> Array:
    kinds: dict[str, Any] = {other: _chosen(kind, other == name) for other, kind in elements.kinds.items()}
    own, x, _ = exploded(replace(elements, **kinds), points)
    kind = own.kinds[name]
    count, corners = kind.cells.shape
    dimension = 3 if corners == 4 and name == "seed_simplices" else 2
    forces = pack_forces(own, x, 0.0)
    state = rest_state(forces, x)
    found = np.empty((count, corners * dimension, corners * dimension))
    for corner in range(corners):
        for axis in range(dimension):
            v, force = np.zeros_like(x), np.zeros_like(x)
            v[corner::corners, axis] = 1.0
            add_seed_forces(forces, state, x, v, force)
            found[:, :, corner * dimension + axis] = -force[:, :dimension].reshape(count, -1) / kind.size[:, None]
    return found


def _chosen(kind: Elements, used: bool) -> Elements:
    """Return elements with a unit viscosity in shear and none in volume, or no elements."""
    count = len(kind) if used else 0
    none, nothing = np.zeros((0, count)), np.zeros(count)
    return Elements(
        kind.cells[:count],
        kind.rest[:count],
        kind.size[:count],
        Constants(nothing, kind.size[:count], none, none),
        Constants(nothing, nothing, none, none),
    )
