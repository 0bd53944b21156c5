"""The circuit's operators as formulas of vectors of words in lanes of 32 or 64 bits, and an edge and a point of them.

Compilers widen products of short integers to 64 bits; here every product stays in its lane. For words of up to 16
bits, directions with up to 14 after the point and a floor root (`fits_lanes`) 32 bits are exact, overflows included:

* |e| <= 2^direction, since |xr| <= floor(sqrt S) for every component, so |inv xr|, |e . vr| and |f e| stay below 2^31;
* the root: S and n^2 round to single precision within 2^-24, their roots within 2^-25, less than half the distance of
  n from the number below, so r = trunc(sqrt(float S)) is n for S = n^2; rounding is monotone, so n^2 <= S < (n+1)^2
  gives n or n + 1, and r -= (r^2 > S) is the floor;
* the reciprocal: the quotient is below 2^15 and single precision within 2^-24 of it, so it is never short of a whole
  number and reaches the next one at most, which q -= (q l > 2^point) tells.

All other words, up to 32 bits, and CORDIC roots go in 64 bits: roots in double precision are off by one at most, either
way; products of three that add up have |e| <= 2^30 as one factor.

Few results leave the range, so a step of 16 or 8 edges or points is done trusting that none does: results are gathered,
with 2^(word-1) added, and bits above the word's then say that one has. Only then it is done again, wrapped and counted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.layouts import apart, exchange, kept_constants
from rheotwin.kernels.vectors import (
    any_of,
    count_of,
    double_of,
    formula,
    leading_zeros,
    load,
    long_words_of,
    select,
    single_of,
    slots,
    store,
    words_of,
)
from rheotwin.particles.fixed_point.arithmetic import LOW, Root, inverse_gain, shifts
from rheotwin.particles.fixed_point.circuit import OPERATORS
from rheotwin.particles.fixed_point.parameters import CircuitConstants

PRODUCTS = ("A", "B", "K", "C", "H", "Minv", "H_v", "H_lam")
"""What is multiplied with: K and C are the force's, or K is c2; H, H_v and H_lam the step of x, v and lambda."""
TABLE = (
    *PRODUCTS,
    *(f"w_{name}" for name in PRODUCTS),
    *(f"half_{name}" for name in PRODUCTS),
    *("half_e", "half_rate", "half_product", "e_shift", "rate_shift", "direction"),
    *("word", "unused_bits", "highest", "numerator"),
)
"""Scalars of the circuit as they lie in memory: constants, points, halves added before shifts, the format."""
A, B, K, C, H, MINV, H_V, H_LAM = range(len(PRODUCTS))
POINT, HALF = len(PRODUCTS), 2 * len(PRODUCTS)
"""Where the points of these constants and their halves follow."""
HALF_E, HALF_RATE, HALF_PRODUCT, E_SHIFT, RATE_SHIFT, DIRECTION = range(3 * len(PRODUCTS), 3 * len(PRODUCTS) + 6)
WORD, UNUSED_BITS, HIGHEST, NUMERATOR = range(len(TABLE) - 4, len(TABLE))
CHAIN = len(TABLE)
"""Where the points of a chain's A, G, K, C follow, then their halves, then the point of its extensions."""
IS_EDGE, OWN = 0, 1
"""Rows of numbers: 1 in lanes that are edges, else 0; from `OWN` on A, B, K and C of every edge where they differ.

Of chains, always: A, G, K, C and the natural length.
"""
LD, LVD, F, F_SUM, X, V, XR, LAMBDA = range(len(OPERATORS))
"""Classes of operators, as in `OPERATORS`."""
COUNT = 16
"""Words of 32 bits in a vector of 512."""
SHORT_WORD, SHORT_DIRECTION = 16, 14


class Kind(NamedTuple):
    """Which formulas a circuit takes: lanes of 64 bits, products that round, forces from lambda and rate, the root."""

    wide: bool = False
    rounding: bool = False
    direct: bool = False
    root: Root | None = None
    parts: int = 0
    """Voigt parts of edges that are chains, 0 where they are none."""

    @property
    def lanes(self) -> int:
        """Words in a vector of 512 bits."""
        return COUNT // 2 if self.wide else COUNT

    @property
    def dtype(self) -> Any:
        """Type of the words in memory."""
        return np.int64 if self.wide else np.int32

    @property
    def scalars(self) -> int:
        """Numbers in the table of scalars."""
        return CHAIN + (6 * self.parts - 1 if self.parts else 0)


def kind_of(constants: CircuitConstants) -> Kind:
    """Return the formulas of some constants."""
    root = constants.root if constants.sqrt == "cordic" else None
    parts = 0 if constants.chain is None else constants.chain.parts
    return Kind(not fits_lanes(constants), constants.tem_round, constants.direct, root, parts)


def fits_lanes(constants: CircuitConstants) -> bool:
    """Tell whether 32-bit lanes and single-precision roots are exact."""
    short = constants.form.word <= SHORT_WORD and constants.point.direction <= SHORT_DIRECTION
    if constants.chain is not None:  # sums of products, too
        short = short and sum(2.0**-part.w for part in constants.chain.all) <= 1.0
    return short and constants.point.inverse <= 30 and constants.sqrt == "floor"


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
    return any_of((seen >> table[WORD]) != 0)


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
def long_root(square: Any) -> Any:
    """Return floor(sqrt(S)) of unsigned S below 2^64."""
    near = long_words_of(math.sqrt(double_of(square)))
    below = near - select(near * near - square > 0, 0 * near + 1, 0)
    return below + select((below + 1) * (below + 1) - square > 0, 0 * below, 1)


@formula
def reciprocal(table: Any, length: Any) -> Any:
    """Return min(floor(2^point/l), highest)."""
    near = words_of(min(table[NUMERATOR] / single_of(length), table[HIGHEST]))
    return near - select(near * length > table[NUMERATOR], 0 * near + 1, 0)


@formula
def long_reciprocal(table: Any, length: Any) -> Any:
    """Return the same in 64 bits: double precision is within one of a quotient below 2^31."""
    near = long_words_of(min(table[NUMERATOR] / double_of(length), table[HIGHEST]))
    return near - select(near * length > table[NUMERATOR], 0 * near + 1, 0)


@cache
def shifted_root(size: Root) -> Any:
    """Return the root of `arithmetic.cordic_root` in 64 bits."""
    bits, iterations, square_bits = size
    gain, quarter, turns = inverse_gain(bits, iterations), 1 << (bits - 2), shifts(iterations)
    mask, rest, back = (1 << bits) - 1, square_bits - bits, bits - square_bits // 2

    @formula
    def shifted(square: Any) -> Any:
        zeros = leading_zeros(square)
        half = ((zeros - (64 - square_bits)) - select(zeros > 63, 0 * zeros + 1, 0)) >> 1
        m = ((square << (half + half)) >> rest) & mask
        x, y = m + quarter, m - quarter
        for k in turns:
            step_x, step_y = y >> k, x >> k
            down = y >= 0
            x, y = select(down, x - step_x, x + step_x), select(down, y - step_y, y + step_y)
        upper = x >> LOW
        root = (upper * gain + (((x - (upper << LOW)) * gain) >> LOW)) >> (bits - LOW)
        return select(zeros > 63, 0 * root, (root >> back) >> half)

    return shifted


@cache
def _lengths(kind: Kind) -> Any:
    """Return the functions that give l and 1/l."""
    if not kind.wide:
        return root, reciprocal
    return long_root if kind.root is None else shifted_root(kind.root), long_reciprocal


@cache
def _products(rounding: bool) -> Any:
    """Return products with constants, with 1/l and with directions: the nearest, or their floors."""

    @formula
    def floor(table: Any, constant: int, raw: Any, value: Any) -> Any:
        return (raw * value) >> table[POINT + constant]

    @formula
    def turned(table: Any, exact: Any) -> Any:
        return (exact + table[HALF_E] if rounding else exact) >> table[E_SHIFT]

    @formula
    def rated(table: Any, exact: Any) -> Any:
        return (exact + table[HALF_RATE] if rounding else exact) >> table[RATE_SHIFT]

    @formula
    def shifted(table: Any, exact: Any) -> Any:
        return (exact + table[HALF_PRODUCT] if rounding else exact) >> table[DIRECTION]

    return _scaled if rounding else floor, turned, rated, shifted


@cache
def _force(trusting: bool, kind: Kind) -> Any:
    """Return circuit 7: the force from lambda, its rate and the edge's."""
    fit, (scaled, *_), direct = _fit(trusting), _products(kind.rounding), kind.direct

    @formula
    def force(table: Any, counters: Any, constants: Any, lam: Any, rate: Any, voigt_rate: Any, seen: Any) -> Any:
        if direct:
            spring, dashpot = scaled(table, K, constants[2], lam), scaled(table, C, constants[3], rate)
            return fit(table, counters, F, spring + dashpot, seen)
        slip, seen = fit(table, counters, F, voigt_rate - rate, seen)
        return fit(table, counters, F, scaled(table, K, constants[2], slip), seen)

    return force


@cache
def _element(trusting: bool, kind: Kind) -> Any:
    """Return circuits 6, 7 and 9: the force and the new lambda of an edge, from its length and rate."""
    fit, (scaled, *_), force_of = _fit(trusting), _products(kind.rounding), _force(trusting, kind)

    @formula
    def element(table: Any, counters: Any, constants: Any, lam: Any, length: Any, rate: Any, seen: Any) -> Any:
        arm, gain = scaled(table, A, constants[0], lam), scaled(table, B, constants[1], rate)
        voigt_rate, seen = fit(table, counters, LVD, arm + gain, seen)
        force, seen = force_of(table, counters, constants, lam, rate, voigt_rate, seen)
        new, seen = fit(table, counters, LAMBDA, lam + _scaled(table, H_LAM, table[H], voigt_rate), seen)
        return force, new, seen

    return element


@cache
def _chain(trusting: bool, kind: Kind) -> Any:
    """Return the same of a chain of n Voigt parts: `lam` are the extensions of all but the last, a tuple."""
    fit, n = _fit(trusting), kind.parts
    last_spring, dashpot, rest, point = 3 * n - 3, 3 * n - 2, 3 * n - 1, kind.scalars - 1
    product, springs = _chain_product(kind), _springs(kind, n - 2)
    together, flows = _together(n - 2), _flows(trusting, kind, n - 2)

    @formula
    def chain(table: Any, counters: Any, constants: Any, lam: Any, length: Any, rate: Any, seen: Any) -> Any:
        last, seen = fit(table, counters, LAMBDA, ((length - constants[rest]) << table[point]) - together(lam), seen)
        ends = product(table, constants, last_spring, last) + product(table, constants, dashpot, rate)
        force, seen = fit(table, counters, F, springs(table, constants, lam) + ends, seen)
        new, seen = flows(table, counters, constants, lam, force, seen)
        return force, new, seen

    return chain


@cache
def _chain_product(kind: Kind) -> Any:
    """Return the product of a value with one of A, G, K, C of a chain, by its number."""
    count = 3 * kind.parts - 1

    @formula
    def product(table: Any, constants: Any, number: int, value: Any) -> Any:
        exact = constants[number] * value
        return (exact + table[CHAIN + count + number] if kind.rounding else exact) >> table[CHAIN + number]

    return product


@cache
def _together(a: int) -> Any:
    """Return the sum of the first a + 1 extensions."""
    before = _together(a - 1) if a else None

    @formula
    def together(lam: Any) -> Any:
        return lam[0] if before is None else before(lam) + lam[a]

    return together


@cache
def _springs(kind: Kind, a: int) -> Any:
    """Return the sum of K d of the first a + 1 parts."""
    product, number = _chain_product(kind), 2 * kind.parts - 2 + a
    before = _springs(kind, a - 1) if a else None

    @formula
    def springs(table: Any, constants: Any, lam: Any) -> Any:
        own = product(table, constants, number, lam[a])
        return own if before is None else before(table, constants, lam) + own

    return springs


@cache
def _flows(trusting: bool, kind: Kind, a: int) -> Any:
    """Return the new extensions of the first a + 1 parts, d + h (G f + A d)."""
    fit, product, G = _fit(trusting), _chain_product(kind), kind.parts - 1
    before = _flows(trusting, kind, a - 1) if a else None

    @formula
    def flows(table: Any, counters: Any, constants: Any, lam: Any, force: Any, seen: Any) -> Any:
        flow = product(table, constants, G + a, force) + product(table, constants, a, lam[a])
        rate, seen = fit(table, counters, LVD, flow, seen)
        moved, seen = fit(table, counters, LAMBDA, lam[a] + _scaled(table, H_LAM, table[H], rate), seen)
        if before is None:
            return (moved,), seen
        new, seen = before(table, counters, constants, lam, force, seen)
        return (*new, moved), seen

    return flows


@cache
def _rows(count: int) -> Any:
    """Return read(array, first, at) and write(array, values, at) of so many rows of a flat array."""
    before = _rows(count - 1) if count > 1 else None
    reads, writes = before or (None, None)

    @formula
    def read(array: Any, first: int, at: Any) -> Any:
        own = load(array, first + (count - 1), at)
        return (own,) if reads is None else (*reads(array, first, at), own)

    @formula
    def write(array: Any, values: Any, at: Any) -> None:
        if writes is not None:
            writes(array, values, at)
        store(array, count - 1, at, values[count - 1])

    return read, write


@cache
def _circuits(trusting: bool, kind: Kind) -> Any:
    """Return circuits 1-9 from exact differences: forces on the end, lambda, and all results gathered."""
    fit, (_, turned, rated, shifted) = _fit(trusting), _products(kind.rounding)
    (length_of, inverse_of), element = _lengths(kind), (_chain if kind.parts else _element)(trusting, kind)

    @formula
    def circuits(table: Any, counters: Any, constants: Any, xr: Any, vr: Any, lam: Any) -> Any:
        x, seen = fit(table, counters, XR, xr[0], 0 * xr[0])
        y, seen = fit(table, counters, XR, xr[1], seen)
        z, seen = fit(table, counters, XR, xr[2], seen)
        vx, seen = fit(table, counters, XR, vr[0], seen)
        vy, seen = fit(table, counters, XR, vr[1], seen)
        vz, seen = fit(table, counters, XR, vr[2], seen)
        length = length_of(_dot((x, y, z), (x, y, z)))
        inverse = inverse_of(table, length)
        e = turned(table, inverse * x), turned(table, inverse * y), turned(table, inverse * z)
        rate, seen = fit(table, counters, LD, rated(table, _dot(e, (vx, vy, vz))), seen)
        force, new, seen = element(table, counters, constants, lam, length, rate, seen)
        fx, seen = fit(table, counters, F, shifted(table, force * e[0]), seen)
        fy, seen = fit(table, counters, F, shifted(table, force * e[1]), seen)
        fz, seen = fit(table, counters, F, shifted(table, force * e[2]), seen)
        return fx, fy, fz, new, seen

    return circuits


@cache
def word_edge(own: bool, kind: Kind, masked: bool) -> Any:
    """Return an edge for `rheotwin.kernels.layouts`: lambda is its state, the last argument counts overflows.

    `own`: A, B, K and C differ; `masked`: lanes without an edge have ends that lie apart. Differences of zero leave
    lambda at zero and give no force.
    """
    trusting, wrapping, chains = _circuits(True, kind), _circuits(False, kind), kind.parts > 0
    (read, write), (of_edge, _) = _rows(max(1, kind.parts - 1)), _rows(max(1, 3 * kind.parts))

    @formula
    def word_edge(
        x: Any, v: Any, force: Any, ends: Any, at: Any, numbers: Any, table: Any, states: Any, counters: Any
    ) -> None:  # fmt: skip
        xr, vr = apart(x, ends[0], ends[1]), apart(v, ends[0], ends[1])
        lam = read(states, 0, at) if chains else load(states, 0, at)
        if masked:
            is_edge = load(numbers, IS_EDGE, at) > 0
            xr = select(is_edge, xr[0], 0), select(is_edge, xr[1], 0), select(is_edge, xr[2], 0)
            vr = select(is_edge, vr[0], 0), select(is_edge, vr[1], 0), select(is_edge, vr[2], 0)
        if chains:
            constants = of_edge(numbers, OWN, at)
        elif own:
            first, second = load(numbers, OWN + A, at), load(numbers, OWN + B, at)
            constants = first, second, load(numbers, OWN + K, at), load(numbers, OWN + C, at)
        else:
            constants = table[A], table[B], table[K], table[C]
        fx, fy, fz, new, seen = trusting(table, counters, constants, xr, vr, lam)
        if _leaves(table, seen):
            fx, fy, fz, new, seen = wrapping(table, counters, constants, xr, vr, lam)
        if chains:
            write(states, new, at)
        else:
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
        velocity, seen = fit(table, counters, V, v + _scaled(table, H_V, table[H], acceleration), seen)
        position, seen = fit(table, counters, X, x + _scaled(table, H, table[H], v), seen)
        return position, velocity, seen

    return mass


@cache
def move_words(count: int) -> Any:
    """Return the mass module over all points, `count` words at a time."""
    slot, kept, trusting, wrapping = slots(count), kept_constants(len(TABLE)), _mass(True), _mass(False)

    @compiled
    def move(motion: Any, force: Any, minv: Any, table: Any, counters: Any, own: int) -> None:
        """Move all points by the sums of forces (1, n): `motion` (2, n) are words of x and v.

        1/m is word k of `minv` (1, n) where `own` is 1, and the first words serve all where it is 0.
        """
        own_table = kept(table)
        for k in range(0, force.shape[1], count):
            at, inverse = slot(k), load(minv, 0, slot(own * k))
            x, v, total = load(motion, 0, at), load(motion, 1, at), load(force, 0, at)
            position, velocity, seen = trusting(own_table, counters, inverse, x, v, total)
            if _leaves(own_table, seen):
                position, velocity, seen = wrapping(own_table, counters, inverse, x, v, total)
            store(motion, 0, at, position)
            store(motion, 1, at, velocity)

    return move
