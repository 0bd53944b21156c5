"""Three-element (and Maxwell) edges with a slider: the series dashpot acts while least l <= l_voigt <= most l.

Spec section 6, ratio clamp by projection, with l_voigt = L + d, L = natural l0, B = c2/(c1 + c2), A = k/(c1 + c2):

    d* = exp(-A h) d + B (1 - exp(-A h))/A ldot,      d_new = clip(d*, least l - L, most l - L)

    f = B (k d_new + c1 ldot)   between the bounds,      f = k d_new + c1 (d_new - d)/h   at a bound
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.vectors import formula, load, select
from rheotwin.materials import Slider, SliderThreeElement
from rheotwin.particles.forces.edges import (
    LENGTH,
    SHARE,
    EdgeGroup,
    EdgeLaw,
    extension_of,
    remember,
    spring_energy,
    spring_tension,
)

SPRING, VOIGT, NATURAL, LEAST, MOST, GAIN, DECAY, GROWTH = range(8)
"""Constants of the law: k [Pa], c1 [Pa s], L/l0 and the bounds, B, exp(-A h) and B (1 - exp(-A h))/A [s]."""


@formula
def _tension(constants: Any, numbers: Any, states: Any, at: Any, length: Any, rate: Any, h: Any) -> Any:
    k, b, share = load(constants, SPRING, at), load(constants, VOIGT, at), load(numbers, SHARE, at)
    before, natural = extension_of(states, at), load(constants, NATURAL, at) * load(numbers, LENGTH, at)
    free = load(constants, DECAY, at) * before + load(constants, GROWTH, at) * rate
    least, most = load(constants, LEAST, at) * length - natural, load(constants, MOST, at) * length - natural
    now = min(max(free, least), most)
    stopped = k * now + b * (now - before) / h
    f = share * select(now != free, stopped, load(constants, GAIN, at) * (k * now + b * rate))
    remember(states, at, now, f)
    return f


def _gain(law: SliderThreeElement) -> float:
    """Return B = c2/(c1 + c2)."""
    _, voigt, series = law.edge_constants
    return series / (voigt + series)


def _constants(law: SliderThreeElement, h: float) -> Array:
    spring, voigt, series = law.edge_constants
    slider, rate = law.slider, spring / (voigt + series)
    growth = h if rate == 0.0 else -float(np.expm1(-rate * h)) / rate
    bounds = slider.natural, slider.least, slider.most
    return np.array([spring, voigt, *bounds, _gain(law), np.exp(-rate * h), _gain(law) * growth])


def _tangent(group: EdgeGroup) -> tuple[Array, Array]:
    """Between the bounds d' = B ldot gives k B^2 and c1 B; at a bound a, d = a l - L gives k a and c1 a."""
    law: Any = group.law
    spring, voigt, _ = law.edge_constants
    gain, most = _gain(law), law.slider.most
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


def energy_with_stops(group: EdgeGroup, extension: Array, length: Array) -> Array:
    """Return the energy [J] (n,) of the spring, and of the stops of a slider if there is one."""
    law: Any = group.law
    stored = spring_energy(group, extension, length)
    if law.slider is None:
        return stored
    natural = law.slider.natural * group.rest
    series_length = length - natural - extension
    return stored + stop_energy(law.slider, law.edge_constants[0] * group.share, natural, series_length)


SLIDER_EDGES = EdgeLaw(lambda law: _tension, _constants, _tangent, spring_tension, energy_with_stops)
