"""How fast the fastest particle is: a bound that contact needs of every step, so it has to cost next to nothing.

Numbers without their sign are in the order of their bits read as integers, and the largest of many integers is found
in vectors, which compilers may not do with floating-point numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rheotwin.arrays import Array, Indices, Reals
from rheotwin.kernels.compiled import compiled

ROOT_3 = 1.7320508075688774
_types: Any = types


def _magnitude(typing: Any, number: Any) -> Any:
    integer = _types.int64 if number.bitwidth == 64 else _types.int32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = signature.return_type.bitwidth
        bits = builder.bitcast(arguments[0], ir.IntType(width))
        return builder.and_(bits, ir.Constant(bits.type, (1 << (width - 1)) - 1))

    return integer(number), generate


def _number(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if signature.args[0].bitwidth == 64:
            return builder.bitcast(arguments[0], ir.DoubleType())
        return builder.fpext(builder.bitcast(arguments[0], ir.FloatType()), ir.DoubleType())

    return _types.float64(bits), generate


magnitude: Any = intrinsic(_magnitude)
"""`magnitude(number)`: the bits of |number| as an integer of its width, in compiled code only."""
_number_of: Any = intrinsic(_number)
"""`_number_of(bits)`: the number that `magnitude` came from, without its sign."""


@compiled
def speed(largest: Any) -> float:
    """Return a bound of the speed [m/s] from the largest `magnitude` of all components; NaN if one is NaN."""
    return ROOT_3 * float(_number_of(largest))


@compiled
def fastest(velocities: Reals) -> float:
    """Return a bound of the speed [m/s] of particles whose components lie one after the other; NaN if one is NaN."""
    numbers = velocities.reshape(-1)
    largest = magnitude(numbers[0])
    for k in range(numbers.size):
        largest = max(largest, magnitude(numbers[k]))
    return speed(largest)


@compiled
def larger(first: float, second: float) -> float:
    """Return the larger of two speeds; NaN if one is NaN."""
    return second if second > first or np.isnan(second) else first


@compiled
def fastest_of(nodes: Indices, velocities: Array, bound: float) -> float:
    """Return the largest of `bound` and the speeds of some nodes, velocities (N, 3) [m/s]; NaN if one is NaN."""
    for node in nodes:
        square = 0.0
        for c in range(3):
            square += velocities[node, c] * velocities[node, c]
        bound = larger(bound, np.sqrt(square))
    return bound
