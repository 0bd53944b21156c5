"""What every material law offers, and the linear ones: springs and dashpots in series and parallel."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials.channel import Channel
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class EdgeNetwork:
    """Force of an edge, tension positive: f = K dd + sum_a kappa_a z_a + eta ldot, z_a' = ldot - A_a z_a.

    dd is the extension [m] and ldot its rate [m/s]; `stiffness` K and `arm_stiffness` kappa_a [N/m],
    `arm_rate` A_a [1/s], `viscosity` eta [N s/m]. The states z_a [m] start at 0 (rest).
    """

    stiffness: float
    arm_stiffness: tuple[float, ...]
    arm_rate: tuple[float, ...]
    viscosity: float

    @classmethod
    def from_channel(cls, channel: Channel, *, section: float = 1.0, length: float = 1.0) -> EdgeNetwork:
        """Network of an edge, cross section [m2] and rest length [m]: kappa = g section/length, A = 1/tau."""
        edge = channel.scaled(section / length)
        return cls(edge.equilibrium, edge.strengths, tuple(1 / tau for tau in edge.times), edge.viscosity)

    def force(self, extension: ArrayLike, rate: ArrayLike, arms: ArrayLike) -> Array:
        """Tension [N] at extension [m] and its rate [m/s]; the last axis of `arms` holds the z_a [m]."""
        stretched = np.asarray(arms, dtype=float) @ np.array(self.arm_stiffness)
        elastic = self.stiffness * np.asarray(extension, dtype=float)
        return np.asarray(elastic + stretched + self.viscosity * np.asarray(rate, dtype=float))

    def advance(self, arms: ArrayLike, rate: ArrayLike, step: float) -> Array:
        """Arm states [m] after a step h [s] of constant rate [m/s]: z exp(-A h) + ldot (1 - exp(-A h))/A."""
        rates = np.array(self.arm_rate)
        decayed = np.exp(-rates * step) * np.asarray(arms, dtype=float)
        return np.asarray(decayed - np.expm1(-rates * step) / rates * np.asarray(rate, dtype=float)[..., None])


@runtime_checkable
class Law(Protocol):
    """A frozen description of how stress follows strain, made of isotropic springs and dashpots.

    `name` is the kebab-case word of scene files. `channel(modulus)` applies the 1D series and parallel rules
    to that modulus of every part. When the Poisson ratios of the parts differ, only the eigen-moduli bulk and
    shear make the true tensor series connection (E19); "young" is the 1D rule an edge uses, "lame" that of
    the papers.
    """

    name: ClassVar[str]

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """All springs [Pa] and dashpots [Pa s] of the law."""
        ...

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        ...


def relaxation_function(law: Law, t: ArrayLike, modulus: Modulus = "young") -> Array:
    """Regular part of the relaxation function [Pa] at times t [s] (the delta at 0 is left out)."""
    return law.channel(modulus).relaxation(t)


def creep_function(law: Law, t: ArrayLike, modulus: Modulus = "young") -> Array:
    """Strain under unit step stress [1/Pa] at times t [s]."""
    return law.channel(modulus).creep(t)


def complex_modulus(law: Law, omega: ArrayLike, modulus: Modulus = "young") -> NDArray[np.complex128]:
    """Storage + i loss modulus [Pa] at angular frequencies omega [rad/s]."""
    return law.channel(modulus).complex_modulus(omega)


def edge_network(law: Law, *, section: float = 1.0, length: float = 1.0) -> EdgeNetwork:
    """1D network of an edge of that law, cross section [m2] and rest length [m], by the "young" channel."""
    return EdgeNetwork.from_channel(law.channel("young"), section=section, length=length)


def equal_poisson(law: Law) -> float | None:
    """Poisson ratio shared by all parts, absent ones ignored; None if they differ or all are absent.

    With one ratio every response is the scalar r_E(t) times an elastic solution.
    """
    ratios = [part.poisson for part in law.parts if not part.is_absent]
    if ratios and all(math.isclose(ratio, ratios[0], rel_tol=1e-9, abs_tol=1e-12) for ratio in ratios):
        return ratios[0]
    return None


def is_incompressible(law: Law) -> bool:
    """Tell whether a part of a law keeps its volume (Poisson ratio 0.5), so that there is no bulk channel."""
    return any(part.is_incompressible for part in law.parts)


def require_pairs(name: str, springs: tuple[Moduli, ...], dashpots: tuple[Moduli, ...]) -> None:
    """Refuse a law whose springs and dashpots do not come in pairs."""
    if len(springs) != len(dashpots):
        raise RheotwinError(
            f"law {name} has {len(springs)} springs and {len(dashpots)} dashpots: give one dashpot per spring"
        )


def require_present(name: str, **parts: Moduli) -> None:
    """Refuse an absent part where a series would pass no stress at all."""
    for role, part in parts.items():
        if part.is_absent:
            raise RheotwinError(
                f"law {name}: the {role.replace('_', ' ')} is zero and in series, so no stress passes: "
                "give it a positive young"
            )


@dataclass(frozen=True)
class Elastic:
    """Spring [Pa]: r(t) = k."""

    name: ClassVar[str] = "elastic"
    spring: Moduli

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """The spring."""
        return (self.spring,)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        return Channel.elastic(self.spring.value(modulus))


@dataclass(frozen=True)
class Voigt:
    """Spring [Pa] parallel to dashpot [Pa s]: r(t) = k + b delta(t).

    Parallel parts add in every modulus, so any modulus gives the true tensor law.
    """

    name: ClassVar[str] = "voigt"
    spring: Moduli
    dashpot: Moduli

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """Spring and dashpot."""
        return (self.spring, self.dashpot)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        return Channel.voigt(self.spring.value(modulus), self.dashpot.value(modulus))


@dataclass(frozen=True)
class Maxwell:
    """Spring [Pa] in series with dashpot [Pa s]: r(t) = k exp(-k t/b).

    For unequal Poisson ratios only bulk and shear make the true tensor series connection (E19); "young" is
    the 1D rule an edge uses.
    """

    name: ClassVar[str] = "maxwell"
    spring: Moduli
    dashpot: Moduli

    def __post_init__(self) -> None:
        require_present(self.name, spring=self.spring, dashpot=self.dashpot)

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """Spring and dashpot."""
        return (self.spring, self.dashpot)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        return Channel.maxwell(self.spring.value(modulus), self.dashpot.value(modulus))


@dataclass(frozen=True)
class ThreeParts:
    """A Voigt unit, spring k [Pa] and dashpot c1 [Pa s], and a dashpot c2 [Pa s] in series."""

    name: ClassVar[str]
    spring: Moduli
    voigt_dashpot: Moduli
    series_dashpot: Moduli

    def __post_init__(self) -> None:
        require_present(self.name, series_dashpot=self.series_dashpot)
        if self.spring.is_absent:
            require_present(self.name, voigt_dashpot=self.voigt_dashpot)

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """Spring, Voigt dashpot, series dashpot."""
        return (self.spring, self.voigt_dashpot, self.series_dashpot)


@dataclass(frozen=True)
class ThreeElement(ThreeParts):
    """Voigt unit (spring k [Pa], dashpot c1 [Pa s]) in series with dashpot c2 [Pa s].

    r(t) = k B^2 exp(-k t/(c1 + c2)) + B c1 delta(t), B = c2/(c1 + c2). `seed_printed` takes the gain k B as
    printed (E15), for comparison runs only. An absent spring leaves the dashpot c1 c2/(c1 + c2). For unequal
    Poisson ratios only bulk and shear make the true tensor series connection (E19); "young" is the 1D rule an
    edge uses.
    """

    name: ClassVar[str] = "three-element"
    seed_printed: bool = field(default=False, kw_only=True)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        constants = (part.value(modulus) for part in self.parts)
        return Channel.three_element(*constants, seed_printed=self.seed_printed)


@dataclass(frozen=True)
class GeneralizedVoigt:
    """Series of Voigt units, springs [Pa] and dashpots [Pa s]; its creep is the sum of (1 - exp(-k t/b))/k.

    A unit with an absent spring is a free dashpot, one with an absent dashpot a free spring. For unequal
    Poisson ratios only bulk and shear make the true tensor series connection (E19); "young" is the 1D rule
    an edge uses.
    """

    name: ClassVar[str] = "generalized-voigt"
    springs: tuple[Moduli, ...]
    dashpots: tuple[Moduli, ...]

    def __post_init__(self) -> None:
        require_pairs(self.name, self.springs, self.dashpots)
        if not self.springs:
            raise RheotwinError(f"law {self.name} has no unit: give at least one spring and dashpot")
        for unit, (spring, dashpot) in enumerate(zip(self.springs, self.dashpots, strict=True), start=1):
            if spring.is_absent and dashpot.is_absent:
                raise RheotwinError(
                    f"law {self.name}: spring and dashpot of unit {unit} are both zero, so no stress passes: "
                    "drop the unit or give one of them a positive young"
                )

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """All springs, then all dashpots."""
        return self.springs + self.dashpots

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        springs = [spring.value(modulus) for spring in self.springs]
        return Channel.voigt_chain(springs, [dashpot.value(modulus) for dashpot in self.dashpots])


@dataclass(frozen=True)
class GeneralizedMaxwell:
    """Maxwell arms in parallel, with an optional spring and dashpot beside them.

    r(t) = k_inf + sum k_i exp(-k_i t/b_i) + b_0 delta(t): springs k_i [Pa], dashpots b_i [Pa s],
    `equilibrium` k_inf [Pa], `dashpot` b_0 [Pa s]. For unequal Poisson ratios within an arm only bulk and
    shear make the true tensor series connection (E19); "young" is the 1D rule an edge uses.
    """

    name: ClassVar[str] = "generalized-maxwell"
    springs: tuple[Moduli, ...]
    dashpots: tuple[Moduli, ...]
    equilibrium: Moduli | None = None
    dashpot: Moduli | None = None

    def __post_init__(self) -> None:
        require_pairs(self.name, self.springs, self.dashpots)
        if not self.parts:
            raise RheotwinError(f"law {self.name} is empty: give at least one spring and dashpot")
        for arm, (spring, dashpot) in enumerate(zip(self.springs, self.dashpots, strict=True), start=1):
            require_present(f"{self.name}, arm {arm}", spring=spring, dashpot=dashpot)

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """All springs, all dashpots, then the parts beside the arms."""
        beside = tuple(part for part in (self.equilibrium, self.dashpot) if part is not None)
        return self.springs + self.dashpots + beside

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        pairs = zip(self.springs, self.dashpots, strict=True)
        arms = (Channel.maxwell(spring.value(modulus), dashpot.value(modulus)) for spring, dashpot in pairs)
        beside = Channel.voigt(*(part.value(modulus) if part else 0.0 for part in (self.equilibrium, self.dashpot)))
        return reduce(add, arms, beside)
