"""Edges: the element between two particles, tension positive: start +f e, end -f e, and its linear law.

    l = |x_j - x_i|,      l' = (v_j - v_i) . e,      e = (x_j - x_i)/l

A law gives the tension f from l and l' (see `rheotwin.particles.forces.edge_laws`); of a linear one, s = l - l0.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from rheotwin.kernels.layouts import apart, exchange
from rheotwin.kernels.vectors import formula, load
from rheotwin.particles.forces.elements import REST, ElementGroup, Elements, linear_group

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
