"""Edges whose spring follows a table of stress over strain, with a dashpot beside it, tension positive.

Between the strains e_0 < e_1 < .. of the table the stress is straight, beyond its ends it goes on as in the last
interval; it is zero at rest. With slopes m_i that is a sum over intervals, of which only those passed count:

    sigma(e) = sum_i m_i (clip(e, e_i, e_i+1) - clip(0, e_i, e_i+1)),      f = share (gauge sigma(l/l0 - 1) + eta l')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.vectors import formula, load
from rheotwin.materials import Tabulated
from rheotwin.particles.forces.edge_group import GAUGE, LENGTH, PER_LENGTH, SHARE, EdgeGroup, EdgeLaw, remember

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
