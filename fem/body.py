"""What a body is to a model, whatever its kinematics; and bodies whose forces are linear in the displacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.fem.space import Space
from rheotwin.fem.term import Term


class Body(Protocol):
    """One body in its own components: displacements u (size,) [m], their rate, and what its laws remember."""

    @property
    def space(self) -> Space:
        """Where its displacements live."""

    @property
    def mass(self) -> csr_matrix:
        """M (size, size) [kg]."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """Its channels on constant matrices; none where forces are not linear in the displacement."""

    def at_rest(self) -> list[Array]:
        """Return the memories of a body that has never moved."""

    def internal_force(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return the nodal forces (size,) [N] of the stress."""

    def stored(self, u: Array, memories: Sequence[Array]) -> float:
        """Return the energy [J] of springs and arms."""

    def vertex_stress(self, u: Array, rate: Array, memories: Sequence[Array], *, memory_only: bool = False) -> Array:
        """Return the Cauchy stress (vertices, 6) [Pa], all of it or what memories hold, averaged to the vertices."""

    def cell_stress(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return the Cauchy stress (cells, 6) [Pa], averaged over each cell."""

    def vertex_strain(self, u: Array) -> Array:
        """Return the small strain (vertices, 6) of the displacement, averaged to the vertices."""


@dataclass(frozen=True)
class LinearBody:
    """Small strain: sum_X J_X s_X of terms; thickness (2D) or section (1D) is folded into the matrices."""

    space: Space
    mass: csr_matrix
    terms: tuple[Term, ...]
    out_of_plane: Array | float = 0.0
    """Strain ZZ per (XX + YY) where it has been eliminated (points,): -nu/(1 - nu) in plane stress."""

    def at_rest(self) -> list[Array]:
        """Return no histories (arms, state size), one array per term."""
        return [np.zeros((len(term.channel.times), term.state_size)) for term in self.terms]

    def internal_force(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return sum J (g_inf e + sum w + eta e') (size,) [N]."""
        force = np.zeros(len(u))
        for term, memory in zip(self.terms, memories, strict=True):
            force += term.force(_stress_state(term, u, rate) + memory.sum(axis=0))
        return force

    def stored(self, u: Array, memories: Sequence[Array]) -> float:
        """Return sum (g_inf e'Je + sum_a w'Jw/g_a)/2 [J]."""
        total = 0.0
        for term, memory in zip(self.terms, memories, strict=True):
            if term.channel.equilibrium:
                measure = term.measure(u)
                total += 0.5 * term.channel.equilibrium * term.product(measure, measure)
            for strength, w in zip(term.channel.strengths, memory, strict=True):
                total += 0.5 / strength * term.product(w, w)
        return total

    def vertex_stress(self, u: Array, rate: Array, memories: Sequence[Array], *, memory_only: bool = False) -> Array:
        """Return C (g_inf e + sum w + eta e'), averaged to the vertices."""
        return np.asarray(self.space.averaging @ self._point_stress(u, rate, memories, memory_only))

    def cell_stress(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return C (g_inf e + sum w + eta e'), averaged over each cell."""
        stress = self._point_stress(u, rate, memories, memory_only=False)
        weights = self.space.weights.reshape(self.space.mesh.nelements, -1)
        return np.asarray(np.einsum("cq,cqi->ci", weights, stress.reshape(*weights.shape, 6)) / weights.sum(1)[:, None])

    def _point_stress(self, u: Array, rate: Array, memories: Sequence[Array], memory_only: bool) -> Array:
        stress = np.zeros((self.space.weights.size, 6))
        for term, memory in zip(self.terms, memories, strict=True):
            state = memory.sum(axis=0)
            if not memory_only:
                state = state + _stress_state(term, u, rate)
            stress[self.space.places_in(term.cells)] += term.strain_of(state) @ term.stress_map.T
        return stress

    def vertex_strain(self, u: Array) -> Array:
        """Return sym(grad u) with the strain out of a plane of stress."""
        return self.space.vertex_strain(u, self.out_of_plane)


def _stress_state(term: Term, u: Array, rate: Array) -> Array:
    """Return g_inf e + eta e'."""
    return term.measure(term.channel.equilibrium * u + term.channel.viscosity * rate)
