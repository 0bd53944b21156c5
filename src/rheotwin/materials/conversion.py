"""Conversion between a Voigt chain and a Maxwell bank, both directions (identification spec 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rheotwin.errors import RheotwinError
from rheotwin.materials.channel import SAME_TIME, Channel
from rheotwin.materials.spectrum import INDISTINGUISHABLE, chain_of_spectrum
from rheotwin.materials.voigt_chain import VoigtChain


def voigt_chain_to_maxwell_bank(ks: Sequence[float], bs: Sequence[float]) -> Channel:
    """Bank of a chain with springs ks [Pa] and dashpots bs [Pa s]; units of equal rate count as one unit.

    g_inf = 1/sum(1/k_i), eta = 1/sum(1/b_i), relaxation rates r_j between the k_i/b_i; for n = 2
    r = (k1 + k2)/(b1 + b2) and g = (k1 b2 - k2 b1)^2/((b1 + b2)^2 (k1 + k2)).
    """
    return Channel.voigt_chain(ks, bs)


def maxwell_bank_to_voigt_chain(channel: Channel) -> VoigtChain:
    """Chain of a bank, ordered by rising k/b: zeros of Z(s) are -k_i/b_i, and b_i = Z'(-k_i/b_i).

    A bank that no chain gives back (a zero strength, equal times, moduli of mixed sign, units that cannot be
    told apart) is refused.
    """
    _require_invertible(channel)
    chain = chain_of_spectrum(channel.spectrum())
    for lower, upper in pairwise(chain.rates):
        if upper - lower < INDISTINGUISHABLE * lower:
            raise RheotwinError(
                f"two Voigt units share the rate k/b = {lower:g} 1/s and cannot be told apart: use one unit less"
            )
    return chain


def _require_invertible(channel: Channel) -> None:
    if channel.is_zero:
        raise RheotwinError("a channel that carries no stress is no Voigt chain: give it a modulus")
    if min(channel.equilibrium, *channel.strengths, channel.viscosity) < 0:
        raise RheotwinError("a bank with a negative modulus is no Voigt chain: give moduli of zero or above")
    for arm, strength in enumerate(channel.strengths, start=1):
        if strength == 0:
            raise RheotwinError(
                f"arm {arm} of the bank has strength 0 (two units of equal k/b act as one), so it names no "
                "Voigt unit: drop that arm"
            )
    times = sorted(channel.times)
    for shorter, longer in pairwise(times):
        if longer - shorter <= SAME_TIME * longer:
            raise RheotwinError(f"two arms of the bank share the relaxation time {longer:g} s: merge them into one arm")
