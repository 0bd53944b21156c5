"""Square root by CORDIC: shifts and additions only, as the papers' circuit has it.

Hyperbolic vectoring (spec fpga-fixed-point.md section 4): S is brought to m in [1/4, 1) by an even shift, then

    (x, y) <- (x - d y 2^-k, y - d x 2^-k),  d = sign y,  k = 1, 2, 3, 4, 4, 5, .., 13, 13, ..

from (m + 1/4, m - 1/4) ends at x = K sqrt(m); 1/K is applied by shifts and additions of its binary digits. The floor of
the root is the contract of the circuit; with 20 bits or more this is at most one unit in the last place from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

BITS = 24
"""Bits after the point inside; below 20 the root is off by several units."""
ITERATIONS = 16
SQUARE_BITS = 32
"""Width of S: sums of three squares of 16 bits."""


def shifts(count: int) -> tuple[int, ...]:
    """Return the first `count` shifts; those of 4, 13, 40, .. are taken twice, without which it would not converge."""

    def endless() -> Iterator[int]:
        repeated = 4
        for k in range(1, SQUARE_BITS):
            yield k
            if k == repeated:
                yield k
                repeated = 3 * k + 1

    return tuple(islice(endless(), count))


def inverse_gain(bits: int, iterations: int) -> int:
    """Return 1/K in units of 2^-bits, K the product of sqrt(1 - 4^-k): what shifts and additions multiply with."""
    gain: float = prod(sqrt(1.0 - 4.0**-k) for k in shifts(iterations))
    return round(2.0**bits / gain)


def cordic_root(square: ArrayLike, bits: int = BITS, iterations: int = ITERATIONS) -> NDArray[np.int64]:
    """Return the root of 0 <= S < 2^32, within one unit of its floor for 20 bits or more."""
    whole = np.asarray(square, dtype=np.int64)
    # Half the shift: S 4^n is in [2^30, 2^32), so that m = S 4^n / 2^32 is in [1/4, 1).
    half = (SQUARE_BITS - np.frexp(np.maximum(whole, 1).astype(np.float64))[1]) >> 1
    m = (whole << (2 * half)) << bits >> SQUARE_BITS
    quarter = 1 << (bits - 2)
    x, y = m + quarter, m - quarter
    for k in shifts(iterations):
        step_x, step_y = y >> k, x >> k
        down = y >= 0
        x, y = np.where(down, x - step_x, x + step_x), np.where(down, y - step_y, y + step_y)
    gain = inverse_gain(bits, iterations)
    root = sum((x << digit for digit in range(gain.bit_length()) if gain >> digit & 1), start=np.zeros_like(x)) >> bits
    # sqrt(S) = sqrt(m) 2^(16 - n)
    return np.asarray(np.where(whole > 0, (root << (SQUARE_BITS // 2) >> bits) >> half, 0))
