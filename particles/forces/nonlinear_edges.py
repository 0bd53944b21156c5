"""All edges whose law is not linear in the history of strain, by the law.

A law from here joins with one entry of `EDGE_LAWS`; what an `EdgeLaw` is, `edge_group` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.materials import FrictionThreeElement, Law, SliderThreeElement, SofteningThreeElement, Tabulated
from rheotwin.particles.forces.edge_group import EdgeGroup, EdgeLaw
from rheotwin.particles.forces.edges import edge
from rheotwin.particles.forces.elements import ElementGroup
from rheotwin.particles.forces.friction import FRICTION_EDGES
from rheotwin.particles.forces.slider import SLIDER_EDGES
from rheotwin.particles.forces.softening import SOFTENING_EDGES
from rheotwin.particles.forces.tabulated import TABULATED_EDGES
from rheotwin.particles.state import EXTENSION

EDGE_LAWS: dict[type[Any], EdgeLaw] = {
    SliderThreeElement: SLIDER_EDGES,
    SofteningThreeElement: SOFTENING_EDGES,
    FrictionThreeElement: FRICTION_EDGES,
    Tabulated: TABULATED_EDGES,
}
"""By the class of the law, in the order of their edges in the state."""


def kind_of(law: Law) -> int:
    """Return 0 for a linear law, else 1 + its place in `EDGE_LAWS`: edges are sorted by it."""
    return list(EDGE_LAWS).index(type(law)) + 1 if type(law) in EDGE_LAWS else 0


def nonlinear_edges(groups: Sequence[EdgeGroup], h: float) -> tuple[ElementGroup, ...]:
    """Pack groups sorted by kind for steps of `h` [s]; their states follow each other in that order."""
    found, first = [], 0
    for group in groups:
        law, columns = EDGE_LAWS[type(group.law)], slice(first, first + len(group.corners))
        element, constants = edge(law.tension(group.law)), law.constants(group.law, h)
        found.append(ElementGroup(element, group.corners, group.numbers, constants, "nonlinear_edges", columns, 2))
        first = columns.stop
    return tuple(found)


def largest_tangents(groups: Sequence[EdgeGroup]) -> tuple[Array, Array]:
    """Return the largest stiffness [N/m] and viscosity [N s/m] (n,) the edges can show, for the stable step."""
    pairs = [EDGE_LAWS[type(group.law)].tangent(group) for group in groups]
    return tuple(np.concatenate([np.zeros(0), *(pair[part] for pair in pairs)]) for part in (0, 1))  # type: ignore[return-value]


def relaxing_tension(groups: Sequence[EdgeGroup], state: Array) -> Array:
    """Return the tension (n,) [N] that relaxes when edges are held; `state` (2, n) is that of all of them."""
    return np.concatenate([np.zeros(0), *(law.relaxing(group, d) for law, group, d, _ in _parts(groups, state))])


def nonlinear_energy(groups: Sequence[EdgeGroup], state: Array, length: Array) -> float:
    """Return the energy [J] stored in edges of lengths (n,) [m]."""
    return sum(float(law.energy(group, d, length[part]).sum()) for law, group, d, part in _parts(groups, state))


def _parts(groups: Sequence[EdgeGroup], state: Array) -> list[tuple[EdgeLaw, EdgeGroup, Array, slice]]:
    """Return each group with its law, the extensions of its edges, and where they are among all."""
    found, first = [], 0
    for group in groups:
        part = slice(first, first + len(group.corners))
        found.append((EDGE_LAWS[type(group.law)], group, state[EXTENSION, part], part))
        first = part.stop
    return found
