"""Generalized laws of a scene file: any number of springs and dashpots, in a row or side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import SceneModel
from rheotwin.scene.moduli import (
    DashpotPart,
    PoissonRatio,
    SpringModuli,
    SpringPart,
    acts,
    check_pair,
    dashpot_moduli,
    make_moduli,
    need_poisson,
    poisson_of,
    spring_moduli,
)

if TYPE_CHECKING:
    from rheotwin.materials import GeneralizedMaxwell, GeneralizedVoigt, Moduli


class UnitSpec(SpringModuli):
    """One spring with one dashpot, a member of a generalized law; what is left out is absent."""

    viscosity: DashpotPart = 0.0
    """Viscosity of the unit's dashpot: a number, or a table of two constants."""

    @model_validator(mode="after")
    def _constants(self) -> UnitSpec:
        check_pair(self, young_alone=True, optional=True)
        return self

    def has_spring(self) -> bool:
        """Tell whether the unit's spring has any stiffness."""
        return acts(self)

    def has_dashpot(self) -> bool:
        """Tell whether the unit's dashpot has any resistance."""
        return acts(self.viscosity)


def _unit_viscous_poisson(unit: UnitSpec, law: GeneralizedVoigtSpec | GeneralizedMaxwellSpec) -> float | None:
    """Return the Poisson ratio of a unit's dashpot: the law's viscous one, the unit's own or the law's."""
    own = poisson_of(unit)
    if law.viscous_poisson is not None:
        return law.viscous_poisson
    return own if own is not None else law.poisson


def _check_units(law: GeneralizedVoigtSpec | GeneralizedMaxwellSpec) -> None:
    """Refuse units whose Poisson ratio nobody names."""
    for index, unit in enumerate(law.units):
        remedy = f"`poisson` in the law or in units.{index}"
        if unit.young and unit.poisson is None and law.poisson is None:
            raise PydanticCustomError("poisson", f"a Poisson ratio is missing: give {remedy}")
        need_poisson(unit.viscosity, _unit_viscous_poisson(unit, law), remedy)


def _unit_moduli(
    law: GeneralizedVoigtSpec | GeneralizedMaxwellSpec,
) -> tuple[tuple[Moduli, ...], tuple[Moduli, ...]]:
    """Return the springs [Pa] and the dashpots [Pa s] of all units."""
    springs = tuple(make_moduli(unit, law.poisson) for unit in law.units)
    dashpots = tuple(dashpot_moduli(unit.viscosity, _unit_viscous_poisson(unit, law)) for unit in law.units)
    return springs, dashpots


class GeneralizedVoigtSpec(SceneModel):
    """Voigt units in a row; a unit without spring is a free dashpot, one without dashpot a free spring."""

    model: Literal["generalized-voigt"]
    """Kind of law."""
    units: Annotated[tuple[UnitSpec, ...], Field(min_length=1)]
    """The units, one table each."""
    poisson: PoissonRatio | None = None
    """Poisson's ratio of every part that names none."""
    viscous_poisson: PoissonRatio | None = None
    """Poisson's ratio of every viscosity given as a number; default: that of its unit's spring."""

    @model_validator(mode="after")
    def _complete(self) -> GeneralizedVoigtSpec:
        _check_units(self)
        for index, unit in enumerate(self.units):
            if not unit.has_spring() and not unit.has_dashpot():
                raise PydanticCustomError("unit", f"units.{index} has neither stiffness nor viscosity; give one")
        return self

    def law(self) -> GeneralizedVoigt:
        """Return the material law."""
        from rheotwin.materials import GeneralizedVoigt

        return GeneralizedVoigt(*_unit_moduli(self))


class GeneralizedMaxwellSpec(SceneModel):
    """Maxwell arms side by side, optionally with a spring and a dashpot beside them (Prony series)."""

    model: Literal["generalized-maxwell"]
    """Kind of law."""
    units: Annotated[tuple[UnitSpec, ...], Field(min_length=1)]
    """The arms, one table each: a spring in series with a dashpot."""
    equilibrium: SpringPart | None = None
    """Spring beside the arms: Young's modulus, or a table of two constants."""
    viscosity: DashpotPart | None = None
    """Dashpot beside the arms: a viscosity, or a table of two constants."""
    poisson: PoissonRatio | None = None
    """Poisson's ratio of every part that names none."""
    viscous_poisson: PoissonRatio | None = None
    """Poisson's ratio of every viscosity given as a number; default: that of its arm's spring."""

    @model_validator(mode="after")
    def _complete(self) -> GeneralizedMaxwellSpec:
        _check_units(self)
        for index, unit in enumerate(self.units):
            if not unit.has_spring() or not unit.has_dashpot():
                raise PydanticCustomError("unit", f"units.{index} needs a stiffness and a viscosity greater than 0")
        if self.equilibrium is not None:
            need_poisson(self.equilibrium, self.poisson, "`poisson`")
        if self.viscosity is not None:
            need_poisson(self.viscosity, self._beside_poisson(), "`viscous_poisson` or `poisson`")
        return self

    def _beside_poisson(self) -> float | None:
        return self.viscous_poisson if self.viscous_poisson is not None else self.poisson

    def law(self) -> GeneralizedMaxwell:
        """Return the material law."""
        from rheotwin.materials import GeneralizedMaxwell

        springs, dashpots = _unit_moduli(self)
        equilibrium = None if self.equilibrium is None else spring_moduli(self.equilibrium, self.poisson)
        beside = None if self.viscosity is None else dashpot_moduli(self.viscosity, self._beside_poisson())
        return GeneralizedMaxwell(springs, dashpots, equilibrium=equilibrium, dashpot=beside)
