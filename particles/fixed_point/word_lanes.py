"""The circuit's operators on vectors of 16 words in 32-bit lanes, emitted as LLVM vectors.

Compilers widen products of short integers to 64 bits; here every product stays in its lane. For words of up to 16 bits
with up to 11 after the point (`fits_lanes`) that is exact, overflows included:

* |e| <= 2^fraction, since |xr| <= floor(sqrt S) for every component, so |inv xr|, |e . vr| and |f e| stay below 2^31;
* the root: S and n^2 round to single precision within 2^-24, their roots within 2^-25, less than half the distance of
  n from the number below, so r = trunc(sqrt(float S)) is n for S = n^2; rounding is monotone, so n^2 <= S < (n+1)^2
  gives n or n + 1, and r -= (r^2 > S) is the floor;
* the reciprocal: 2^(2 fraction)/l misses a whole number n by 1/l or more, a share 1/(l n) > 2^-24 of n, so the rounded
  quotient does not reach n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

from rheotwin.kernels.lanes import Lanes, whole
from rheotwin.particles.fixed_point.arithmetic import Format
from rheotwin.particles.fixed_point.circuit import OPERATORS

Value = Any
_tools: Any = cgutils
COUNT = 16
"""Words in a vector of 512 bits."""
BITS = 32
_MASK, _LONG = ir.IntType(COUNT), ir.IntType(64)

TABLE = (
    *("A", "B", "C2", "H", "Minv"),
    *("w_A", "w_B", "w_C2", "w_H", "w_Minv"),
    *("half_A", "half_B", "half_C2", "half_H", "half_Minv", "half_product"),
    *("fraction", "unused_bits", "highest", "numerator"),
)
"""Scalars of the circuit as they lie in memory: constants, points, halves added before shifts, the format."""


def fits_lanes(form: Format) -> bool:
    """Tell whether 32-bit lanes and single-precision roots are exact for a format."""
    return form.word <= 16 and form.fraction <= 11


class EdgeConstants(NamedTuple):
    """Vectors A, B and C2 of some edges."""

    A: Value
    B: Value
    C2: Value


class WordLanes(Lanes):
    """Emits loads, stores and shuffles of vectors of `count` words in 32 bits each."""

    def __init__(self, builder: Any, count: int) -> None:
        super().__init__(builder, ir.IntType(BITS), count)

    def constant(self, value: float) -> Value:
        """Return a whole number in every lane."""
        return ir.Constant(self.vector, [int(value)] * self.count)


class Words(WordLanes):
    """Emits the circuit on vectors of words; constants stand before the loop and are loaded once."""

    def __init__(self, builder: Any, table: Value, counters: Value, rounding: bool) -> None:
        super().__init__(builder, COUNT)
        self.counters, self.rounding = counters, rounding
        self.reals = Lanes(builder, ir.FloatType(), COUNT)
        self._trusted: list[Value] | None = None
        self.scalars = {
            name: self.splat(builder.load(builder.gep(table, [whole(row)]))) for row, name in enumerate(TABLE)
        }
        highest, one = self.scalars["highest"], self.constant(1)
        self._half_range = builder.add(highest, one)
        self._range = builder.add(highest, self._half_range)

    def lanes_of(self, bits: Value) -> Value:
        """Turn a number of 16 bits into truth in every lane."""
        return self.builder.bitcast(bits, ir.VectorType(ir.IntType(1), COUNT))

    def only(self, where: Value, value: Value) -> Value:
        """Return the value in some lanes, zero in others."""
        return self.builder.select(where, value, self.constant(0))

    def wrap(self, exact: Value) -> Value:
        """Return the word's lowest bits with their sign."""
        b, unused = self.builder, self.scalars["unused_bits"]
        return b.ashr(b.shl(exact, unused), unused)

    def fit(self, operator: str, exact: Sequence[Value]) -> list[Value]:
        """Bring results of one class of operators into range: by wrapping and counting, or by trusting them.

        Trusted results are only gathered, 2^(word-1) added: bits above the word's then say that one is out of range.
        """
        if self._trusted is not None:
            self._trusted += [self.builder.add(value, self._half_range) for value in exact]
            return list(exact)
        b = self.builder
        wrapped = [self.wrap(value) for value in exact]
        place = b.gep(self.counters, [whole(OPERATORS.index(operator))])
        total = b.load(place)
        for one, other in zip(exact, wrapped, strict=True):
            total = b.add(total, b.zext(b.ctpop(self._bits(b.icmp_signed("!=", one, other))), _LONG))
        b.store(total, place)
        return wrapped

    def _bits(self, truth: Value) -> Value:
        """Return one bit per lane."""
        return self.builder.bitcast(truth, _MASK)

    def in_range(self, emit: Callable[[], list[Value]]) -> list[Value]:
        """Emit what leaves the range so rarely that it is done twice then: first trusting, then wrapping and counting.

        Memory must not change in `emit`.
        """
        b = self.builder
        self._trusted = []
        trusting = emit()
        gathered, self._trusted = reduce(b.or_, self._trusted), None
        beyond = self._bits(b.icmp_unsigned(">", gathered, self._range))
        before = b.block
        with b.if_then(b.icmp_unsigned("!=", beyond, ir.Constant(_MASK, 0)), likely=False):
            wrapping = emit()
            after = b.block
        found = []
        for trusted, wrapped in zip(trusting, wrapping, strict=True):
            value = b.phi(self.vector)
            value.add_incoming(trusted, before)
            value.add_incoming(wrapped, after)
            found.append(value)
        return found

    def product(self, a: Value, b: Value) -> Value:
        """Return floor(a b / 2^fraction), or the nearest where the module rounds."""
        return self.shifted(self.builder.mul(a, b))

    def shifted(self, exact: Value) -> Value:
        """Bring a product of words back to the word's point."""
        b = self.builder
        exact = b.add(exact, self.scalars["half_product"]) if self.rounding else exact
        return b.ashr(exact, self.scalars["fraction"])

    def cmul(self, name: str, constant: Value, value: Value, rounding: bool) -> Value:
        """Return (C b) >> w, or with half a unit added."""
        b = self.builder
        exact = b.mul(constant, value)
        exact = b.add(exact, self.scalars[f"half_{name}"]) if rounding else exact
        return b.ashr(exact, self.scalars[f"w_{name}"])

    def dot(self, a: Sequence[Value], b: Sequence[Value]) -> Value:
        """Return the sum of three products in full."""
        products = [self.builder.mul(one, other) for one, other in zip(a, b, strict=True)]
        return self.builder.add(self.builder.add(products[0], products[1]), products[2])

    def root(self, square: Value) -> Value:
        """Return floor(sqrt(S)) of unsigned S, at most 3 * 2^30."""
        b = self.builder
        real = self.reals.square_root(b.uitofp(square, self.reals.vector))
        above = b.fptosi(real, self.vector)
        # The comparison gives -1 in lanes where the root was rounded up.
        return b.add(above, b.sext(b.icmp_unsigned(">", b.mul(above, above), square), self.vector))

    def reciprocal(self, length: Value) -> Value:
        """Return min(floor(2^(2 fraction)/l), highest)."""
        b, reals = self.builder, self.reals.vector
        numerator, highest = (b.sitofp(self.scalars[name], reals) for name in ("numerator", "highest"))
        quotient = b.fdiv(numerator, b.sitofp(length, reals))
        return b.fptosi(b.select(b.fcmp_ordered("<", quotient, highest), quotient, highest), self.vector)

    def edges(
        self, xr: Sequence[Value], vr: Sequence[Value], own: Callable[[], EdgeConstants], at: Value
    ) -> list[Value]:
        """Emit circuits 1-9 from exact differences; advance lambda in place, return the forces on the ends.

        Lanes without an edge have differences of zero, which leave lambda at zero and give no force.
        """
        *forces, lam = self.in_range(lambda: self._edges(xr, vr, own(), self.load(at)))
        self.store(lam, at)
        return forces

    def _edges(self, xr: Sequence[Value], vr: Sequence[Value], constants: EdgeConstants, lam: Value) -> list[Value]:
        """Return forces and lambda."""
        b, rounding = self.builder, self.rounding
        differences = self.fit("xr", [*xr, *vr])
        xr, vr = differences[:3], differences[3:]
        inverse = self.reciprocal(self.root(self.dot(xr, xr)))
        e = [self.product(inverse, part) for part in xr]
        (rate,) = self.fit("ld", [self.shifted(self.dot(e, vr))])
        arm, gain = self.cmul("A", constants.A, lam, rounding), self.cmul("B", constants.B, rate, rounding)
        (voigt_rate,) = self.fit("lvd", [b.add(arm, gain)])
        (slip,) = self.fit("f", [b.sub(voigt_rate, rate)])
        (force,) = self.fit("f", [self.cmul("C2", constants.C2, slip, rounding)])
        forces = self.fit("f", [self.product(force, part) for part in e])
        step = self.cmul("H", self.scalars["H"], voigt_rate, True)
        return forces + self.fit("lambda", [b.add(lam, step)])

    def points(self, x: Value, v: Value, total: Value, minv: Value) -> None:
        """Emit the mass module for words at places x, v and sums of forces at `total`."""
        position, velocity = self.in_range(lambda: self._points(self.load(x), self.load(v), self.load(total), minv))
        self.store(velocity, v)
        self.store(position, x)

    def _points(self, x: Value, v: Value, total: Value, minv: Value) -> list[Value]:
        """Return position and velocity."""
        b, h = self.builder, self.scalars["H"]
        (force,) = self.fit("F_sum", [total])
        (acceleration,) = self.fit("v", [self.cmul("Minv", minv, force, True)])
        velocity = self.fit("v", [b.add(v, self.cmul("H", h, acceleration, True))])
        return self.fit("x", [b.add(x, self.cmul("H", h, v, True))]) + velocity
