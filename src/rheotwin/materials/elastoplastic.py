"""Elastoplastic law: a spring that yields, by critical stretches (particles-slave spec 3.6) or by von Mises stress."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class CriticalStretch:
    """Principal elastic stretches stay in [1 - `compression`, 1 + `stretch`]; what goes beyond is plastic.

    With JP the plastic volume ratio every modulus is exp(`hardening` (1 - JP)) times that at rest, e^2 at most.
    """

    compression: float
    stretch: float
    hardening: float = 10.0

    def __post_init__(self) -> None:
        if not 0.0 < self.compression < 1.0:
            raise RheotwinError(
                f"law elastoplastic: critical_compression = {self.compression:g} is not between 0 and 1: choose how "
                "much shorter the elastic part may get"
            )
        if not 0.0 < self.stretch < math.inf:
            raise RheotwinError(
                f"law elastoplastic: critical_stretch = {self.stretch:g} is not positive and finite: choose how much "
                "longer the elastic part may get"
            )
        if not 0.0 <= self.hardening < math.inf:
            raise RheotwinError(f"law elastoplastic: hardening = {self.hardening:g} is not a finite number >= 0")


@dataclass(frozen=True)
class VonMises:
    """Von Mises stress of at most `stress` + `hardening` alpha [Pa], alpha the accumulated plastic strain."""

    stress: float
    hardening: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.stress < math.inf:
            raise RheotwinError(
                f"law elastoplastic: yield_stress = {self.stress:g} is not positive and finite: choose the stress at "
                "which it begins to flow"
            )
        if not 0.0 <= self.hardening < math.inf:
            raise RheotwinError(
                f"law elastoplastic: hardening_modulus = {self.hardening:g} is not a finite number of at least 0"
            )


@dataclass(frozen=True)
class Elastoplastic:
    """Spring [Pa] that flows beyond its limit; `viscosity` [Pa s] (in tension) lets it exceed the limit (Perzyna).

    The overstress is viscosity times the rate of plastic strain. `rheotwin.materials.flow` has the formulas.
    """

    name: ClassVar[str] = "elastoplastic"
    spring: Moduli
    limit: CriticalStretch | VonMises
    viscosity: float = 0.0

    def __post_init__(self) -> None:
        if self.spring.is_absent or self.spring.shear == 0.0:
            raise RheotwinError("law elastoplastic: its spring has no shear modulus: give it a positive young")
        if self.spring.is_incompressible:
            raise RheotwinError("law elastoplastic: poisson = 0.5 leaves no bulk modulus: choose less than 0.5")
        if not 0.0 <= self.viscosity < math.inf:
            raise RheotwinError(f"law elastoplastic: viscosity = {self.viscosity:g} is not a finite number >= 0")

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """The spring."""
        return (self.spring,)

    def channel(self, modulus: Modulus) -> NoReturn:
        """Refuse: no relaxation function describes the law."""
        raise RheotwinError(
            f"law {self.name}: its {modulus} stress is not linear in the history of strain, so it has no relaxation "
            "function: use the solver fem, or an elastic law with the same spring"
        )

    @property
    def constants(self) -> Array:
        """What `rheotwin.materials.flow` reads: kind, lame, shear, its three numbers of the limit, viscosity, young."""
        limit, spring = self.limit, self.spring
        if isinstance(limit, CriticalStretch):
            numbers = (0.0, spring.lame, spring.shear, limit.compression, limit.stretch, limit.hardening)
        else:
            numbers = (1.0, spring.lame, spring.shear, limit.stress, limit.hardening, 0.0)
        return np.array([*numbers, self.viscosity, spring.young])

    @property
    def start(self) -> float:
        """What the law remembers at rest: JP = 1 of critical stretches, alpha = 0 of von Mises."""
        return 1.0 if isinstance(self.limit, CriticalStretch) else 0.0
