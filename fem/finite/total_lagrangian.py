"""Total-Lagrangian kinematics: Green's strain and the second Piola-Kirchhoff stress (spec 6).

    E = (F'F - I)/2 = sym(H) + H'H/2,   H = du/dX,      sigma = F S F'/J

E does not change when the body turns, so neither does S nor anything a law remembers of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.finite.kinematics import ElementGeometry, symmetric_products
from rheotwin.fem.finite.voigt import strain_vector, stress_tensor, stress_vector


@dataclass(frozen=True)
class TotalLagrangian:
    """Green's strain at every quadrature point."""

    geometry: ElementGeometry

    def strain(self, u: Array) -> Array:
        """Return E (e, q, 6), from H so that small strains keep all their digits."""
        slope = self.geometry.displacement_gradient(u)
        return strain_vector(slope + 0.5 * np.swapaxes(slope, -1, -2) @ slope)

    def operator(self, u: Array) -> Array:
        """Return B (e, q, m, 6) of dE = sym(F' dF)."""
        geometry = self.geometry
        return symmetric_products(geometry.deformation_gradient(u), geometry.gradients, geometry.dimension)

    def geometric(self, u: Array, stress: Array) -> Array:
        """Return sum_q w S : sym(dF' dF): per pair of nodes w dN_a . S dN_b, the same for each component."""
        geometry = self.geometry
        weighted = geometry.gradients @ (geometry.weights[..., None, None] * stress_tensor(stress))
        pairs = np.sum(weighted @ np.swapaxes(geometry.gradients, -1, -2), axis=1)
        elements, size = geometry.dofs.shape
        blocks = pairs[:, :, None, :, None] * np.eye(geometry.dimension)[:, None, :]
        return np.asarray(blocks.reshape(elements, size, size))

    def cauchy(self, u: Array, stress: Array) -> Array:
        """Return sigma = F S F'/J (e, q, 6) [Pa]."""
        deformation = self.geometry.deformation_gradient(u)
        pushed = deformation @ stress_tensor(stress) @ np.swapaxes(deformation, -1, -2)
        return np.asarray(stress_vector(pushed) / np.linalg.det(deformation)[..., None])
