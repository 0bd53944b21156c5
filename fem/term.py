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
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.materials import Channel
from rheotwin.problem import Cells

Array = NDArray[np.float64]
History = Literal["nodal", "quadrature"]


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


class Term(Protocol):
    """What a stepper asks of a term."""

    @property
    def channel(self) -> Channel:
        """Relaxation of the modulus."""

    @property
    def stress_map(self) -> Array:
        """Map (6, 6) from a strain-like tensor to its stress per unit modulus."""

    @property
    def matrix(self) -> csr_matrix | None:
        """J [m^(d-2)], or None where it is dense and enters by `augmentation`."""

    @property
    def augmentation(self) -> Augmentation | None:
        """Rows to add to a step matrix in place of J."""

    @property
    def state_size(self) -> int:
        """Length of a state or history vector."""

    @property
    def rigid(self) -> bool:
        """Whether the channel stands for a constraint e = 0: its force holds at the end of a step, whatever the rule.

        Taken at mid-step like a spring it would alternate about its value for ever, for want of mass and damping.
        """

    @property
    def cells(self) -> Cells:
        """Cells of the body that the term acts in."""

    def measure(self, u: Array) -> Array:
        """Return the deformation e that belongs to a displacement-like vector."""

    def force(self, state: Array) -> Array:
        """Return the nodal forces of a state, per unit modulus."""

    def product(self, first: Array, second: Array) -> float:
        """Return the energy product of two states (s1' J s2 for nodal ones)."""

    def strain_of(self, state: Array) -> Array:
        """Return the strain-like tensors (points, 6) of a state at the quadrature points of the term's cells."""


@dataclass(frozen=True)
class NodalTerm:
    """Sparse J with nodal histories."""

    matrix: csr_matrix
    channel: Channel
    stress_map: Array
    strain: Callable[[Array], Array]
    cells: Cells = ...
    augmentation: None = None
    rigid: bool = False

    @property
    def state_size(self) -> int:
        """Length of a state: that of a displacement vector."""
        return int(self.matrix.shape[0])

    def measure(self, u: Array) -> Array:
        """Return u itself."""
        return u

    def force(self, state: Array) -> Array:
        """Return J s."""
        return np.asarray(self.matrix @ state)

    def product(self, first: Array, second: Array) -> float:
        """Return s1' J s2."""
        return float(first @ (self.matrix @ second))

    def strain_of(self, state: Array) -> Array:
        """Return the strains of a displacement-like vector."""
        return self.strain(state)


@dataclass(frozen=True)
class QuadratureTerm:
    """Strain tensors at the quadrature points as states: force = B' W C e."""

    matrix: csr_matrix
    channel: Channel
    stress_map: Array
    strain: csr_matrix
    """B: displacements -> strains, six rows per point."""
    weights: Array
    """Volume of every point [m^d], times thickness."""
    cells: Cells = ...
    augmentation: None = None
    rigid: bool = False

    @property
    def state_size(self) -> int:
        """Length of a state: six per point."""
        return int(self.strain.shape[0])

    def _stress(self, state: Array) -> Array:
        """Return W C e with shears counted twice, because XY and YX both work."""
        stress = state.reshape(-1, 6) @ self.stress_map.T
        stress[:, 3:] *= 2.0
        return np.asarray((self.weights[:, None] * stress).ravel())

    def measure(self, u: Array) -> Array:
        """Return the strains B u."""
        return np.asarray(self.strain @ u)

    def force(self, state: Array) -> Array:
        """Return B' W C e."""
        return np.asarray(self.strain.T @ self._stress(state))

    def product(self, first: Array, second: Array) -> float:
        """Return the integral of e1 : C e2."""
        return float(first @ self._stress(second))

    def strain_of(self, state: Array) -> Array:
        """Return the state itself, tensor by tensor."""
        return state.reshape(-1, 6)


@dataclass(frozen=True)
class MixedTerm:
    """J = B' C^-1 B through a pressure space, never formed (spec 5); histories are nodal.

    B is the integral of the pressure functions times div u, C the mass of the pressure space (and what stabilises
    it). With an algorithmic modulus kappa the step matrix takes the rows [A B'; B -C/kappa] in its place.
    """

    channel: Channel
    stress_map: Array
    rows: Augmentation
    solve_mass: Callable[[Array], Array]
    strain: Callable[[Array], Array]
    """Displacements -> tensors at the quadrature points whose trace is the projected volume strain."""
    rigid: bool = False
    matrix: None = None
    cells: Cells = ...

    @property
    def augmentation(self) -> Augmentation:
        """B and C."""
        return self.rows

    @property
    def state_size(self) -> int:
        """Length of a state: that of a displacement vector."""
        return int(self.rows.gradient.shape[1])

    def measure(self, u: Array) -> Array:
        """Return u itself."""
        return u

    def volume_strain(self, state: Array) -> Array:
        """Return C^-1 B s, the volume strain in the pressure space."""
        return self.solve_mass(np.asarray(self.rows.gradient @ state))

    def force(self, state: Array) -> Array:
        """Return B' C^-1 B s."""
        return np.asarray(self.rows.gradient.T @ self.volume_strain(state))

    def product(self, first: Array, second: Array) -> float:
        """Return s1' B' C^-1 B s2."""
        return float((self.rows.gradient @ first) @ self.volume_strain(second))

    def strain_of(self, state: Array) -> Array:
        """Return tensors with the projected volume strain as trace."""
        return self.strain(state)
