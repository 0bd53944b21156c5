"""Edges: the element between two particles, tension positive: start +f e, end -f e, and its law.

    l = |x_j - x_i|,      l' = (v_j - v_i) . e,      e = (x_j - x_i)/l

A law gives the tension f from l and l'; of a linear one, s = l - l0. A law that is not linear in the
history of strain is an `EdgeLaw`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.layouts import apart, exchange
from rheotwin.kernels.vectors import formula, load, store
from rheotwin.materials import Law
from rheotwin.particles.forces.elements import REST, ElementGroup, Elements, linear_group
from rheotwin.particles.state import EXTENSION, TENSION

SHORTEST = 1e-30
"""Least squared length [m^2]: keeps lanes that are no edges finite where two particles meet."""


@formula
def dot(a: Any, b: Any) -> Any:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@cache
def edge(tension: Any) -> Any:
    """Return the element whose law is `tension(constants, numbers, states, at, length, rate, h)` [N]."""

    @formula
    def edge(x: Any, v: Any, force: Any, ends: Any, at: Any, numbers: Any, constants: Any, states: Any, h: Any) -> None:
        d, u = apart(x, ends[0], ends[1]), apart(v, ends[0], ends[1])
        square = max(dot(d, d), SHORTEST)
        inverse = 1.0 / math.sqrt(square)
        f = tension(constants, numbers, states, at, square * inverse, dot(d, u) * inverse, h) * inverse
        exchange(force, ends[0], ends[1], (f * d[0], f * d[1], f * d[2]))

    return edge


@cache
def linear_edge(spring: bool, response: Any) -> Any:
    """Return the element of a linear law; without a spring rest lengths are not read."""

    @formula
    def linear_tension(
        constants: Any, numbers: Any, states: Any, at: Any, length: Any, rate: Any, h: Any
    ) -> Any:  # fmt: skip
        strain = length - load(numbers, REST, at) if spring else length
        return response(constants, numbers, states, at, strain, rate)

    return edge(linear_tension)


def linear_edges(edges: Elements) -> ElementGroup:
    """Pack edges with networks."""
    return linear_group(edges, linear_edge, edges.rest, "edge_arms")


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
