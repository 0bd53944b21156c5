"""A spring that follows a table of stress over strain, with a dashpot beside it: a law of edges."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NoReturn

from rheotwin.errors import RheotwinError
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class Tabulated:
    """Stress [Pa] in tension at strains l/l0 - 1, straight in between and beyond; a dashpot [Pa s] beside it."""

    name: ClassVar[str] = "tabulated"
    strain: tuple[float, ...]
    stress: tuple[float, ...]
    poisson: float
    viscosity: Moduli

    @property
    def slopes(self) -> tuple[float, ...]:
        """Slope [Pa] of every interval."""
        points = zip(self.strain, self.stress, strict=True)
        return tuple((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points))

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """The spring where it is stiffest, and the dashpot."""
        return (Moduli.from_young(max(self.slopes), self.poisson), self.viscosity)

    def channel(self, modulus: Modulus) -> NoReturn:
        """Refuse: no relaxation function describes the law."""
        raise RheotwinError(
            f"law {self.name}: its {modulus} stress is not linear in strain, so it has no relaxation function: use the "
            "truss solver, or an elastic law with the slope at rest"
        )
