"""The circuit's operators as formulas of vectors of words in 32-bit lanes, and an edge and a point made of them.

Compilers widen products of short integers to 64 bits; here every product stays in its lane. For words of up to 16 bits
with up to 11 after the point (`fits_lanes`) that is exact, overflows included:

* |e| <= 2^fraction, since |xr| <= floor(sqrt S) for every component, so |inv xr|, |e . vr| and |f e| stay below 2^31;
* the root: S and n^2 round to single precision within 2^-24, their roots within 2^-25, less than half the distance of
  n from the number below, so r = trunc(sqrt(float S)) is n for S = n^2; rounding is monotone, so n^2 <= S < (n+1)^2
  gives n or n + 1, and r -= (r^2 > S) is the floor;
* the reciprocal: 2^(2 fraction)/l misses a whole number n by 1/l or more, a share 1/(l n) > 2^-24 of n, so the rounded
  quotient does not reach n.

Few results leave the range, so a step of 16 edges or points is done trusting that none does: results are gathered, with
2^(word-1) added, and bits above the word's then say that one has. Only then it is done again, wrapped and counted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.layouts import apart, exchange, kept_constants
from rheotwin.kernels.vectors import any_of, count_of, formula, load, select, single_of, slots, store, words_of
from rheotwin.particles.fixed_point.arithmetic import Format
from rheotwin.particles.fixed_point.circuit import OPERATORS

COUNT = 16
"""Words in a vector of 512 bits."""
TABLE = (
    *("A", "B", "C2", "H", "Minv"),
    *("w_A", "w_B", "w_C2", "w_H", "w_Minv"),
    *("half_A", "half_B", "half_C2", "half_H", "half_Minv", "half_product"),
    *("fraction", "unused_bits", "highest", "numerator"),
)
"""Scalars of the circuit as they lie in memory: constants, points, halves added before shifts, the format."""
A, B, C2, H, MINV = range(5)
POINT, HALF = 5, 10
"""Where the points of these constants and their halves follow."""
HALF_PRODUCT, FRACTION, UNUSED_BITS, HIGHEST, NUMERATOR = range(15, 20)
IS_EDGE, OWN = 0, 1
"""Rows of numbers: 1 in lanes that are edges, else 0; from `OWN` on A, B and C2 of every edge where they differ."""
LD, LVD, F, F_SUM, X, V, XR, LAMBDA = range(len(OPERATORS))
"""Classes of operators, as in `OPERATORS`."""


def fits_lanes(form: Format) -> bool:
    """Tell whether 32-bit lanes and single-precision roots are exact for a format."""
    return form.word <= 16 and form.fraction <= 11


@cache
def _fit(trusting: bool) -> Any:
    """Return fit(table, counters, operator, exact, seen): the result in range, and all results gathered."""

    @formula
    def fit(table: Any, counters: Any, operator: int, exact: Any, seen: Any) -> Any:
        if trusting:
            return exact, seen | (exact + (table[HIGHEST] + 1))
        unused = table[UNUSED_BITS]
        wrapped = (exact << unused) >> unused
        counters[operator] += count_of(wrapped != exact)
        return wrapped, seen

    return fit


@formula
def _leaves(table: Any, seen: Any) -> bool:
    """Tell whether some of the gathered results was out of range."""
    return any_of((seen >> (32 - table[UNUSED_BITS])) != 0)


@formula
def _scaled(table: Any, constant: int, raw: Any, value: Any) -> Any:
    """Return (C b + half) >> w."""
    return (raw * value + table[HALF + constant]) >> table[POINT + constant]


@formula
def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@formula
def root(square: Any) -> Any:
    """Return floor(sqrt(S)) of unsigned S, at most 3 * 2^30."""
    above = words_of(math.sqrt(single_of(square)))
    return above - select(above * above - square > 0, 0 * above + 1, 0)


@formula
def reciprocal(table: Any, length: Any) -> Any:
    """Return min(floor(2^(2 fraction)/l), highest)."""
    return words_of(min(table[NUMERATOR] / single_of(length), table[HIGHEST]))


@cache
def _products(rounding: bool) -> Any:
    """Return products with constants and of words, a b / 2^fraction: the nearest, or their floors."""

    @formula
    def floor(table: Any, constant: int, raw: Any, value: Any) -> Any:
        return (raw * value) >> table[POINT + constant]

    @formula
    def shifted(table: Any, exact: Any) -> Any:
        return (exact + table[HALF_PRODUCT] if rounding else exact) >> table[FRACTION]

    return _scaled if rounding else floor, shifted


@cache
def _circuits(trusting: bool, rounding: bool) -> Any:
    """Return circuits 1-9 from exact differences: forces on the end, lambda, and all results gathered."""
    fit, (scaled, shifted) = _fit(trusting), _products(rounding)

    @formula
    def circuits(table: Any, counters: Any, constants: Any, xr: Any, vr: Any, lam: Any) -> Any:
        x, seen = fit(table, counters, XR, xr[0], 0 * lam)
        y, seen = fit(table, counters, XR, xr[1], seen)
        z, seen = fit(table, counters, XR, xr[2], seen)
        vx, seen = fit(table, counters, XR, vr[0], seen)
        vy, seen = fit(table, counters, XR, vr[1], seen)
        vz, seen = fit(table, counters, XR, vr[2], seen)
        inverse = reciprocal(table, root(_dot((x, y, z), (x, y, z))))
        e = shifted(table, inverse * x), shifted(table, inverse * y), shifted(table, inverse * z)
        rate, seen = fit(table, counters, LD, shifted(table, _dot(e, (vx, vy, vz))), seen)
        arm, gain = scaled(table, A, constants[0], lam), scaled(table, B, constants[1], rate)
        voigt_rate, seen = fit(table, counters, LVD, arm + gain, seen)
        slip, seen = fit(table, counters, F, voigt_rate - rate, seen)
        force, seen = fit(table, counters, F, scaled(table, C2, constants[2], slip), seen)
        fx, seen = fit(table, counters, F, shifted(table, force * e[0]), seen)
        fy, seen = fit(table, counters, F, shifted(table, force * e[1]), seen)
        fz, seen = fit(table, counters, F, shifted(table, force * e[2]), seen)
        new, seen = fit(table, counters, LAMBDA, lam + _scaled(table, H, table[H], voigt_rate), seen)
        return fx, fy, fz, new, seen

    return circuits


@cache
def word_edge(own: bool, rounding: bool, masked: bool) -> Any:
    """Return an edge for `rheotwin.kernels.layouts`: lambda is its state, the last argument counts overflows.

    `own`: A, B and C2 differ; `masked`: lanes without an edge have ends that lie apart. Differences of zero leave
    lambda at zero and give no force.
    """
    trusting, wrapping = _circuits(True, rounding), _circuits(False, rounding)

    @formula
    def word_edge(
        x: Any, v: Any, force: Any, ends: Any, at: Any, numbers: Any, table: Any, states: Any, counters: Any
    ) -> None:  # fmt: skip
        xr, vr, lam = apart(x, ends[0], ends[1]), apart(v, ends[0], ends[1]), load(states, 0, at)
        if masked:
            is_edge = load(numbers, IS_EDGE, at) > 0
            xr = select(is_edge, xr[0], 0), select(is_edge, xr[1], 0), select(is_edge, xr[2], 0)
            vr = select(is_edge, vr[0], 0), select(is_edge, vr[1], 0), select(is_edge, vr[2], 0)
        if own:
            constants = load(numbers, OWN + A, at), load(numbers, OWN + B, at), load(numbers, OWN + C2, at)
        else:
            constants = table[A], table[B], table[C2]
        fx, fy, fz, new, seen = trusting(table, counters, constants, xr, vr, lam)
        if _leaves(table, seen):
            fx, fy, fz, new, seen = wrapping(table, counters, constants, xr, vr, lam)
        store(states, 0, at, new)
        exchange(force, ends[1], ends[0], (fx, fy, fz))

    return word_edge


@cache
def _mass(trusting: bool) -> Any:
    """Return the mass module: position, velocity, and all results gathered."""
    fit = _fit(trusting)

    @formula
    def mass(table: Any, counters: Any, minv: Any, x: Any, v: Any, total: Any) -> Any:
        force, seen = fit(table, counters, F_SUM, total, 0 * total)
        acceleration, seen = fit(table, counters, V, _scaled(table, MINV, minv, force), seen)
        velocity, seen = fit(table, counters, V, v + _scaled(table, H, table[H], acceleration), seen)
        position, seen = fit(table, counters, X, x + _scaled(table, H, table[H], v), seen)
        return position, velocity, seen

    return mass


_slot, _kept, _trusting, _wrapping = slots(COUNT), kept_constants(len(TABLE)), _mass(True), _mass(False)


@compiled
def move_words(motion: Any, force: Any, minv: Any, table: Any, counters: Any, own: int) -> None:
    """Move all points by the sums of forces (1, n): `motion` (2, n) are words of x and v.

    1/m is word k of `minv` (1, n) where `own` is 1, and the first 16 words serve all where it is 0.
    """
    own_table = _kept(table)
    for k in range(0, force.shape[1], COUNT):
        at, inverse = _slot(k), load(minv, 0, _slot(own * k))
        x, v, total = load(motion, 0, at), load(motion, 1, at), load(force, 0, at)
        position, velocity, seen = _trusting(own_table, counters, inverse, x, v, total)
        if _leaves(own_table, seen):
            position, velocity, seen = _wrapping(own_table, counters, inverse, x, v, total)
        store(motion, 0, at, position)
        store(motion, 1, at, velocity)
