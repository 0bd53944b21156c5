"""Roots of the secular equation that links a Voigt chain and a Maxwell bank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class SecularRoots(NamedTuple):
    """Roots r [1/s], ascending, and D(r) = sum_i w_i/(p_i - r)^2 at each."""

    roots: Array
    slopes: Array


def secular_roots(poles: Array, weights: Array, constant: float) -> SecularRoots:
    """All roots of c + sum_i w_i/(p_i - r) = 0 for ascending distinct poles p_i >= 0, w_i > 0, c >= 0.

    The left side rises from -inf to +inf between neighbouring poles, so one root lies in each gap, and one
    more above the last pole when c > 0. Each root is found as a distance from its nearest pole: its relative
    accuracy does not suffer from rates spread over many decades, nor does that of D.
    """
    found = [_root_in_gap(poles, weights, constant, gap) for gap in range(len(poles) - 1)]
    if constant > 0 and len(poles):
        found.append(_root_above(poles, weights, constant))
    roots = np.array([poles[pole] + shift for pole, shift in found])
    slopes = np.array([np.sum(weights / (poles - poles[pole] - shift) ** 2) for pole, shift in found])
    return SecularRoots(roots, slopes)


def _root_in_gap(poles: Array, weights: Array, constant: float, gap: int) -> tuple[int, float]:
    half = (poles[gap + 1] - poles[gap]) / 2
    left_of_middle = _residual(half, gap, poles, weights, constant) > 0
    pole = gap if left_of_middle else gap + 1
    return pole, _bracketed(pole, half if left_of_middle else -half, poles, weights, constant)


def _root_above(poles: Array, weights: Array, constant: float) -> tuple[int, float]:
    last = len(poles) - 1
    # r - p_last <= sum(w)/c bounds the root; twice that leaves room for rounding.
    return last, _bracketed(last, 2 * float(weights.sum()) / constant, poles, weights, constant)


def _bracketed(pole: int, end: float, poles: Array, weights: Array, constant: float) -> float:
    from scipy.optimize import brentq

    # Negative at the pole: not positive at the end means that the root is the end, up to rounding.
    if _residual(end, pole, poles, weights, constant) <= 0:
        return end
    tightest = 4 * np.finfo(float).eps
    arguments = (pole, poles, weights, constant)
    return float(brentq(_residual, 0.0, end, args=arguments, xtol=1e-300, rtol=tightest, maxiter=5000))


def _residual(shift: float, pole: int, poles: Array, weights: Array, constant: float) -> float:
    """Value of (r - p)(c + sum_i w_i/(p_i - r)) at r = p + shift: finite at the pole p itself."""
    others = np.arange(len(poles)) != pole
    rest = np.sum(weights[others] / (poles[others] - poles[pole] - shift))
    return float(shift * (constant + rest) - weights[pole])
