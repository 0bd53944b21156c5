"""How fast the fastest particle is: a bound that contact needs of every step, so it has to cost next to nothing.

Numbers without their sign are in the order of their bits read as integers, and the largest of many integers is found
in vectors, which compilers may not do with floating-point numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Reals = NDArray[Any]

ROOT_3 = 1.7320508075688774
SIGN_64, SIGN_32 = 0x7FFFFFFFFFFFFFFF, 0x7FFFFFFF
"""All bits but the sign."""


@njit(cache=True)
def fastest(velocities: Reals) -> float:
    """Return a bound of the speed [m/s] of particles whose components lie one after the other; NaN if one is."""
    numbers = velocities.reshape(-1)
    if numbers.size == 0:
        return 0.0
    where = _largest(numbers.view(np.int64), SIGN_64) if numbers.itemsize == 8 else _narrow(numbers.view(np.int32))
    return float(ROOT_3 * where)
