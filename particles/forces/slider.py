"""Three-element (and Maxwell) edges with a slider: the series dashpot acts while least l <= l_voigt <= most l.

Spec section 6, ratio clamp by projection, with l_voigt = L + d, L = natural l0, B = c2/(c1 + c2), A = k/(c1 + c2):

    d* = exp(-A h) d + B (1 - exp(-A h))/A ldot,      d_new = clip(d*, least l - L, most l - L)

    f = B (k d_new + c1 ldot)   between the bounds,      f = k d_new + c1 (d_new - d)/h   at a bound
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.materials import Slider, SliderThreeElement
from rheotwin.particles.forces.edge_frame import edge_frame, pull_together
from rheotwin.particles.forces.edge_group import EdgeGroup, column, joined_corners
from rheotwin.particles.state import EXTENSION, TENSION

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class SliderEdges(NamedTuple):
    """Ends (n, 2), `natural` length L of the Voigt part [m] and its bounds as shares of the length; k, c1, B.

    `decay` exp(-A h) and `growth` B (1 - exp(-A h))/A [s] belong to one step size.
    """

    corners: Indices
    natural: Array
    least: Array
    most: Array
    stiffness: Array
    viscosity: Array
    gain: Array
    decay: Array
    growth: Array


@compiled
def add_slider_forces(edges: SliderEdges, x: Array, v: Array, h: float, state: Array, force: Array) -> None:
    """Advance the Voigt parts by a step of `h` [s] and scatter f e to both ends."""
    for edge in range(edges.corners.shape[0]):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        length, rate, ex, ey, ez = edge_frame(x, v, i, j)
        k, b, natural = edges.stiffness[edge], edges.viscosity[edge], edges.natural[edge]
        before = state[EXTENSION, edge]
        free = edges.decay[edge] * before + edges.growth[edge] * rate
        now = min(max(free, edges.least[edge] * length - natural), edges.most[edge] * length - natural)
        f = edges.gain[edge] * (k * now + b * rate) if now == free else k * now + b * (now - before) / h
        state[EXTENSION, edge] = now
        state[TENSION, edge] = f
        pull_together(force, i, j, f * ex, f * ey, f * ez)


def _law(group: EdgeGroup) -> SliderThreeElement:
    return cast(SliderThreeElement, group.law)


def _gain(group: EdgeGroup) -> float:
    """Return B = c2/(c1 + c2)."""
    _, voigt, series = group.law.edge_constants
    return series / (voigt + series)


def _decay_rate(group: EdgeGroup) -> float:
    """Return A = k/(c1 + c2) [1/s]."""
    spring, voigt, series = group.law.edge_constants
    return spring / (voigt + series)


def _growth(group: EdgeGroup, h: float) -> float:
    rate = _decay_rate(group)
    return _gain(group) * (h if rate == 0.0 else -float(np.expm1(-rate * h)) / rate)


def slider_edges(groups: Sequence[EdgeGroup], h: float) -> SliderEdges:
    """Pack the edges of all laws with a slider for steps of `h` [s]."""
    return SliderEdges(
        corners=joined_corners(groups),
        natural=column(groups, lambda g: _law(g).slider.natural * g.rest),
        least=column(groups, lambda g: _law(g).slider.least),
        most=column(groups, lambda g: _law(g).slider.most),
        stiffness=column(groups, lambda g: g.law.edge_constants[0] * g.share),
        viscosity=column(groups, lambda g: g.law.edge_constants[1] * g.share),
        gain=column(groups, _gain),
        decay=column(groups, lambda g: float(np.exp(-_decay_rate(g) * h))),
        growth=column(groups, lambda g: _growth(g, h)),
    )


def slider_tangent(group: EdgeGroup) -> tuple[Array, Array]:
    """Return the largest stiffness [N/m] and viscosity [N s/m] (n,) the edges can show.

    Between the bounds d' = B ldot gives k B^2 and c1 B; at a bound a, d = a l - L gives k a and c1 a.
    """
    spring, voigt, _ = group.law.edge_constants
    gain, most = _gain(group), _law(group).slider.most
    return max(gain**2, most) * spring * group.share, max(gain, most) * voigt * group.share


def stop_energy(slider: Slider, stiffness: Array, natural: Array, series_length: Array) -> Array:
    """Return the energy [J] (n,) the slider's stops can give back: the work they do on the series part of length s.

    At a bound a < 1, d = a s/(1 - a) - L, and the stop drives s back with k d: U = k d^2 (1 - a)/(2 a).
    """
    energy = np.zeros(len(stiffness))
    for bound, sign in ((slider.least, 1.0), (slider.most, -1.0)):
        if 0.0 < bound < 1.0:
            pressed = np.maximum(sign * (bound * series_length / (1.0 - bound) - natural), 0.0)
            energy += 0.5 * stiffness * pressed**2 * (1.0 - bound) / bound
    return energy
