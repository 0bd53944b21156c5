"""Soft area or volume elements that keep the members of a constrained patch together (spec 5).

A constraint on a patch lets its single triangles drift. With the ratios r_e = S_e/S0_e and the patch means
rho_m = sum_e w_me S_e / sum_e w_me S0_e, the energy

    W = (K_s/2) sum_e S0_e d_e^2,     d_e = r_e - sum_m w_me rho_m / sum_m w_me

holds each ratio at the mean of its patches; it vanishes for a uniform change of measure, so it adds no bulk
stiffness. K_s = mu ... 5 mu serves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from rheotwin.constraints.measure import rest_measures, simplex_gradients, simplex_measures
from rheotwin.constraints.patches import Patches

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SoftMeasure:
    """Soft elements on patches: `difference` (elements, elements) [1/m^d] maps measures to d_e."""

    patches: Patches
    rest: Array
    difference: csr_matrix
    modulus: float

    def energy(self, positions: Array) -> float:
        """Return W [J] at positions (N, d) [m]."""
        drift = self.difference @ simplex_measures(self.patches.simplices, positions)
        return float(0.5 * self.modulus * (self.rest @ drift**2))

    def force(self, positions: Array) -> Array:
        """Return -dW/dx (N, d) [N]."""
        simplices = self.patches.simplices
        drift = self.difference @ simplex_measures(simplices, positions)
        pressure = -self.modulus * (self.difference.T @ (self.rest * drift))
        out = np.zeros_like(positions)
        np.add.at(out, simplices, pressure[:, None, None] * simplex_gradients(simplices, positions))
        return out

    def stiffness(self, gradient: csr_matrix) -> csr_matrix:
        """Return the small-strain stiffness [N/m] for dS/dx (elements, N d) of the single elements."""
        rows = self.difference @ gradient
        return (self.modulus * (rows.T @ diags(self.rest) @ rows)).tocsr()


def soft_measure(patches: Patches, points: Array, modulus: float) -> SoftMeasure:
    """Return soft elements of modulus K_s [Pa] for patches with rest points (N, d) [m]."""
    rest, shares = rest_measures(patches.simplices, points), patches.shares
    mean = diags(1.0 / (shares @ rest)) @ shares
    back = diags(1.0 / np.asarray(shares.sum(axis=0)).ravel()) @ shares.T
    return SoftMeasure(patches, rest, (diags(1.0 / rest) - back @ mean).tocsr(), modulus)
