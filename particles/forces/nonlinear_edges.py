"""All edges whose law is not linear in the history of strain, by the law.

A law joins with one entry of `EDGE_LAWS`; `edges` says what an `EdgeLaw` is.

`Tabulated` edges have a spring that follows a table of stress over strain, and a dashpot beside it. Between the strains
e_0 < e_1 < .. of the table the stress is straight, beyond its ends it goes on as in the last interval; it is zero at
rest. With slopes m_i that is a sum over intervals, of which only those passed count:

    sigma(e) = sum_i m_i (clip(e, e_i, e_i+1) - clip(0, e_i, e_i+1)),      f = share (gauge sigma(l/l0 - 1) + eta l')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.vectors import formula, load
from rheotwin.materials import FrictionThreeElement, Law, SliderThreeElement, SofteningThreeElement, Tabulated
from rheotwin.particles.forces.edges import GAUGE, LENGTH, PER_LENGTH, SHARE, EdgeGroup, EdgeLaw, edge, remember
from rheotwin.particles.forces.elements import ElementGroup
from rheotwin.particles.forces.friction import FRICTION_EDGES
from rheotwin.particles.forces.slider import SLIDER_EDGES
from rheotwin.particles.forces.softening import SOFTENING_EDGES
from rheotwin.particles.state import EXTENSION

VISCOSITY, INTERVALS = 0, 1
"""Constants of the law: eta [Pa s], then lower strain, upper strain and slope [Pa] of every interval."""
FAR = 1e12
"""Strain that no edge has: where the first interval begins and the last ends."""


@formula
def _tension(constants: Any, numbers: Any, states: Any, at: Any, length: Any, rate: Any, h: Any) -> Any:
    strain = length * load(numbers, PER_LENGTH, at) - 1.0
    stress = 0.0 * strain
    for first in range(INTERVALS, constants.shape[0], 3):
        low, high = load(constants, first, at), load(constants, first + 1, at)
        stress = stress + load(constants, first + 2, at) * (min(max(strain, low), high) - min(max(0.0, low), high))
    eta, share = load(constants, VISCOSITY, at), load(numbers, SHARE, at)
    f = share * (load(numbers, GAUGE, at) * stress + eta * rate)
    remember(states, at, length - load(numbers, LENGTH, at), f)
    return f


def _intervals(law: Tabulated) -> Array:
    """Return (intervals, 3): lower strain, upper strain, slope [Pa]."""
    strain, stress = np.array(law.strain), np.array(law.stress)
    slope = np.diff(stress) / np.diff(strain)
    ends = np.concatenate([[-FAR], strain[1:-1], [FAR]])
    return np.column_stack([ends[:-1], ends[1:], slope])


def _constants(law: Tabulated, h: float) -> Array:
    return np.concatenate([[law.viscosity.young], _intervals(law).ravel()])


def _tangent(group: EdgeGroup) -> tuple[Array, Array]:
    """Return those of the steepest interval."""
    law: Any = group.law
    return _intervals(law)[:, 2].max() * group.force_share / group.rest, law.viscosity.young * group.share


def _energy(group: EdgeGroup, extension: Array, length: Array) -> Array:
    """Return the area under the table: sum_i m_i (clip(e) - clip(0))^2/2 and what later intervals add."""
    law: Any = group.law
    strain, area = length / group.rest - 1.0, np.zeros(len(length))
    for low, high, slope in _intervals(law):
        origin, reached = np.clip(0.0, low, high), np.clip(strain, low, high)
        moved = reached - origin
        area += slope * moved * (0.5 * moved + (strain - reached))
    return group.force_share * group.rest * area


def _nothing(group: EdgeGroup, extension: Array) -> Array:
    """Return zeros: a spring held does not relax."""
    return np.zeros(len(group.rest))


TABULATED_EDGES = EdgeLaw(lambda law: _tension, _constants, _tangent, _nothing, _energy)


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
