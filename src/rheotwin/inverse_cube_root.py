"""x^(-1/3) in arithmetic that vectorises: a guess from the exponent, then two steps of order four.

The bits of a double, read as an integer, grow like log2 x: START minus a third of them are the bits of a guess
within 3.5 %. With r = 1 - x y^3 the step

    y <- y (1 + r/3 + 2 r^2/9 + 14 r^3/81),        x^(-1/3) = y (1 - r)^(-1/3)

leaves a relative error of (35/243) r^4: 3.5e-2 -> 2e-5 -> below rounding.
"""

from __future__ import annotations

import numpy as np

from rheotwin.kernels.compiled import compiled

START = 6.14261e18


@compiled(contract=True, spliced=True)
def inverse_cube_root(x: float) -> float:
    """Return x^(-1/3) to a few units of the last place for normal x > 0; some number or NaN otherwise."""
    bits = np.float64(np.float64(x).view(np.int64))
    y = np.int64(START - bits * (1.0 / 3.0)).view(np.float64)
    for _ in range(2):
        r = 1.0 - x * y * y * y
        y = y * (1.0 + r * (1.0 / 3.0 + r * (2.0 / 9.0 + r * (14.0 / 81.0))))
    return float(y)
