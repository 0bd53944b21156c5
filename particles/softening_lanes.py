"""Softening edges in the lanes of vector loops: the law of `rheotwin.particles.forces.nonlinear_damper`, without calls.

All edges of a law have one stress-rate curve, so constants are a column per law: with rho = share/force_share [1/m]
(1/l0, or 1 where the law's numbers are those of an edge), stress phi = f/force_share and c = c1 + k h of the law

    gamma = rho (k d + c ldot),      |phi| (1 + c/c2(|phi|)) = |gamma|,      f = share phi/rho

    d_new = d + (h/c) (phi/rho - k d)

Between the thresholds t = B |phi| solves R(t) = t (1 + q) - B |gamma| = 0 with q = (c/c_max) exp(t - B f1), which is
convex: Newton from the stress of the step before, kept in its bracket, and the inverse series of R for small steps.
Vectors wholly below the thresholds, as in a body at rest, pay for a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any, NamedTuple, cast

import numpy as np
from numba.core import cgutils
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from rheotwin.materials import SofteningThreeElement
from rheotwin.particles.forces.edge_group import EdgeGroup
from rheotwin.particles.forces.nonlinear_damper import exponent_of, slider_bounds
from rheotwin.particles.in_lanes import Reals, spread
from rheotwin.particles.lanes import INDEX, SHORTEST, Lanes, Value, whole
from rheotwin.particles.state import EXTENSION, TENSION

_tools: Any = cgutils
Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SPRING, VISCOSITY, STIFF, SOFT, STIFFENED, SOFTENED, BELOW, ABOVE, FIRST, LAST, SLOPE, FLOW, LEAST, MOST, STOP = range(
    15
)
"""Columns of a law: k, c = c1 + k h, c_max/(c + c_max), c_min/(c + c_min), c/c_max, 1 + c/c_max, the thresholds of
|gamma|, B f1, B f2, B, h/c, the bounds of a slider, and c1/h."""
LAW_COLUMNS = 15
RHO, SHARE, LENGTH, NATURAL = range(4)
"""Rows of lanes: rho [1/m], share [m], 1/rho [m], and the natural length of a slider's Voigt part [m]."""
LANE_ROWS = 4

ITERATIONS = 30
"""Most steps; one or two are usual, from far away the tension grows by a factor e in each."""
TRUSTED = 1.5e-3
"""The next term of the series, below 5.2 s^5/t^4, is rounding for steps s below this share of t/(1 + t)."""
SMALL = 0.5
"""Newton's steps above this stay as they are: the series would not improve them."""
LOG_2 = float(np.log(2.0))
_INTERPOLANT = Chebyshev.interpolate(np.exp, 11, domain=[-0.5 * LOG_2, 0.5 * LOG_2]).convert(kind=Polynomial)
EXPONENTIAL: list[float] = np.asarray(_INTERPOLANT.coef, dtype=float).tolist()
"""exp between -ln(2)/2 and ln(2)/2 to 3e-15."""
LOG_2_HIGH = float(np.float32(LOG_2))
"""Part of ln(2) whose products with powers of two up to 2^10 are exact."""
WHOLE = 1.5 * 2.0**52
"""Added to a number, leaves its nearest whole number in the last bits."""


class SofteningLanes(NamedTuple):
    """Softening edges of the laws of a body: `laws` (laws x 15) and `edges` (4 x lanes) flat, `bounded` per law."""

    laws: Reals
    edges: Reals
    bounded: NDArray[np.bool_]


def softening_lanes(groups: Sequence[EdgeGroup], of_element: Indices, lanes: int, h: float) -> SofteningLanes:
    """Put the edges of groups, one law each, into lanes `of_element` (n,), for steps of `h` [s]."""
    rows = [np.zeros((LANE_ROWS, 0)), *(_rows(group) for group in groups)]
    return SofteningLanes(
        laws=np.concatenate([np.zeros(0), *(_law(group, h) for group in groups)]),
        edges=spread(np.concatenate(rows, axis=1), of_element, lanes, np.float64),
        bounded=np.array([np.isfinite(slider_bounds(group)[1]) for group in groups], dtype=np.bool_),
    )


def _rows(group: EdgeGroup) -> Array:
    carries = group.force_share > 0.0
    rho = np.divide(group.share, group.force_share, out=np.zeros_like(group.share), where=carries)
    length = np.divide(1.0, rho, out=np.zeros_like(rho), where=carries)
    return np.stack([rho, group.share, length, slider_bounds(group)[0] * group.rest])


def _law(group: EdgeGroup, h: float) -> Array:
    softening = cast(SofteningThreeElement, group.law).softening
    spring, voigt, stiff = group.law.edge_constants
    soft, start, end, slope = softening.viscosity, softening.from_stress, softening.to_stress, exponent_of(group)
    c, (_, least, most) = voigt + spring * h, slider_bounds(group)
    found = np.empty(LAW_COLUMNS)
    found[[SPRING, VISCOSITY, STIFF, SOFT]] = spring, c, stiff / (c + stiff), soft / (c + soft)
    found[[STIFFENED, SOFTENED]] = c / stiff, 1.0 + c / stiff
    # A dashpot that does not soften is below its thresholds for ever.
    found[[BELOW, ABOVE]] = (start * (1.0 + c / stiff), end * (1.0 + c / soft)) if slope > 0.0 else (np.inf, np.inf)
    found[[FIRST, LAST, SLOPE]] = slope * start, slope * end, slope
    found[[FLOW, LEAST, MOST, STOP]] = h / c, least, most, voigt / h
    return found


def emit_exponential(lanes: Lanes, value: Value) -> Value:
    """Return exp(value) in double precision, for values between -700 and 700: 2^n exp(rest), n in the last bits."""
    b = lanes.builder
    shifted = lanes.multiply_add(value, lanes.constant(1.0 / LOG_2), lanes.constant(WHOLE))
    power = b.fsub(shifted, lanes.constant(WHOLE))
    rest = lanes.multiply_add(power, lanes.constant(-LOG_2_HIGH), value)
    rest = lanes.multiply_add(power, lanes.constant(LOG_2_HIGH - LOG_2), rest)
    return lanes.times_power_of_two(lanes.polynomial(EXPONENTIAL, rest), shifted)


def _emit_step(lanes: Lanes, t: Value, growth: Value, size: Value) -> tuple[Value, Value, Value]:
    """Return Newton's step s = R/R' at t, with q = `growth`, the same with the series x(s) of R(t - x) = 0, and R.

    With r_n = R^(n)/(n! R') = q (n + t)/(n! R'):  x = s + r2 s^2 + (2 r2^2 - r3) s^3 + (5 r2^3 - 5 r2 r3 + r4) s^4
    """
    b, constant, fused = lanes.builder, lanes.constant, lanes.multiply_add
    residual = fused(t, growth, b.fsub(t, size))
    inverse = b.fdiv(constant(1.0), fused(growth, b.fadd(t, constant(1.0)), constant(1.0)))
    step, share = b.fmul(residual, inverse), b.fmul(growth, inverse)
    r2, r3, r4 = (b.fmul(share, fused(t, constant(1.0 / factorial(n)), constant(n / factorial(n)))) for n in (2, 3, 4))
    squared = b.fmul(r2, r2)
    third = fused(squared, constant(2.0), b.fneg(r3))
    fourth = fused(fused(squared, constant(5.0), b.fmul(constant(-5.0), r3)), r2, r4)
    series = fused(fused(fused(fourth, step, third), step, r2), b.fmul(step, step), step)
    return step, series, residual


Law = Callable[[int], Value]
"""Emitter of a law's constant, by its column, in every lane."""


def _emit_between(lanes: Lanes, law: Law, size: Value, between: Value, guess: Value) -> Value:
    """Return |phi| of lanes `between` the thresholds from |gamma| = `size` and a guess; of others anything."""
    b, select, constant, ordered = lanes.builder, lanes.builder.select, lanes.constant, lanes.builder.fcmp_ordered
    slope, first, softened, last = (law(column) for column in (SLOPE, FIRST, SOFTENED, LAST))
    # Lanes elsewhere get a size and a place where nothing overflows.
    scaled = select(between, b.fmul(slope, size), b.fmul(first, softened))
    top = b.fdiv(scaled, softened)
    top = select(ordered("<", last, top), last, top)
    t, low, high = (_tools.alloca_once(b, lanes.vector) for _ in range(3))
    guess = b.fmul(guess, slope)
    usable = b.and_(ordered("<", first, guess), ordered("<", guess, top))
    for value, place in ((select(usable, guess, top), t), (first, low), (top, high)):
        b.store(value, place)
    with _tools.for_range(b, whole(ITERATIONS), intp=INDEX) as loop:
        now = b.load(t)
        growth = b.fmul(law(STIFFENED), emit_exponential(lanes, b.fsub(now, first)))
        step, series, residual = _emit_step(lanes, now, growth, scaled)
        above = ordered(">", residual, constant(0.0))
        bottom, top = select(above, b.load(low), now), select(above, now, b.load(high))
        b.store(bottom, low)
        b.store(top, high)
        length = lanes.absolute(step)
        wanted = b.fsub(now, select(ordered("<", length, constant(SMALL)), series, step))
        inside = b.and_(ordered("<=", bottom, wanted), ordered("<=", wanted, top))
        b.store(select(inside, wanted, b.fmul(constant(0.5), b.fadd(bottom, top))), t)
        rounding = ordered("<=", b.fmul(length, b.fadd(now, constant(1.0))), b.fmul(constant(TRUSTED), now))
        unfinished = b.and_(between, b.not_(b.and_(inside, rounding)))
        with b.if_then(b.not_(lanes.any(unfinished))):
            loop.do_break()
    return b.fdiv(b.load(t), slope)


def emit_softening(
    lanes: Lanes, laws: Value, edges: Value, states: Value, strides: tuple[Value, Value], *, bounded: bool
) -> Callable[[Value, Value, Value], Value]:
    """Emit what can stand before the loop; return the emitter of f/l [N/m] as `emit_force_factor` does.

    `laws`, `edges`, `states` point to the law's column, the first lane of RHO, and of d and f; `strides` are the
    distances of rows of edges and of states. Lanes that are no edges have no share and stay at rest.
    """
    b, fused, ordered = lanes.builder, lanes.multiply_add, lanes.builder.fcmp_ordered

    def law(column: int) -> Value:
        return lanes.splat(b.load(b.gep(laws, [whole(column)])))

    spring, viscosity, stiff, below, flow = (law(column) for column in (SPRING, VISCOSITY, STIFF, BELOW, FLOW))

    def row(number: int, k: Value) -> Value:
        return lanes.load(b.gep(edges, [b.add(b.mul(strides[0], whole(number)), k)]))

    def beyond(k: Value, gamma: Value, size: Value, linear: Value, tension: Value, share: Value, rho: Value) -> Value:
        """Return phi/rho of lanes beyond the first threshold, `linear` of the others."""
        above, found = ordered(">=", size, law(ABOVE)), _tools.alloca_once(b, lanes.vector)
        length = row(LENGTH, k)
        soft = b.fmul(b.fmul(gamma, law(SOFT)), length)
        b.store(b.select(above, soft, linear), found)
        between = b.and_(ordered(">", size, below), b.not_(above))
        with b.if_then(lanes.any(between)):
            guess = b.fdiv(b.fmul(lanes.absolute(lanes.load(tension)), rho), lanes.at_least(share, SHORTEST))
            root = lanes.with_sign(_emit_between(lanes, law, size, between, guess), gamma)
            b.store(b.select(between, b.fmul(root, length), b.load(found)), found)
        return b.load(found)

    def emit(k: Value, square: Value, product: Value) -> Value:
        extension, tension = (
            b.gep(states, [b.add(b.mul(strides[1], whole(number)), k)]) for number in (EXTENSION, TENSION)
        )
        square = lanes.at_least(square, SHORTEST)
        inverse = b.fdiv(lanes.constant(1.0), lanes.square_root(square))
        before, rho, share = lanes.load(extension), row(RHO, k), row(SHARE, k)
        pulled = b.fmul(spring, before)
        driven = fused(viscosity, b.fmul(product, inverse), pulled)
        linear, gamma = b.fmul(stiff, driven), b.fmul(rho, driven)
        size, found = lanes.absolute(gamma), _tools.alloca_once(b, lanes.vector)
        b.store(linear, found)
        with b.if_then(lanes.any(ordered(">", size, below))):
            b.store(beyond(k, gamma, size, linear, tension, share, rho), found)
        pull = b.load(found)
        now = fused(flow, b.fsub(pull, pulled), before)
        if bounded:
            length, natural = b.fmul(square, inverse), row(NATURAL, k)
            least, most = (fused(law(bound), length, b.fneg(natural)) for bound in (LEAST, MOST))
            free, now = now, b.select(ordered("<", now, least), least, now)
            now = b.select(ordered(">", now, most), most, now)
            stopped = fused(law(STOP), b.fsub(now, before), b.fmul(spring, now))
            pull = b.select(ordered("!=", now, free), stopped, pull)
        force = b.fmul(pull, share)
        lanes.store(now, extension)
        lanes.store(force, tension)
        return b.fmul(force, inverse)

    return emit
