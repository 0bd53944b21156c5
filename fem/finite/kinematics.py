"""What a description of large motion offers: a strain, its first variation and its second (spec 6).

With strain e(u), conjugate stress s and weights w the internal force is sum_q w B's, B = de/du, and its
tangent sum_q w (B' (ds/de) B + s d2e/du2).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.finite.geometry import ElementGeometry
from rheotwin.fem.finite.voigt import COLUMN, ENGINEERING, ROW

Array = NDArray[np.float64]


class Kinematics(Protocol):
    """Strains (e, q, 6) carry engineering shear; vectors u (size,) are displacements [m]."""

    @property
    def geometry(self) -> ElementGeometry:
        """The elements at rest."""

    def strain(self, u: Array) -> Array:
        """Return the strain at the quadrature points."""

    def operator(self, u: Array) -> Array:
        """Return B (e, q, m, 6): the strain for a unit change of each component [1/m]."""

    def geometric(self, u: Array, stress: Array) -> Array:
        """Return sum_q w s : d2e/du2 (e, m, m) [N/m] for a stress (e, q, 6) [Pa]."""

    def cauchy(self, u: Array, stress: Array) -> Array:
        """Return the Cauchy stress (e, q, 6) [Pa] of a conjugate stress."""


def products(frame: Array, gradients: Array, dimension: int) -> Array:
    """Return A' dF (..., m, 3, 3) for a unit change of each component: (A' dF)_JK = A_cJ dN_a/dX_K."""
    pairs = frame[..., None, :dimension, :, None] * gradients[..., :, None, None, :]
    return np.asarray(pairs.reshape(*pairs.shape[:-4], -1, 3, 3))


def symmetric_products(frame: Array, gradients: Array, dimension: int) -> Array:
    """Return the strain components (..., m, 6) of sym(A' dF) without forming the tensors."""
    rows, columns = frame[..., :dimension, ROW], frame[..., :dimension, COLUMN]
    pairs = rows[..., None, :, :] * gradients[..., :, None, COLUMN]
    pairs += columns[..., None, :, :] * gradients[..., :, None, ROW]
    return np.asarray((0.5 * ENGINEERING * pairs).reshape(*pairs.shape[:-3], -1, 6))
