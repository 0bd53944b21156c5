"""Linear laws: springs and dashpots in series and parallel, each with a relaxation function."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import ClassVar

from rheotwin.errors import RheotwinError
from rheotwin.materials.channel import Channel
from rheotwin.materials.law import require_pairs, require_present
from rheotwin.materials.moduli import Moduli, Modulus


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
