"""Voigt chains (creep) and the Maxwell banks (relaxation) they equal, by the roots of one secular equation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError

INDISTINGUISHABLE = 1e-9
"""Rates closer than this (relative) are one rate: the strength lost is of the square, below rounding."""


@dataclass(frozen=True)
class VoigtChain:
    """Voigt units in series: springs `ks` [Pa], each parallel to its dashpot of `bs` [Pa s].

    A unit with k = 0 is a free dashpot, one with b = 0 a free spring. (In N/m and N s/m for an edge.)
    """

    ks: tuple[float, ...]
    bs: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.ks) != len(self.bs) or not self.ks:
            raise RheotwinError(
                f"a Voigt chain has {len(self.ks)} springs and {len(self.bs)} dashpots: give one of each per unit"
            )
        if not all(math.isfinite(value) for value in (*self.ks, *self.bs)):
            raise RheotwinError("a Voigt chain holds a spring or dashpot that is not finite: give finite values")
        if min(*self.ks, *self.bs) < 0 < max(*self.ks, *self.bs):
            raise RheotwinError(
                "the units of a series have constants of both signs, so they do not relax (a Lame "
                "constant can be negative): choose the modulus bulk, shear or young"
            )

    @property
    def rates(self) -> tuple[float, ...]:
        """Retardation rates k/b [1/s]; inf for a free spring."""
        return tuple(k / b if b else math.inf for k, b in zip(self.ks, self.bs, strict=True))

    @property
    def is_broken(self) -> bool:
        """Whether some unit has neither spring nor dashpot, so that the series passes no stress."""
        return any(k == 0 and b == 0 for k, b in zip(self.ks, self.bs, strict=True))

    def creep(self, t: ArrayLike) -> Array:
        """Strain under unit step stress [1/Pa] at times t [s], 0 before t = 0.

        J(t) = sum_i (1 - exp(-k_i t/b_i))/k_i; t/b for a free dashpot, 1/k for a free spring
        """
        if self.is_broken:
            raise RheotwinError("a part that passes no stress has no creep function: give it a spring or a dashpot")
        times = np.asarray(t, dtype=float)
        elapsed = np.maximum(times, 0.0)
        strain = sum(
            (_unit_creep(k, b, elapsed) for k, b in zip(self.ks, self.bs, strict=True)), np.zeros_like(elapsed)
        )
        return np.where(times < 0, 0.0, strain)


def _unit_creep(k: float, b: float, t: Array) -> Array:
    if b == 0:
        return np.full_like(t, 1 / k)
    return t / b if k == 0 else -np.expm1(-k * t / b) / k


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


class Spectrum(NamedTuple):
    """Z(s) = equilibrium + viscosity s + sum_a strengths_a s/(s + 1/times_a)."""

    equilibrium: float
    strengths: Array
    times: Array
    viscosity: float


class PolesAndWeights(NamedTuple):
    """Poles [1/s], ascending and distinct, with their weights."""

    poles: Array
    weights: Array


def merge_poles(poles: Array, weights: Array) -> PolesAndWeights:
    """Sort the poles, put indistinguishable ones together at their weighted mean, drop zero weights."""
    order = np.argsort(poles, kind="stable")
    order = order[weights[order] != 0]
    ascending, loads = poles[order], weights[order]
    if not len(ascending):
        return PolesAndWeights(ascending, loads)
    starts = np.flatnonzero(np.diff(ascending, prepend=-1.0) > INDISTINGUISHABLE * ascending)
    totals = np.add.reduceat(loads, starts)
    means = np.add.reduceat(loads * ascending, starts) / totals
    # A pole that was alone keeps its own digits.
    alone = np.diff(starts, append=len(ascending)) == 1
    return PolesAndWeights(np.where(alone, ascending[starts], means), totals)


def spectrum_of_chain(chain: VoigtChain) -> Spectrum:
    """Maxwell bank of a chain of non-negative units, none of them empty.

    1/Z(s) = c + sum_i (1/b_i)/(rho_i + s), c = sum of 1/k over free springs. The relaxation rates r are its
    zeros at s = -r, and g = 1/(r sum_i (1/b_i)/(rho_i - r)^2).
    """
    k, b = np.array(chain.ks, dtype=float), np.array(chain.bs, dtype=float)
    damped = b > 0
    instant_compliance = float(np.sum(1 / k[~damped]))
    poles, weights = merge_poles(k[damped] / b[damped], 1 / b[damped])
    rates, slopes = secular_roots(poles, weights, instant_compliance)
    return Spectrum(
        equilibrium=0.0 if np.any(k == 0) else float(1 / np.sum(1 / k)),
        strengths=1 / (rates * slopes),
        times=1 / rates,
        viscosity=float(1 / np.sum(1 / b)) if np.all(damped) else 0.0,
    )


def chain_of_spectrum(bank: Spectrum) -> VoigtChain:
    """Voigt chain of a non-zero bank with non-negative strengths, ordered by rising rate, free spring last.

    Z(-p) = -p (eta + g_inf/(0 - p) + sum_a g_a/(1/tau_a - p)); its zeros p = rho_i are the rates of the
    units and b_i = rho_i sum w/(pole - rho_i)^2, k_i = rho_i b_i. Without equilibrium there is a free dashpot
    (the steady viscosity), without viscosity a free spring (the instantaneous modulus).
    """
    poles, weights = merge_poles(np.append(0.0, 1 / bank.times), np.append(bank.equilibrium, bank.strengths))
    rates, slopes = secular_roots(poles, weights, bank.viscosity)
    bs = rates * slopes
    ks = rates * bs
    if bank.equilibrium == 0:
        ks, bs = np.append(0.0, ks), np.append(bank.viscosity + np.sum(bank.strengths * bank.times), bs)
    if bank.viscosity == 0:
        ks, bs = np.append(ks, bank.equilibrium + np.sum(bank.strengths)), np.append(bs, 0.0)
    return VoigtChain(tuple(ks.tolist()), tuple(bs.tolist()))
