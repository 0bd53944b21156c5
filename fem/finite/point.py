"""What a law is at a quadrature point of a body in large motion: stress and its slope from the strain of the point.

    s, ds/de, state  <-  law(e, e_n, state_n, h)

e is the strain of the kinematics (six numbers, engineering shear): Green's strain E = (F'F - I)/2 with the second
Piola-Kirchhoff stress in `total-lagrangian`, the small strain of the turned frame with its stress in `corotational`.
Neither changes when the body turns, so a law remembers nothing that turns. One that wants a deformation gradient takes
`stretch_of(e)`: any F with F'F = I + 2 E gives the same second Piola-Kirchhoff stress.

The volume is kept apart: to what a law returns the part adds (r_bulk * theta') d theta/de of its bulk channel, because
mixed elements take that pressure from unknowns of their own. A law that gives the whole stress itself has a bulk
channel of zero, and mixed elements refuse it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rheotwin.arrays import Array


@dataclass(frozen=True)
class Response:
    """What p points answer."""

    stress: Array
    """Of springs, memories and sliders at the end of the step (p, 6) [Pa]."""
    modulus: Array
    """Slope of `stress` + `flow` by the strain at the end of the step (p, 6, 6) [Pa]."""
    state: Array
    """What is remembered after the step (p, width)."""
    flow: Array | None = None
    """Stress of dashpots beside all else, at the rate (e - e_n)/h (p, 6) [Pa]; none without such dashpots."""


class PointLaw(Protocol):
    """All functions are pure and take points one after the other: strains (p, 6), states (p, width)."""

    @property
    def width(self) -> int:
        """Numbers a point remembers; at rest all are zero."""

    @property
    def symmetric(self) -> bool:
        """Whether `modulus` is."""

    def respond(self, strain: Array, before: Array, state: Array, step: float) -> Response:
        """Return the answer to a step [s] from the strain `before` with its `state` to `strain`."""

    def relaxing(self, state: Array) -> Array:
        """Return the part of the stress (p, 6) [Pa] that only memories hold, or zeros."""

    def stored(self, strain: Array, state: Array) -> Array:
        """Return the stored energy (p,) [J/m^3]."""

    def dissipated(self, strain: Array, before: Array, state: Array, old: Array, step: float) -> Array:
        """Return what a step lost (p,) [J/m^3] without `flow`, whose loss is its work; `old` is the state before."""


def stretch_of(green: Array) -> Array:
    """Return the upper triangular F (..., 3, 3) with F'F = I + 2 E of Green's strain (..., 6), engineering shear."""
    from rheotwin.fem.finite.kinematics import strain_tensor

    return np.swapaxes(np.linalg.cholesky(np.eye(3) + 2.0 * strain_tensor(green)), -1, -2)
