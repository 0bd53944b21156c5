"""A volume term that takes its volume strain from a pressure space: J_vol = B^T C^-1 B (spec 5).

    B_mj = int q_m div(phi_j) dV,     C_mn = int q_m q_n dV (+ what stabilises the pair),     theta = C^-1 B u

theta is the projected volume strain. The isotropic stress becomes sigma = 2 mu eps + (K - 2 mu/3) theta I: the
deviator too uses the projected volume strain, J_dev = J_mu - (2/3) J_vol, so that an incompressible body (theta = 0)
keeps the whole of mu J_mu. J_dev stays positive semi-definite because a projection never enlarges int theta^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix, diags
from scipy.sparse.linalg import splu
from skfem import Basis

from rheotwin.errors import RheotwinError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MixedForm:
    """Displacement and pressure spaces of one body with the two matrices between them.

    Displacement unknowns are node-major, mesh vertices first, then edges, faces and bubbles, as `basis` has them.
    """

    name: str
    basis: Basis
    gradient: csr_matrix
    """B (pressures, displacements) [m^(d-1)]."""
    mass: csr_matrix
    """C (pressures, pressures) [m^d]; diagonal where pressures live on disjoint or lumped supports."""
    values: csr_matrix
    """Pressure functions at the quadrature points of `basis` (elements * points, pressures), element by element."""

    @property
    def is_condensable(self) -> bool:
        """Tell whether C is diagonal, so that J_vol is sparse and no pressure unknowns are needed."""
        return bool(self.mass.nnz == np.count_nonzero(self.mass.diagonal()) == self.mass.shape[0])

    @cached_property
    def solve_mass(self) -> Callable[[Array], Array]:
        """Return the map b -> C^-1 b; C is factorised at the first call."""
        if self.is_condensable:
            inverse = 1.0 / self.mass.diagonal()
            return lambda right: inverse * right
        factor = splu(csc_matrix(self.mass))
        return lambda right: np.asarray(factor.solve(right))

    def volume_strain(self, displacement: Array) -> Array:
        """Return theta = C^-1 B u (pressures,), the coefficients of the projected volume strain."""
        return self.solve_mass(np.asarray(self.gradient @ displacement))

    def force(self, state: Array) -> Array:
        """Return J_vol s = B^T C^-1 B s [m^(d-2) times the unit of s] without forming J_vol."""
        return np.asarray(self.gradient.T @ self.volume_strain(state))

    def tensors(self, state: Array) -> Array:
        """Return tensors theta/3 I (points, 6) at the quadrature points: their trace is the projected volume strain."""
        found = np.zeros((self.values.shape[0], 6))
        found[:, :3] = (self.values @ self.volume_strain(state))[:, None] / 3.0
        return found

    def condensed(self) -> csr_matrix:
        """Return the sparse J_vol = B^T C^-1 B of a form with diagonal C."""
        if not self.is_condensable:
            raise RheotwinError(
                f"formulation '{self.name}': its pressures are coupled, so the volume matrix is dense; "
                "use its gradient and mass as rows of the step matrix"
            )
        return (self.gradient.T @ diags(1.0 / self.mass.diagonal()) @ self.gradient).tocsr()
