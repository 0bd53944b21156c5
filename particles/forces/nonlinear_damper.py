"""Three-element edges whose series dashpot softens under force (spec section 3, E15), tension positive.

c2(f) = c_max for |f| <= f1, c_min for |f| >= f2, c_max exp(-B (|f| - f1)) in between, B = ln(c_max/c_min)/(f2 - f1).
The Voigt part's extension d is advanced implicitly, d_new = d + h (ldot - f/c2), which only turns c1 into c = c1 + k h:

    g = k d + c ldot,      |f| (1 + c/c2(|f|)) = |g|,      f has the sign of g

The left side increases, so there is one root. Lagging c2(f) by a step instead would jump between two values of f.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.materials import SofteningThreeElement
from rheotwin.particles.forces.edge_frame import edge_frame, pull_together
from rheotwin.particles.forces.edge_group import EdgeGroup, column, joined_corners
from rheotwin.particles.state import EXTENSION, TENSION

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ITERATIONS = 10
"""Most steps; three or four are usual, two from the tension of the step before."""
CONVERGED = 1e-14
"""The iteration ends when the next correction of log f, (1 + B f)^2 times the cube of this one, would be as small."""
NEAR = 0.1
"""Corrections of log f below this take the curvature along."""


class SofteningEdges(NamedTuple):
    """Ends (n, 2), Voigt unit k [N/m] and c1 [N s/m], series dashpot c_max and c_min [N s/m], f1, f2 [N] and B [1/N].

    `natural` [m], `least` and `most` bound the Voigt part as a slider does; without one they are infinite.
    """

    corners: Indices
    stiffness: Array
    viscosity: Array
    stiff_series: Array
    soft_series: Array
    from_force: Array
    to_force: Array
    exponent: Array
    natural: Array
    least: Array
    most: Array


@compiled
def _between(size: float, c: float, stiff: float, start: float, end: float, exponent: float, guess: float) -> float:
    """Solve |f| (1 + c/c2(|f|)) = `size` [N] between f1 and f2: Newton in log f, kept in its bracket.

    In log f the logarithm of the left side is nearly straight for small f and convex, so Newton comes from above.
    Near the root Halley's correction by the curvature saves the last step.
    """
    low, high = start, min(end, size / (1.0 + c / stiff))
    f = guess if low < guess < high else high
    for _ in range(ITERATIONS):
        slow = c / stiff * np.exp(exponent * (f - start))
        excess = np.log(f * (1.0 + slow) / size)
        if excess > 0.0:
            high = f
        else:
            low = f
        fall = exponent * f  # of log c2 over log f
        part = fall * slow / (1.0 + slow)
        step = excess / (1.0 + part)
        if abs(step) < NEAR:
            step /= 1.0 - 0.5 * step * part * (1.0 + fall / (1.0 + slow)) / (1.0 + part)
        wanted = f * np.exp(-step)
        if low <= wanted <= high:
            f = wanted
            if (1.0 + fall) ** 2 * abs(step) ** 3 <= CONVERGED:
                break
        else:
            f = 0.5 * (low + high)
    return f


@compiled
def softened(
    g: float, c: float, stiff: float, soft: float, start: float, end: float, exponent: float, guess: float
) -> tuple[float, float]:
    """Return the force f [N] and the rate f/c2(f) [m/s] of the series dashpot; `guess` [N] only saves iterations."""
    size = abs(g)
    if size <= start * (1.0 + c / stiff):
        return g * stiff / (c + stiff), g / (c + stiff)
    if size >= end * (1.0 + c / soft):
        return g * soft / (c + soft), g / (c + soft)
    f = _between(size, c, stiff, start, end, exponent, abs(guess))
    flow = f / stiff * np.exp(exponent * (f - start))
    return (f, flow) if g > 0.0 else (-f, -flow)


@compiled
def add_softening_forces(edges: SofteningEdges, x: Array, v: Array, h: float, state: Array, force: Array) -> None:
    """Advance the Voigt parts by a step of `h` [s] and scatter f e to both ends."""
    for edge in range(edges.corners.shape[0]):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        length, rate, ex, ey, ez = edge_frame(x, v, i, j)
        k, b, natural = edges.stiffness[edge], edges.viscosity[edge], edges.natural[edge]
        before = state[EXTENSION, edge]
        c = b + k * h
        f, flow = softened(
            k * before + c * rate,
            c,
            edges.stiff_series[edge],
            edges.soft_series[edge],
            edges.from_force[edge],
            edges.to_force[edge],
            edges.exponent[edge],
            state[TENSION, edge],
        )
        free = before + h * (rate - flow)
        now = min(max(free, edges.least[edge] * length - natural), edges.most[edge] * length - natural)
        if now != free:
            f = k * now + b * (now - before) / h
        state[EXTENSION, edge] = now
        state[TENSION, edge] = f
        pull_together(force, i, j, f * ex, f * ey, f * ez)


def _law(group: EdgeGroup) -> SofteningThreeElement:
    return cast(SofteningThreeElement, group.law)


def exponent_of(group: EdgeGroup) -> float:
    """Return B of the law [1/Pa]."""
    softening = _law(group).softening
    return float(np.log(group.law.edge_constants[2] / softening.viscosity)) / (
        softening.to_stress - softening.from_stress
    )


def slider_bounds(group: EdgeGroup) -> tuple[float, float, float]:
    """Return natural, least and most share of the length; without a slider nothing is out of bounds."""
    slider = _law(group).slider
    return (0.0, -np.inf, np.inf) if slider is None else (slider.natural, slider.least, slider.most)


def softening_edges(groups: Sequence[EdgeGroup]) -> SofteningEdges:
    """Pack the edges of all laws with softening."""
    return SofteningEdges(
        corners=joined_corners(groups),
        stiffness=column(groups, lambda g: g.law.edge_constants[0] * g.share),
        viscosity=column(groups, lambda g: g.law.edge_constants[1] * g.share),
        stiff_series=column(groups, lambda g: g.law.edge_constants[2] * g.share),
        soft_series=column(groups, lambda g: _law(g).softening.viscosity * g.share),
        from_force=column(groups, lambda g: _law(g).softening.from_stress * g.force_share),
        to_force=column(groups, lambda g: _law(g).softening.to_stress * g.force_share),
        exponent=column(groups, lambda g: exponent_of(g) / g.force_share),
        natural=column(groups, lambda g: slider_bounds(g)[0] * g.rest),
        least=column(groups, lambda g: slider_bounds(g)[1]),
        most=column(groups, lambda g: slider_bounds(g)[2]),
    )


def softening_tangent(group: EdgeGroup) -> tuple[Array, Array]:
    """Return the largest stiffness [N/m] and viscosity [N s/m] (n,) the edges can show.

    df/dg <= c_max/(c1 + c_max) = B, so d' <= B ldot: k B^2 and c1 B, or those of a slider's upper bound.
    """
    spring, voigt, stiff = group.law.edge_constants
    gain, slider = stiff / (voigt + stiff), _law(group).slider
    most = 0.0 if slider is None else slider.most
    return max(gain**2, most) * spring * group.share, max(gain, most) * voigt * group.share
