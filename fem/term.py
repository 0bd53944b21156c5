"""One channel of a body's law on its geometric matrix: the force J s of a state s (spec 1, 2.2).

    s = g_inf e + sum_a w_a + eta e',      w_a' = -w_a/tau_a + g_a e'

where e measures the deformation. Histories w live in one of two places:

* nodal: e = u, the papers' nodal vectors. Legal at small strain where all cells of the term share its times.
* quadrature: e = strain tensors at the quadrature points, force = B' W C e. Always legal.

Both give the same forces. A body with laws by part has the terms of each law on its cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
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
    matrix: csr_matrix | None
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
