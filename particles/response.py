"""Force and stored energy of elements with linear networks, evaluated between steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.network import Constants

Array = NDArray[np.float64]


def response(constants: Constants, arms: Array, strain: Array, rate: Array) -> tuple[Array, Array]:
    """Return the arms' share sum kappa z and all of it: k strain + sum kappa z + eta rate."""
    memory = np.sum(constants.arm_stiffness * arms, axis=0)
    return memory, constants.stiffness * strain + memory + constants.viscosity * rate


def stored_energy(constants: Constants, arms: Array, strain: Array, measure: Array | float) -> float:
    """Return the energy [J] in the springs: 1/2 (k strain^2 + sum kappa z^2) times the measure."""
    density = constants.stiffness * strain**2 + np.sum(constants.arm_stiffness * arms**2, axis=0)
    return float(0.5 * np.sum(density * measure))
