"""Three-element edges whose series dashpot softens under force (spec section 3, E15), tension positive.

c2(f) = c_max for |f| <= f1, c_min for |f| >= f2, c_max exp(-B (|f| - f1)) in between, B = ln(c_max/c_min)/(f2 - f1).
The Voigt part's extension d is advanced implicitly, d_new = d + h (ldot - f/c2), which only turns c1 into c = c1 + k h:

    g = k d + c ldot,      |f| (1 + c/c2(|f|)) = |g|,      f has the sign of g,      d_new = d + (h/c) (f - k d)

The left side increases, so there is one root. Lagging c2(f) by a step instead would jump between two values of f.
Between the thresholds t = B |f| solves R(t) = t (1 + q) - B |g| = 0 with q = (c/c_max) exp(t - B f1), which is convex:
Newton from the force of the step before, kept in its bracket, and the inverse series of R for small steps. Vectors
wholly below the thresholds, as in a body at rest, pay for a comparison.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.vectors import any_of, formula, load, select
from rheotwin.materials import SofteningThreeElement
from rheotwin.particles.forces.edges import (
    GAUGE,
    LENGTH,
    PER_GAUGE,
    SHARE,
    EdgeGroup,
    EdgeLaw,
    extension_of,
    remember,
    spring_tension,
)
from rheotwin.particles.forces.slider import energy_with_stops
from rheotwin.particles.state import TENSION

SPRING, VOIGT, STIFF, SOFT, START, END, EXPONENT, NATURAL, LEAST, MOST = range(10)
"""Constants of the law: k [Pa], c1, c_max and c_min [Pa s], thresholds [Pa] and B [1/Pa]; those of a slider."""
ITERATIONS = 30
"""Most steps; one or two are usual, from far away the force grows by a factor e in each."""
TRUSTED = 1.5e-3
"""The next term of the series, below 5.2 s^5/t^4, is rounding for steps s below this share of t/(1 + t)."""
SMALL = 0.5
"""Newton's steps above this stay as they are: the series would not improve them."""
TINY = 1e-30


@formula
def _step(t: Any, growth: Any, size: Any) -> Any:
    """Return Newton's step s = R/R' at t, with q = `growth`, the same with the series x(s) of R(t - x) = 0, and R.

    With r_n = R^(n)/(n! R') = q (n + t)/(n! R'):  x = s + r2 s^2 + (2 r2^2 - r3) s^3 + (5 r2^3 - 5 r2 r3 + r4) s^4
    """
    residual = t * growth + (t - size)
    inverse = 1.0 / (growth * (t + 1.0) + 1.0)
    step, share = residual * inverse, growth * inverse
    r2, r3, r4 = share * (0.5 * t + 1.0), share * (t / 6.0 + 0.5), share * (t / 24.0 + 1.0 / 6.0)
    third = 2.0 * r2 * r2 - r3
    fourth = (5.0 * r2 * r2 - 5.0 * r3) * r2 + r4
    return step, step + step * step * (r2 + step * (third + step * fourth)), residual


@formula
def _between(size: Any, between: Any, ratio: Any, start: Any, end: Any, exponent: Any, guess: Any) -> Any:
    """Return |f| of what is `between` the thresholds, from |g| = `size` and `ratio` c/c_max; elsewhere anything."""
    first, last, least = exponent * start, exponent * end, TINY
    scaled = select(between, exponent * size, (1.0 + ratio) * first)  # elsewhere nothing overflows
    high = min(scaled / (1.0 + ratio), last)
    low, wanted = 0.0 * high + first, exponent * guess
    t = select((first < wanted) & (wanted < high), wanted, high)
    for _ in range(ITERATIONS):
        step, series, residual = _step(t, ratio * math.exp(t - first), scaled)
        low, high = select(residual > 0.0, low, t), select(residual > 0.0, t, high)
        length = abs(step)
        wanted = t - select(length < SMALL, series, step)
        inside = (low <= wanted) & (wanted <= high)
        unfinished = (length * (t + 1.0) > TRUSTED * t) & between | (wanted < low) & between | (wanted > high) & between
        t = select(inside, wanted, 0.5 * (low + high))
        if not any_of(unfinished):
            break
    return t / max(exponent, least)


@formula
def softened(g: Any, c: Any, stiff: Any, soft: Any, start: Any, end: Any, exponent: Any, guess: Any) -> Any:
    """Return the force f and the rate f/c2(f) of the series dashpot; `guess` of |f| only saves iterations."""
    size = abs(g)
    f, flow = g * stiff / (c + stiff), g / (c + stiff)
    if any_of(size > start * (1.0 + c / stiff)):
        above = size >= end * (1.0 + c / soft)
        f, flow = select(above, g * soft / (c + soft), f), select(above, g / (c + soft), flow)
        between = (size > start * (1.0 + c / stiff)) & (size < end * (1.0 + c / soft)) & (exponent > 0.0)
        if any_of(between):
            root = _between(size, between, c / stiff, start, end, exponent, guess)
            f = select(between, math.copysign(root, g), f)
            flow = select(between, f / stiff * math.exp(exponent * (min(root, end) - start)), flow)
    return f, flow


@cache
def _tension(bounded: bool) -> Any:
    """Return the tension of edges with or without a slider."""

    @formula
    def tension(constants: Any, numbers: Any, states: Any, at: Any, length: Any, rate: Any, h: Any) -> Any:
        k, b, share = load(constants, SPRING, at), load(constants, VOIGT, at), load(numbers, SHARE, at)
        before, c, gauge = extension_of(states, at), b + k * h, load(numbers, GAUGE, at)
        stiff, soft = load(constants, STIFF, at), load(constants, SOFT, at)
        driven = k * before + c * rate
        pull = driven * stiff / (c + stiff)
        below = load(constants, START, at) * (1.0 + c / stiff) * gauge
        if any_of((abs(driven) > below) & (share > 0.0)):  # not for lanes that are no edges
            guess = abs(load(states, TENSION, at)) / max(share * gauge, TINY)
            start, end = load(constants, START, at), load(constants, END, at)
            stress = driven * load(numbers, PER_GAUGE, at)
            found, _ = softened(stress, c, stiff, soft, start, end, load(constants, EXPONENT, at), guess)
            pull = found * gauge
        now = before + h / c * (pull - k * before)
        if bounded:
            natural = load(constants, NATURAL, at) * load(numbers, LENGTH, at)
            least, most = load(constants, LEAST, at) * length - natural, load(constants, MOST, at) * length - natural
            free, now = now, min(max(now, least), most)
            pull = select(now != free, k * now + b * (now - before) / h, pull)
        remember(states, at, now, share * pull)
        return share * pull

    return tension


def _constants(law: SofteningThreeElement, h: float) -> Array:
    softening, slider = law.softening, law.slider
    thresholds = softening.from_stress, softening.to_stress
    exponent = np.log(law.edge_constants[2] / softening.viscosity) / (thresholds[1] - thresholds[0])
    bounds = (0.0, 0.0, 1.0) if slider is None else (slider.natural, slider.least, slider.most)
    return np.array([*law.edge_constants, softening.viscosity, *thresholds, exponent, *bounds])


def _tangent(group: EdgeGroup) -> tuple[Array, Array]:
    """df/dg <= c_max/(c1 + c_max) = B, so d' <= B ldot: k B^2 and c1 B, or those of a slider's upper bound."""
    law: Any = group.law
    spring, voigt, stiff = law.edge_constants
    gain, most = stiff / (voigt + stiff), 0.0 if law.slider is None else law.slider.most
    return max(gain**2, most) * spring * group.share, max(gain, most) * voigt * group.share


SOFTENING_EDGES = EdgeLaw(
    lambda law: _tension(law.slider is not None), _constants, _tangent, spring_tension, energy_with_stops
)
