"""What replaces 1/J in elements, so that flattened and inverted ones are pushed back by finite forces.

    psi(J) = 1/J                             J >= J0
           = 2/J0 - 1/(2 J0 - J)             J <  J0,        J = V/V0 signed,   psi' = -1/(J0 + |J - J0|)^2

psi is positive, falls everywhere, has a continuous slope and ends at 2/J0. With energies (something that is zero for
conformal shapes and positive for others) times a power of psi, no inverted shape is in equilibrium: on the ray F -> s F
shear and volume both pull an element of J < 0 towards J = 0. The papers' elements have 1/J: an energy that is infinite
at J = 0 from both sides, behind which an inverted element stays.

The barrier between rest and J < 0 is finite: what is pushed through comes back. Squeezed, sheared and stretched
elements are stiffer than at rest, by a factor s^2 that each kind of element estimates; steps are divided by it.
"""

from __future__ import annotations

from typing import Any

from rheotwin.kernels.vectors import formula, select

FLAT = 0.2
"""J0. Elements above this share of their rest measure follow the exact energy."""
THIN = 0.25 * FLAT
"""Below this |J| what arms of a stress tensor are told of it stays finite; the tensor itself is singular at J = 0."""


@formula
def inverse_ratio(ratio: Any) -> Any:
    """Return psi and psi' of the ratio J, without a branch."""
    r = 1.0 / (FLAT + abs(ratio - FLAT))
    return select(ratio >= FLAT, r, 2.0 / FLAT - r), -r * r


@formula
def slope_of(ratio: Any, psi: Any) -> Any:
    """Return psi' of the ratio J, given psi, without a division."""
    r = select(ratio >= FLAT, psi, 2.0 / FLAT - psi)
    return -r * r


@formula
def guarded_inverse(ratio: Any) -> Any:
    """Return 1/J, or J/THIN^2 where J is smaller than THIN."""
    return ratio / max(ratio * ratio, THIN * THIN)
