"""Laws that may be identified: their unknowns as logarithms, as models to compute with and as elements to read.

The search runs in the logarithms of a bank's numbers (k_inf, b_0, g, tau), in which it is well scaled. A chain is the
same law (spec 2.3): its springs and dashpots follow from the bank, their intervals from the slopes of that conversion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.materials import VoigtChain
from rheotwin.materials.voigt_chain import Spectrum, chain_of_spectrum, spectrum_of_chain
from rheotwin.validation.identification.record import TimeRecord
from rheotwin.validation.identification.response import FrictionModel, LawModel

MOST = 4
"""Largest order that is tried unasked."""


class Scale(NamedTuple):
    """Stiffness [N/m], displacement [m], force [N] at the peak; shortest step and whole duration [s]."""

    stiffness: float
    depth: float
    force: float
    shortest: float
    duration: float


@dataclass(frozen=True)
class Candidate:
    """A bank of `arms` with or without spring and dashpot beside them; as `chain` it is read in Voigt units.

    `power`: driven by |x|^p. `cubic`: a spring c x^3 beside it. `friction`: the three-element law of spec 2.4 instead.
    """

    name: str
    arms: int
    equilibrium: bool = True
    viscosity: bool = False
    chain: bool = False
    power: bool = False
    cubic: bool = False
    friction: bool = False

    @property
    def bank_names(self) -> tuple[str, ...]:
        """Unknowns of the search; all are logarithms but that of the cubic spring."""
        if self.friction:
            return ("k", "b1", "b2", "alpha")
        arms = [f"{name}{j}" for j in range(1, self.arms + 1) for name in ("g", "tau")]
        ends = ["p"] * self.power + ["cubic"] * self.cubic
        return (*["k_inf"] * self.equilibrium, *["b_0"] * self.viscosity, *arms, *ends)

    def bank(self, unknowns: Array) -> Spectrum:
        """Return the linear part."""
        at = self.equilibrium + self.viscosity
        beside, arms = np.exp(unknowns[:at]), np.exp(unknowns[at : at + 2 * self.arms])
        return Spectrum(
            float(beside[0]) if self.equilibrium else 0.0,
            arms[0::2],
            arms[1::2],
            float(beside[-1]) if self.viscosity else 0.0,
        )

    def unknowns(self, bank: Spectrum, power: float = 1.0) -> Array:
        """Return the unknowns of a bank; its arms in the order of rising times."""
        order = np.argsort(bank.times, kind="stable")
        beside = [bank.equilibrium] * self.equilibrium + [bank.viscosity] * self.viscosity
        arms = np.stack([bank.strengths[order], bank.times[order]], axis=1).ravel()
        logs = np.log(np.concatenate([beside, arms, [power] * self.power]))
        return np.concatenate([logs, [0.0] * self.cubic])

    def model(self, unknowns: Array, scale: Scale) -> LawModel | FrictionModel:
        """Return the law to compute with. A cubic of 1 is as stiff at the peak as the scale."""
        if self.friction:
            return FrictionModel(*map(float, np.exp(unknowns)))
        rest = unknowns[self.equilibrium + self.viscosity + 2 * self.arms :]
        return LawModel(
            self.bank(unknowns),
            power=float(np.exp(rest[0])) if self.power else 1.0,
            cubic=float(rest[-1]) * scale.stiffness if self.cubic else 0.0,
            depth=scale.depth,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters as they are read."""
        if self.friction or not (self.chain or self._is_three):
            return self.bank_names
        ends = ["p"] * self.power + ["cubic"] * self.cubic
        if self._is_three:
            return ("k", "b1", "b2", *ends)
        first = [] if self.viscosity else ["k0"]
        units = self.arms + self.viscosity
        return (*first, *(f"{name}{i}" for i in range(1, units + 1) for name in ("k", "b")), *ends)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the parameters (of displacement in m and force in N)."""
        kinds = {"k": "N/m", "g": "N/m", "b": "N s/m", "t": "s", "a": "N", "p": "1", "c": "1"}
        return tuple(kinds[name[0]] for name in self.names)

    def read(self, unknowns: Array) -> Array:
        """Return the parameters as they are read, in logarithms: elements by rising b/k, arms by rising times."""
        if self.friction:
            return unknowns
        ends = unknowns[self.equilibrium + self.viscosity + 2 * self.arms :]
        bank = self.bank(unknowns)
        if not (self.chain or self._is_three):
            return np.concatenate([self.unknowns(bank)[: len(unknowns) - len(ends)], ends])
        chain = chain_of_spectrum(bank)
        units = sorted(zip(chain.ks, chain.bs, strict=True), key=lambda unit: unit[1] / unit[0] if unit[0] else np.inf)
        values = [value for unit in units for value in unit if value]
        return np.concatenate([np.log(values), ends])

    def unread(self, read: Array) -> Array:
        """Return the unknowns of parameters as they are read: the inverse of `read`."""
        if self.friction or not (self.chain or self._is_three):
            return read
        many = len(read) - self.power - self.cubic
        values = np.exp(read[:many])
        if self._is_three:
            chain = VoigtChain((float(values[0]), 0.0), (float(values[1]), float(values[2])))
        else:
            free = [] if self.viscosity else [float(values[0])]
            units = values[len(free) :]
            chain = VoigtChain((*free, *units[0::2].tolist()), (*[0.0] * len(free), *units[1::2].tolist()))
        linear = Candidate(self.name, self.arms, self.equilibrium, self.viscosity)
        return np.concatenate([linear.unknowns(spectrum_of_chain(chain)), read[many:]])

    @property
    def _is_three(self) -> bool:
        return self.arms == 1 and self.viscosity and not self.equilibrium

    def times(self, read: Array) -> Array:
        """Return times [s] of units or arms that can be told apart, rising."""
        values = dict(zip(self.names, read, strict=True))
        if self.friction or self._is_three:
            return np.zeros(0)
        if not self.chain:
            return np.exp([values[f"tau{j}"] for j in range(1, self.arms + 1)])
        units = self.arms + self.viscosity
        return np.exp([values[f"b{i}"] - values[f"k{i}"] for i in range(1, units + 1)])


def _family(name: str, least: int, **parts: bool) -> dict[str, tuple[Candidate, ...]]:
    found = {}
    for n in range(least, MOST + 1):
        arms = n - 1 if parts.get("viscosity") else n
        found[f"{name}-{n}"] = (Candidate(f"{name}-{n}", arms, **parts),)
    return found | {name: tuple(one for (one,) in found.values())}


LAWS: dict[str, tuple[Candidate, ...]] = {
    **_family("chain", 1, viscosity=True, chain=True),
    **_family("bank", 1),
    **_family("power-chain", 1, chain=True, power=True),
    **_family("power-bank", 1, power=True),
    **_family("cubic-bank", 1, cubic=True),
    "three-element": (Candidate("three-element", 1, equilibrium=False, viscosity=True),),
    "friction": (Candidate("friction", 1, friction=True),),
}
"""Candidates by name: with a number one order (`chain-2`), without it all of them."""
LINEAR = ("chain", "bank", "three-element")
"""What is tried unasked."""
NONLINEAR = ("power-chain-1", "power-chain-2", "power-chain-3", "cubic-bank-1", "cubic-bank-2", "friction")
"""What is tried if none of these describes the record."""


def candidates(names: Iterable[str]) -> tuple[Candidate, ...]:
    """Return the candidates of these names, each once."""
    found: dict[str, Candidate] = {}
    for name in names:
        if name not in LAWS:
            raise RheotwinError(f"there is no law '{name}'{nearest_name(name, LAWS)}; choose from {', '.join(LAWS)}")
        found |= {one.name: one for one in LAWS[name]}
    return tuple(found.values())


def scale_of(records: tuple[TimeRecord, ...]) -> Scale:
    """Return the scale of records together."""
    force, depth = np.max([record.scale for record in records], axis=0)
    shortest = min(float(np.diff(record.time).min()) for record in records)
    duration = max(float(np.ptp(record.time)) for record in records)
    return Scale(float(force / depth), float(depth), float(force), shortest, duration)
