"""Edges of one law that is not linear in the history of strain, and what such a law is to loops and results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.vectors import formula, load, store
from rheotwin.materials import Law
from rheotwin.particles.state import EXTENSION, TENSION

SHARE, GAUGE, PER_GAUGE, LENGTH, PER_LENGTH = range(5)
"""Rows of what an edge knows of itself: what it has of each modulus and viscosity of its law [m], what it has of each
stress per share (the gauge length [m], l0 or 1 where the law's numbers are those of an edge), l0 [m], and 1 over both.
All are zero in lanes that are no edges, and the force of an edge is a finite number times its share."""


@dataclass(frozen=True)
class EdgeGroup:
    """Edges (n, 2) of one law with rest lengths [m].

    An edge has `share` [m] times each modulus and viscosity of the law, and `force_share` [m2] times each stress.
    """

    law: Law
    corners: Indices
    rest: Array
    share: Array
    force_share: Array

    @property
    def numbers(self) -> Array:
        """The rows (5, n) that tensions read."""
        gauge = self.force_share / self.share
        return np.stack([self.share, gauge, 1.0 / gauge, self.rest, 1.0 / self.rest])


@dataclass(frozen=True)
class EdgeLaw:
    """What the loops, the stable step and the results need to know of a law. Adding one: see `nonlinear_edges`.

    `tension(law)` is the compiled function of an edge's tension [N], with the signature that `edge` asks for; it leaves
    extension and tension in its states by `remember`. It reads `constants(law, h)` (C,), those of steps of `h` [s].
    `tangent(group)`: the largest stiffness [N/m] and viscosity [N s/m] (n,) an edge can show.
    `relaxing(group, extension)`: the tension (n,) [N] that relaxes when the edge is held.
    `energy(group, extension, length)`: what springs and stops store (n,) [J].
    """

    tension: Callable[[Any], Any]
    constants: Callable[[Any, float], Array]
    tangent: Callable[[EdgeGroup], tuple[Array, Array]]
    relaxing: Callable[[EdgeGroup, Array], Array]
    energy: Callable[[EdgeGroup, Array, Array], Array]


@formula
def remember(states: Any, at: Any, extension: Any, tension: Any) -> None:
    """Put an extension [m] and a tension [N] into the states of edges."""
    store(states, EXTENSION, at, extension)
    store(states, TENSION, at, tension)


@formula
def extension_of(states: Any, at: Any) -> Any:
    """Return the extension [m] the last step has left."""
    return load(states, EXTENSION, at)


def spring_tension(group: EdgeGroup, extension: Array) -> Array:
    """Return k d [N] of the spring inside three elements: what relaxes when an edge is held."""
    return np.asarray(group.law.edge_constants[0] * group.share * extension)  # type: ignore[attr-defined]


def spring_energy(group: EdgeGroup, extension: Array, length: Array) -> Array:
    """Return k d^2/2 [J] of the spring inside three elements."""
    return 0.5 * spring_tension(group, extension) * extension
