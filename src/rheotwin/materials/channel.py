"""The one form every law takes for one modulus: r(t) = g_inf + sum_a g_a exp(-t/tau_a) + eta delta(t)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials.voigt_chain import INDISTINGUISHABLE, Spectrum, VoigtChain, chain_of_spectrum, spectrum_of_chain

SAME_TIME = 1e-12
"""Relaxation times this close (relative) differ by rounding only and belong to one arm."""


@dataclass(frozen=True)
class Channel:
    """Relaxation function r(t) = g_inf + sum_a g_a exp(-t/tau_a) + eta delta(t) (FEM spec 1).

    `equilibrium` g_inf [Pa], `strengths` g_a [Pa], `times` tau_a [s], `viscosity` eta [Pa s]; [N/m] and
    [N s/m] instead once scaled to an edge.
    """

    equilibrium: float
    strengths: tuple[float, ...]
    times: tuple[float, ...]
    viscosity: float

    def __post_init__(self) -> None:
        if len(self.strengths) != len(self.times):
            raise RheotwinError(
                f"a channel has {len(self.strengths)} strengths and {len(self.times)} times: give one time per strength"
            )
        if not all(map(math.isfinite, (self.equilibrium, *self.strengths, self.viscosity))):
            raise RheotwinError("a channel holds a modulus or viscosity that is not finite: give finite values")
        for time in self.times:
            if not 0 < time < math.inf:
                raise RheotwinError(f"relaxation time {time:g} s is not positive and finite: give a positive time")

    @classmethod
    def elastic(cls, k: float) -> Channel:
        """Spring k [Pa]."""
        return cls(float(k), (), (), 0.0)

    @classmethod
    def voigt(cls, k: float, b: float) -> Channel:
        """Spring k [Pa] parallel to dashpot b [Pa s]; k = 0 is a dashpot, b = 0 a spring."""
        return cls(float(k), (), (), float(b))

    @classmethod
    def maxwell(cls, k: float, b: float) -> Channel:
        """Spring k [Pa] in series with dashpot b [Pa s]: g = k, tau = b/k; zero if one of them is zero."""
        _require_one_sign(k, b)
        return cls.prony(0.0, (k,), (b / k,)) if k and b else cls.elastic(0.0)

    @classmethod
    def three_element(cls, k: float, b1: float, b2: float, *, seed_printed: bool = False) -> Channel:
        """Voigt unit (k [Pa], b1 [Pa s]) in series with dashpot b2 [Pa s].

        With B = b2/(b1 + b2): g = k B^2, tau = (b1 + b2)/k, eta = B b1. `seed_printed` takes the printed
        gain g = k B instead (E15), a factor 1 + b1/b2 too large; for comparison runs only. k = 0 is the
        dashpot eta, b1 = 0 is Maxwell(k, b2), b2 = 0 is zero.
        """
        _require_one_sign(k, b1, b2)
        if b2 == 0:
            return cls.elastic(0.0)
        share = b2 / (b1 + b2)
        if k == 0:
            return cls.voigt(0.0, share * b1)
        gain = share if seed_printed else share**2
        return cls.prony(0.0, (gain * k,), ((b1 + b2) / k,), viscosity=share * b1)

    @classmethod
    def prony(
        cls, equilibrium: float, strengths: Sequence[float], times: Sequence[float], viscosity: float = 0.0
    ) -> Channel:
        """Series of arms g_a [Pa], tau_a [s] beside a spring [Pa] and a dashpot [Pa s].

        An arm of time 0 passes nothing, one of infinite time is a spring.
        """
        if len(strengths) != len(times):
            raise RheotwinError(
                f"a Prony series has {len(strengths)} strengths and {len(times)} times: give one time per strength"
            )
        arms = [(float(g), float(tau)) for g, tau in zip(strengths, times, strict=True) if tau != 0]
        springs = math.fsum(g for g, tau in arms if tau == math.inf)
        relaxing = [arm for arm in arms if arm[1] != math.inf]
        return cls(
            float(equilibrium) + springs,
            tuple(g for g, _ in relaxing),
            tuple(tau for _, tau in relaxing),
            float(viscosity),
        )

    @classmethod
    def voigt_chain(cls, ks: Sequence[float], bs: Sequence[float]) -> Channel:
        """Voigt units (k_i [Pa], b_i [Pa s]) in series (spec 2.3); zero if one unit is empty."""
        chain = VoigtChain(tuple(map(float, ks)), tuple(map(float, bs)))
        if chain.is_broken:
            return cls.elastic(0.0)
        if min(*chain.ks, *chain.bs) < 0:
            return cls.voigt_chain([-k for k in ks], [-b for b in bs]).scaled(-1.0)
        bank = spectrum_of_chain(chain)
        return cls(bank.equilibrium, tuple(bank.strengths.tolist()), tuple(bank.times.tolist()), bank.viscosity)

    @property
    def is_zero(self) -> bool:
        """Whether the channel carries no stress at all."""
        return not any((self.equilibrium, *self.strengths, self.viscosity))

    @property
    def instantaneous(self) -> float:
        """Modulus of a sudden strain, g_inf + sum g_a [Pa] (the delta part not counted)."""
        return self.equilibrium + math.fsum(self.strengths)

    @property
    def steady_viscosity(self) -> float:
        """Viscosity of a long ramp beside the equilibrium stress, eta + sum g_a tau_a [Pa s]."""
        return self.viscosity + math.fsum(g * tau for g, tau in zip(self.strengths, self.times, strict=True))

    def __add__(self, other: Channel) -> Channel:
        """Both channels in parallel."""
        return Channel(
            self.equilibrium + other.equilibrium,
            self.strengths + other.strengths,
            self.times + other.times,
            self.viscosity + other.viscosity,
        ).merged()

    def scaled(self, factor: float) -> Channel:
        """The same times with every modulus and viscosity multiplied by `factor`."""
        return replace(
            self,
            equilibrium=factor * self.equilibrium,
            strengths=tuple(factor * g for g in self.strengths),
            viscosity=factor * self.viscosity,
        )

    def merged(self) -> Channel:
        """The same function with arms of one time added up and arms without strength dropped."""
        arms: list[tuple[float, float]] = []
        for g, tau in sorted(zip(self.strengths, self.times, strict=True), key=lambda arm: arm[1]):
            if arms and math.isclose(tau, arms[-1][1], rel_tol=SAME_TIME):
                arms[-1] = (arms[-1][0] + g, tau)
            else:
                arms.append((g, tau))
        kept = [arm for arm in arms if arm[0]]
        return replace(self, strengths=tuple(g for g, _ in kept), times=tuple(tau for _, tau in kept))

    def relaxation(self, t: ArrayLike) -> Array:
        """Regular part of r(t) [Pa] at times t [s]; the delta at t = 0 weighs `viscosity`. Zero for t < 0."""
        times = np.asarray(t, dtype=float)
        decays = np.exp(-np.maximum(times, 0.0)[..., None] / np.array(self.times))
        return np.where(times < 0, 0.0, self.equilibrium + decays @ np.array(self.strengths))

    def ramp(self, t: ArrayLike, rate: float = 1.0) -> Array:
        """Stress [Pa] at times t [s] under constant strain rate [1/s] from rest (at t = 0: the value at 0+).

        s = rate (g_inf t + sum g_a tau_a (1 - exp(-t/tau_a)) + eta)
        """
        times = np.asarray(t, dtype=float)
        elapsed = np.maximum(times, 0.0)
        taus = np.array(self.times)
        arms = -np.expm1(-elapsed[..., None] / taus) @ (np.array(self.strengths) * taus)
        return np.where(times < 0, 0.0, rate * (self.equilibrium * elapsed + arms + self.viscosity))

    def creep(self, t: ArrayLike) -> Array:
        """Strain under unit step stress [1/Pa] at times t [s], in closed form through the Voigt chain."""
        moduli = (self.equilibrium, *self.strengths, self.viscosity)
        if self.is_zero:
            raise RheotwinError("a channel that carries no stress has no creep function: give it a modulus")
        if max(moduli) > 0 > min(moduli):
            raise RheotwinError(
                "a channel with moduli of both signs has no creep function (a Lame constant can be "
                "negative): choose the modulus bulk, shear or young"
            )
        sign = 1.0 if max(moduli) > 0 else -1.0
        return sign * chain_of_spectrum(self.scaled(sign).spectrum()).creep(t)

    def operational_modulus(self, s: ArrayLike) -> NDArray[np.complex128]:
        """Ratio of the Laplace transforms of stress and strain, s R~(s) [Pa], at complex s [1/s].

        Z(s) = g_inf + sum g_a s tau_a/(1 + s tau_a) + eta s
        """
        variable = np.asarray(s, dtype=complex)
        phases = variable[..., None] * np.array(self.times)
        arms = (phases / (1 + phases)) @ np.array(self.strengths)
        return np.asarray(self.equilibrium + arms + self.viscosity * variable)

    def complex_modulus(self, omega: ArrayLike) -> NDArray[np.complex128]:
        """Storage + i loss modulus [Pa] at angular frequencies omega [rad/s]."""
        return self.operational_modulus(1j * np.asarray(omega, dtype=float))

    def spectrum(self) -> Spectrum:
        """The same numbers as arrays."""
        return Spectrum(self.equilibrium, np.array(self.strengths), np.array(self.times), self.viscosity)


def _require_one_sign(*constants: float) -> None:
    if min(constants) < 0 < max(constants):
        listed = ", ".join(f"{constant:g}" for constant in constants)
        raise RheotwinError(
            f"parts in series have constants of both signs ({listed}) and would not relax (a Lame constant "
            "can be negative): choose the modulus bulk, shear or young"
        )


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
