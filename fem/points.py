"""Cells of a body at small strain whose law is no channel: it is asked at every quadrature point in every step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import bsr_matrix, csr_matrix, diags

from rheotwin.arrays import Array
from rheotwin.fem.finite.point import PointLaw, Response
from rheotwin.fem.space import Space
from rheotwin.problem import Cells

STRESS = 6
"""Columns in front of what a law remembers: the stress at the end of the last step."""
SHEARS_TWICE = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])


@dataclass(frozen=True)
class PointTerm:
    """One law in some cells: forces E' W s of stresses s, strains e = E u with engineering shear."""

    law: PointLaw
    strain: csr_matrix
    """E (6 points, size) [1/m]."""
    weights: Array
    """W (points,) [m^d], with the thickness."""
    cells: Cells = ...

    def at_rest(self) -> Array:
        """Return stress and memory (points, 6 + width) of a body that has never moved."""
        return np.zeros((len(self.weights), STRESS + self.law.width))

    def strains(self, u: Array) -> Array:
        """Return the strains (points, 6) of displacements."""
        return np.asarray(self.strain @ u).reshape(-1, 6)

    def force(self, stress: Array) -> Array:
        """Return the nodal forces (size,) [N] of stresses (points, 6) [Pa]."""
        return np.asarray(self.strain.T @ (self.weights[:, None] * stress).ravel())

    def tangent(self, modulus: Array) -> csr_matrix:
        """Return E' W D E [N/m] of slopes (points, 6, 6) [Pa]."""
        places = np.arange(len(self.weights) + 1)
        blocks = bsr_matrix((self.weights[:, None, None] * modulus, places[:-1], places))
        return (self.strain.T @ (blocks @ self.strain)).tocsr()

    def respond(self, u: Array, du: Array, memory: Array, h: float, share: float) -> Response:
        """Return the answer at a share of a step [s] that changes u by du, with its slope by du."""
        before, change = self.strains(u), self.strains(du)
        found = self.law.respond(before + share * change, before, memory[:, STRESS:], share * h)
        return found if share == 1.0 else Response(found.stress, share * found.modulus, found.state)

    def after(self, u: Array, du: Array, memory: Array, h: float) -> tuple[Array, float, float]:
        """Return stress and memory after a step, with the work [J] it took up and what of it was lost."""
        before, change = self.strains(u), self.strains(du)
        found = self.law.respond(before + change, before, memory[:, STRESS:], h)
        lost = self.law.dissipated(before + change, before, found.state, memory[:, STRESS:], h)
        work = 0.5 * np.sum((found.stress + memory[:, :STRESS]) * change, axis=1)
        new = np.column_stack([found.stress, found.state])
        return new, float(self.weights @ work), float(self.weights @ lost)

    def stored(self, u: Array, memory: Array) -> float:
        """Return the energy [J] of springs."""
        return float(self.weights @ self.law.stored(self.strains(u), memory[:, STRESS:]))


def point_term(law: PointLaw, space: Space, thickness: float, cells: Cells) -> PointTerm:
    """Return the term of a law in some cells of a space."""
    strain = space.strain_in(cells)
    twice = diags(np.tile(SHEARS_TWICE, strain.shape[0] // 6))
    return PointTerm(law, (twice @ strain).tocsr(), thickness * space.weights[space.places_in(cells)], cells)
