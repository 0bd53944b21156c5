"""A Voigt unit in series with something that is no linear dashpot: laws of edges, one of continuum particles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn

from rheotwin.errors import RheotwinError
from rheotwin.materials.law import require_present
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class NonlinearThreeElement:
    """Voigt unit (spring k [Pa], dashpot c1 [Pa s]) in series with a dashpot c2 [Pa s] that a subclass changes."""

    name: ClassVar[str] = "nonlinear three-element"
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

    @property
    def edge_constants(self) -> tuple[float, float, float]:
        """Constants k [Pa], c1 and c2 [Pa s] in tension: what an edge is made of."""
        return self.spring.young, self.voigt_dashpot.young, self.series_dashpot.young

    def channel(self, modulus: Modulus) -> NoReturn:
        """Refuse: no relaxation function describes the law."""
        raise RheotwinError(
            f"law {self.name}: its {modulus} stress is not linear in the history of strain, so it has no relaxation "
            "function: use the truss solver, or leave out what makes the law nonlinear"
        )
