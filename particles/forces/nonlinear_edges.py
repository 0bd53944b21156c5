"""All edges whose law is not linear: a Voigt unit in series with a slider, a softening dashpot or friction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.blocks import STEP
from rheotwin.materials import (
    FrictionThreeElement,
    Law,
    NonlinearThreeElement,
    SliderThreeElement,
    SofteningThreeElement,
)
from rheotwin.particles.forces.edge_group import EdgeGroup
from rheotwin.particles.forces.friction_damper import (
    FrictionEdges,
    add_friction_forces,
    friction_edges,
    friction_tangent,
)
from rheotwin.particles.forces.nonlinear_damper import (
    SofteningEdges,
    add_softening_forces,
    softening_edges,
    softening_tangent,
)
from rheotwin.particles.forces.slider import SliderEdges, add_slider_forces, slider_edges, slider_tangent, stop_energy
from rheotwin.particles.state import EXTENSION

Array = NDArray[np.float64]

KINDS: tuple[type[NonlinearThreeElement], ...] = (SliderThreeElement, SofteningThreeElement, FrictionThreeElement)
"""Laws with a loop of their own, in the order of their edges in the state."""
_TANGENTS = {
    SliderThreeElement: slider_tangent,
    SofteningThreeElement: softening_tangent,
    FrictionThreeElement: friction_tangent,
}


class NonlinearEdges(NamedTuple):
    """The edges of every kind of law, in the order in which the state (2, n) holds them."""

    sliders: SliderEdges
    softening: SofteningEdges
    friction: FrictionEdges


def kind_of(law: Law) -> int:
    """Return 0 for a linear law, else 1 + its place in `KINDS`: edges are sorted by it."""
    return KINDS.index(type(law)) + 1 if isinstance(law, NonlinearThreeElement) else 0


def nonlinear_stages(edges: NonlinearEdges, x: Array, v: Array, state: Array) -> list[tuple[Any, ...]]:
    """Return for every kind of law its edges, and what advances their Voigt parts by a step and adds their forces."""
    kinds: list[tuple[Any, Any]] = [
        (edges.sliders, add_slider_forces),
        (edges.softening, add_softening_forces),
        (edges.friction, add_friction_forces),
    ]
    found, first = [], 0
    for group, add in kinds:
        last = first + len(group.corners)
        found.append((group.corners, add, (group, x, v, STEP, state[:, first:last])))
        first = last
    return found


def nonlinear_edges(groups: Sequence[EdgeGroup], h: float) -> NonlinearEdges:
    """Pack groups sorted by kind for steps of `h` [s]."""
    sliders, softening, friction = ([group for group in groups if isinstance(group.law, kind)] for kind in KINDS)
    return NonlinearEdges(slider_edges(sliders, h), softening_edges(softening), friction_edges(friction))


def largest_tangents(groups: Sequence[EdgeGroup]) -> tuple[Array, Array]:
    """Return the largest stiffness [N/m] and viscosity [N s/m] (n,) the edges can show, for the stable step."""
    pairs = [_TANGENTS[type(group.law)](group) for group in groups]
    return tuple(np.concatenate([np.zeros(0), *(pair[part] for pair in pairs)]) for part in (0, 1))  # type: ignore[return-value]


def spring_tension(groups: Sequence[EdgeGroup], state: Array) -> Array:
    """Return the tension k d of the springs inside the edges (n,) [N]: what relaxes when they are held."""
    return np.asarray(_stiffness(groups) * state[EXTENSION])


def nonlinear_energy(groups: Sequence[EdgeGroup], state: Array, length: Array) -> float:
    """Return the energy [J] in the springs and in the stops of sliders at edge lengths (n,) [m]."""
    extension = state[EXTENSION]
    stored, first = 0.5 * np.sum(_stiffness(groups) * extension**2), 0
    for group in groups:
        part = slice(first, first + len(group.rest))
        first += len(group.rest)
        slider = getattr(group.law, "slider", None)
        if slider is not None:
            natural = slider.natural * group.rest
            series_length = length[part] - natural - extension[part]
            stored += stop_energy(slider, group.law.edge_constants[0] * group.share, natural, series_length).sum()
    return float(stored)


def _stiffness(groups: Sequence[EdgeGroup]) -> Array:
    return np.concatenate([np.zeros(0), *(group.law.edge_constants[0] * group.share for group in groups)])
