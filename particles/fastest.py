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
def _fastest_double(numbers: Reals) -> float:
    bits = numbers.view(np.int64)
    largest = np.int64(0)
    for k in range(bits.size):
        largest = max(largest, bits[k] & np.int64(SIGN_64))
    found = np.int64(largest)
    return float(found.view(np.float64))


@njit(cache=True)
def _fastest_single(numbers: Reals) -> float:
    bits = numbers.view(np.int32)
    largest = np.int32(0)
    for k in range(bits.size):
        largest = max(largest, bits[k] & np.int32(SIGN_32))
    found = np.int32(largest)
    return float(found.view(np.float32))


@njit(cache=True)
def fastest(velocities: Reals) -> float:
    """Return a bound of the speed [m/s] of particles whose components lie one after the other; NaN if one is NaN."""
    numbers = velocities.reshape(-1)
    return ROOT_3 * (_fastest_double(numbers) if numbers.itemsize == 8 else _fastest_single(numbers))


@njit(cache=True)
def fastest_row(motion: Reals) -> float:
    """Return the same of rows (n, 8): x, y, z, 0 and the velocity in the same order."""
    return ROOT_3 * (_fastest_row_double(motion) if motion.itemsize == 8 else _fastest_row_single(motion))


@njit(cache=True)
def _fastest_row_double(motion: Reals) -> float:
    bits = motion.view(np.int64)
    x, y, z, mask = np.int64(0), np.int64(0), np.int64(0), np.int64(SIGN_64)
    for node in range(bits.shape[0]):
        x, y, z = max(x, bits[node, 4] & mask), max(y, bits[node, 5] & mask), max(z, bits[node, 6] & mask)
    found = np.int64(max(x, y, z))
    return float(found.view(np.float64))


@njit(cache=True)
def _fastest_row_single(motion: Reals) -> float:
    bits = motion.view(np.int32)
    x, y, z, mask = np.int32(0), np.int32(0), np.int32(0), np.int32(SIGN_32)
    for node in range(bits.shape[0]):
        x, y, z = max(x, bits[node, 4] & mask), max(y, bits[node, 5] & mask), max(z, bits[node, 6] & mask)
    found = np.int32(max(x, y, z))
    return float(found.view(np.float32))
