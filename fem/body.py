"""What a body is to a model, whatever its kinematics; and bodies whose forces are linear in the displacement.

A channel of a law acts on a geometric matrix: the force J s of a state s (spec 1, 2.2),

    s = g_inf e + sum_a w_a + eta e',      w_a' = -w_a/tau_a + g_a e'

where e measures the deformation. Histories w live in one of two places:

* nodal: e = u, the papers' nodal vectors. Legal at small strain where all cells of the term share its times.
* quadrature: e = strain tensors at the quadrature points, force = B' W C e. Always legal.

Both give the same forces. A body with laws by part has the terms of each law on its cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.fem.fast.solids import SolidStiffness
from rheotwin.fem.points import STRESS, PointTerm
from rheotwin.fem.space import Space
from rheotwin.materials import Channel
from rheotwin.problem import Cells


def relaxed(channel: Channel, h: float) -> tuple[Array, Array]:
    """Return exp(-x) and g (1 - exp(-x))/x of the arms, x = h/tau: w <- exp(-x) w + g (1 - exp(-x))/x de, exactly.

    For an e that changes at constant rate during `h` [s] (Taylor, Pister and Goudreau 1970).
    """
    x = h / np.array(channel.times)
    return np.exp(-x), -np.array(channel.strengths) * np.expm1(-x) / x


@dataclass(frozen=True)
class Augmentation:
    """Rows (B, C) that a term adds to a step matrix instead of its dense J: [A B'; B -C/kappa]."""

    gradient: csr_matrix
    mass: csr_matrix


@dataclass(frozen=True)
class Term:
    """One channel on J = E' D E in some cells of a body: forces E' D s, energy products s1' D s2 of states s."""

    channel: Channel
    stress_map: Array
    """Map (6, 6) from a strain-like tensor to its stress per unit modulus."""
    matrix: csr_matrix | SolidStiffness | None
    """J [m^(d-2)], or None where it is dense and enters by `augmentation`."""
    strain_of: Callable[[Array], Array]
    """State -> strain-like tensors (points, 6) at the quadrature points of the cells."""
    cells: Cells = ...
    measured_by: csr_matrix | None = None
    """E, with e = E u; None where states are displacement-like vectors."""
    conjugate: Callable[[Array], Array] | None = None
    """State -> D s per unit modulus; default: the product with J."""
    augmentation: Augmentation | None = None
    """Rows to add to a step matrix in place of J = B' C^-1 B, which is dense through a pressure space (spec 5)."""
    rigid: bool = False
    """Whether the channel stands for a constraint e = 0: its force holds at the end of a step, whatever the rule.

    Taken at mid-step like a spring it would alternate about its value for ever, for want of mass and damping.
    """

    @property
    def state_size(self) -> int:
        """Length of a state or history vector."""
        if self.measured_by is not None:
            return int(self.measured_by.shape[0])
        rows = self.matrix if self.augmentation is None else self.augmentation.gradient
        assert rows is not None
        return int(rows.shape[1])

    def measure(self, u: Array) -> Array:
        """Return the deformation e that belongs to a displacement-like vector."""
        return u if self.measured_by is None else np.asarray(self.measured_by @ u)

    def _conjugate(self, state: Array) -> Array:
        if self.conjugate is not None:
            return self.conjugate(state)
        assert self.matrix is not None
        return np.asarray(self.matrix @ state)

    def force(self, state: Array) -> Array:
        """Return the nodal forces E' D s of a state, per unit modulus."""
        found = self._conjugate(state)
        return found if self.measured_by is None else np.asarray(self.measured_by.T @ found)

    def product(self, first: Array, second: Array) -> float:
        """Return the energy product s1' D s2 of two states."""
        return float(first @ self._conjugate(second))


def quadrature_term(
    matrix: csr_matrix, channel: Channel, stress_map: Array, strain: csr_matrix, weights: Array, cells: Cells
) -> Term:
    """Return the term whose states are strain tensors at points: e = B u, `strain` B, volumes `weights` [m^d] W."""

    def stress(state: Array) -> Array:
        """Return W C e with shears counted twice, because XY and YX both work."""
        found = state.reshape(-1, 6) @ stress_map.T
        found[:, 3:] *= 2.0
        return np.asarray((weights[:, None] * found).ravel())

    def tensors(state: Array) -> Array:
        return state.reshape(-1, 6)

    return Term(channel, stress_map, matrix, tensors, cells, measured_by=strain, conjugate=stress)


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
    points: tuple[PointTerm, ...] = ()
    """Laws that are no channels; what they remember comes behind the histories of the terms."""
    out_of_plane: Array | float = 0.0
    """Strain ZZ per (XX + YY) where it has been eliminated (points,): -nu/(1 - nu) in plane stress."""

    def at_rest(self) -> list[Array]:
        """Return no histories (arms, state size), one array per term."""
        histories = [np.zeros((len(term.channel.times), term.state_size)) for term in self.terms]
        return histories + [points.at_rest() for points in self.points]

    def own(self, memories: Sequence[Array]) -> Iterator[tuple[PointTerm, Array]]:
        """Iterate over the laws at points with what they remember."""
        return zip(self.points, memories[len(self.terms) :], strict=True)

    def internal_force(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return sum J (g_inf e + sum w + eta e') (size,) [N]."""
        force = np.zeros(len(u))
        for term, memory in zip(self.terms, memories, strict=False):
            force += term.force(_stress_state(term, u, rate) + memory.sum(axis=0))
        for points, memory in self.own(memories):
            force += points.force(memory[:, :STRESS])
        return force

    def stored(self, u: Array, memories: Sequence[Array]) -> float:
        """Return sum (g_inf e'Je + sum_a w'Jw/g_a)/2 [J]."""
        total = sum(points.stored(u, memory) for points, memory in self.own(memories))
        for term, memory in zip(self.terms, memories, strict=False):
            if term.channel.equilibrium:
                measure = term.measure(u)
                total += 0.5 * term.channel.equilibrium * term.product(measure, measure)
            for strength, w in zip(term.channel.strengths, memory, strict=True):
                total += 0.5 / strength * term.product(w, w)
        return total

    def vertex_stress(self, u: Array, rate: Array, memories: Sequence[Array], *, memory_only: bool = False) -> Array:
        """Return C (g_inf e + sum w + eta e'), averaged to the vertices."""
        return np.asarray(self.space.averaging @ self.point_stress(u, rate, memories, memory_only))

    def cell_stress(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return C (g_inf e + sum w + eta e'), averaged over each cell."""
        stress = self.point_stress(u, rate, memories, memory_only=False)
        weights = self.space.weights.reshape(self.space.mesh.nelements, -1)
        return np.asarray(np.einsum("cq,cqi->ci", weights, stress.reshape(*weights.shape, 6)) / weights.sum(1)[:, None])

    def point_stress(self, u: Array, rate: Array, memories: Sequence[Array], memory_only: bool = False) -> Array:
        """Return C (g_inf e + sum w + eta e') (points, 6) at the quadrature points."""
        stress = np.zeros((self.space.weights.size, 6))
        for points, memory in self.own(memories):
            held = points.law.relaxing(memory[:, STRESS:]) if memory_only else memory[:, :STRESS]
            stress[self.space.places_in(points.cells)] += held
        for term, memory in zip(self.terms, memories, strict=False):
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
