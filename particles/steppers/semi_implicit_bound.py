"""How far the semi-implicit rule may step: up to where some motion turns round in every step.

In a motion v -> -v of step h the positions at the start of a step are u = h v/2, the arms after it z = tanh(A h/2)/A v
(from z -> exp(-A h) z + (1 - exp(-A h))/A v), and m (-2 v) = -h F(u, z, v). So the rule is stable while

    h M^-1 L(h)  has no eigenvalue above 2,     L(h) = sum_e c_e(h) g_e g_e^T,
    c = k h/2 + sum kappa tanh(A h/2)/A + eta.

For slow arms this is the kappa lambda h^2/m + 2 eta lambda h/m < 4 of spec section 6 (R10); an arm that decays within
a step counts as the dashpot kappa/A that it then is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.particles.network import Constants
from rheotwin.particles.stability import largest_eigenvalue, stable_step
from rheotwin.particles.steppers.families import Family

Mask = NDArray[np.bool_]
Others = Sequence[tuple[csr_matrix, float]]

PRECISION = 1e-4
"""Relative error of the step at which the search ends, that of the eigenvalues."""


ALIKE = 1e-9
"""Relative difference up to which constants count as proportional."""


def turning_constants(constants: Constants, h: float) -> Array:
    """Return c(h) of every element, in units of a viscosity."""
    rate = constants.arm_rate
    arms = np.sum(constants.arm_stiffness * np.tanh(0.5 * h * rate) / rate, axis=0)
    return np.asarray(0.5 * h * constants.stiffness + arms + constants.viscosity)


def semi_implicit_step(families: Sequence[Family], others: Others, masses: Array, free: Mask) -> float:
    """Return the stable step [s]; `masses` [kg] and `free` are those of the components (N*d).

    `others` are stiffness and viscosity beside the elements: a matrix and a bound of what no matrix holds, each.
    """
    (stiff, stiff_bound), (viscous, viscous_bound) = others
    families = [family for family in families if len(family)]

    known: list[tuple[list[Array], float]] = []

    def rate(matrix: csr_matrix, chosen: Callable[[Constants], Array]) -> float:
        """Return the largest eigenvalue of M^-1 (matrix + sum c g g^T); proportional constants need only one search."""
        constants = [chosen(family.constants) for family in families]
        alone = not np.any(matrix.data)
        for seen, value in known if alone else []:
            ratio = _ratio(constants, seen)
            if ratio is not None:
                return ratio * value
        for family, values in zip(families, constants, strict=True):
            matrix = matrix + family.matrix(values)
        found = largest_eigenvalue(matrix, masses, free)
        known.extend([(constants, found)] if alone and found > 0.0 else [])
        return found

    def growth(h: float) -> float:
        found = rate(0.5 * h * stiff + viscous, lambda constants: turning_constants(constants, h))
        return h * (found + 0.5 * h * stiff_bound + viscous_bound)

    stiffness = rate(stiff, lambda constants: constants.instantaneous) + stiff_bound
    viscosity = rate(viscous, lambda constants: constants.viscosity) + viscous_bound
    if stiffness == 0.0 and viscosity == 0.0:
        return np.inf
    start = stable_step(stiffness, viscosity)  # slow arms, and the two largest eigenvalues at once: never too far
    return _solve(growth, start)


def _ratio(constants: Sequence[Array], seen: Sequence[Array]) -> float | None:
    """Return the factor between two sets of constants, None where there is none."""
    ratio = max(values.max() for values in constants) / max(values.max() for values in seen)
    pairs = zip(constants, seen, strict=True)
    return float(ratio) if all(np.allclose(new, ratio * old, rtol=ALIKE, atol=0.0) for new, old in pairs) else None


def _solve(growth: Callable[[float], float], h: float) -> float:
    """Solve growth(h) = 2 from below; in logarithms growth rises with h by a slope between 1 and 2."""
    now, slope = np.log(0.5 * growth(h)), 2.0
    while abs(now) > PRECISION:
        longer = h * np.exp(-now / slope)
        then = np.log(0.5 * growth(longer))
        slope = float(np.clip((then - now) / np.log(longer / h), 1.0, 2.0))
        h, now = longer, then
    return h
