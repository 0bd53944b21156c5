"""How a number settles as cells are divided: observed order, limit, and how uncertain the finest value is.

    f(h) = f0 + C h^p,    h = 1/refinement

Three meshes determine f0, C and p (Richardson); more are fitted by least squares, which then also tells how far
to trust p. The uncertainty of the finest value follows Roache's grid convergence index: 1.25 |f - f0| where the fit
is a plausible one, 3 times the range of the values where it is not (Eca and Hoekstra 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import t as student

Array = NDArray[np.float64]
Verdict = Literal["converging", "settled", "oscillating", "not converging", "too few meshes"]

LEAST_ORDER, MOST_ORDER = 0.25, 6.0
"""Orders between which a fit is plausible."""
SETTLED = 1e-9
"""Relative range below which all values are the same."""
SAFETY, WIDE_SAFETY = 1.25, 3.0
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Convergence:
    """Values on finer and finer meshes and what they tend to; None where they do not tell.

    `order_error` is half the 95 % interval of the order, which only four meshes or more give; `uncertainty` is that of
    the last value, in its unit.
    """

    refinements: tuple[int, ...]
    values: tuple[float, ...]
    verdict: Verdict
    order: float | None = None
    order_error: float | None = None
    limit: float | None = None
    uncertainty: float | None = None


def convergence(refinements: Sequence[int], values: Sequence[float]) -> Convergence:
    """Return the convergence of one value per refinement, in any order."""
    placed = sorted(zip(refinements, map(float, values), strict=True))
    meshes, found = tuple(n for n, _ in placed), tuple(value for _, value in placed)
    spread = float(np.ptp(found))
    if len(found) < 2:
        return Convergence(meshes, found, "too few meshes")
    if spread <= SETTLED * max(map(abs, found)):
        return Convergence(meshes, found, "settled", limit=found[-1], uncertainty=spread)
    wide = WIDE_SAFETY * spread
    if len(found) < 3:
        return Convergence(meshes, found, "too few meshes", uncertainty=wide)
    steps = np.diff(found)
    if steps[-1] * steps[-2] < 0.0:
        return Convergence(meshes, found, "oscillating", uncertainty=wide)
    width, value = 1.0 / np.array(meshes, float), np.array(found)
    order = _order(width, value)
    if not LEAST_ORDER < order < MOST_ORDER:
        return Convergence(meshes, found, "not converging", uncertainty=wide)
    (limit, factor), misfit = _fit(width, value, order)
    error = _order_error(width, factor, order, misfit)
    return Convergence(meshes, found, "converging", order, error, limit, SAFETY * abs(found[-1] - limit))


def extrapolated(fine: Array, coarse: Array, ratio: float, order: float) -> Array:
    """Return the Richardson limit of values on two meshes whose widths are h and `ratio` h."""
    return np.asarray(fine + (fine - coarse) / (ratio**order - 1.0))


def _order(width: Array, value: Array) -> float:
    scaled, bounds = value / np.ptp(value), (0.1, 1.05 * MOST_ORDER)
    found = minimize_scalar(
        lambda p: _fit(width, scaled, p)[1], bounds=bounds, method="bounded", options={"xatol": 1e-10}
    )
    return float(found.x)


def _fit(width: Array, value: Array, order: float) -> tuple[tuple[float, float], float]:
    """Return (f0, C) of the best fit with this order, and its sum of squares."""
    columns = np.stack([np.ones_like(width), width**order], axis=1)
    (limit, factor), *_ = np.linalg.lstsq(columns, value, rcond=None)
    return (float(limit), float(factor)), float(np.sum((columns @ (limit, factor) - value) ** 2))


def _order_error(width: Array, factor: float, order: float, misfit: float) -> float | None:
    """Return half the confidence interval of the order, from the linearised least squares."""
    freedom = len(width) - 3
    if freedom < 1:
        return None
    power = width**order
    slopes = np.stack([np.ones_like(width), power, factor * power * np.log(width)], axis=1)
    variance = misfit / freedom * np.linalg.inv(slopes.T @ slopes)[2, 2]
    return float(student.ppf(0.5 + 0.5 * CONFIDENCE, freedom) * np.sqrt(variance))
