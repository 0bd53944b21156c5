"""Arithmetic of Voigt chain <-> Maxwell bank (identification spec 2.3) on arrays of positive numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheotwin.materials.secular import Array, secular_roots
from rheotwin.materials.voigt_chain import VoigtChain

INDISTINGUISHABLE = 1e-9
"""Rates closer than this (relative) are one rate: the strength lost is of the square, below rounding."""


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
