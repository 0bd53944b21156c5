"""Material laws of a scene file: springs and dashpots in numbers, and the laws they stand for."""

from __future__ import annotations

import warnings
from importlib.metadata import entry_points
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from pydantic import Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Line, Name, NameOrPart, Number, SceneModel
from rheotwin.scene.hyperelastic import MooneyRivlinSpec, NeoHookeSpec, OgdenSpec, YeohSpec
from rheotwin.scene.moduli import (
    ActingDashpotPart,
    DashpotPart,
    DashpotTable,
    PoissonRatio,
    SliderTable,
    SofteningTable,
    SpringModuli,
    SpringPart,
    acts,
    check_pair,
    make_moduli,
    need_poisson,
    poisson_of,
)
from rheotwin.scene.quantities import NotNegative, NotNegativeModulus, NotNegativeViscosity, Positive
from rheotwin.scene.units import Quantity

if TYPE_CHECKING:
    from rheotwin.materials import (
        Elastic,
        Elastoplastic,
        GeneralizedMaxwell,
        GeneralizedVoigt,
        Law,
        Maxwell,
        Moduli,
        SliderThreeElement,
        Tabulated,
        Voigt,
    )


def _check_spring(law: SpringModuli, *, may_vanish: bool) -> None:
    """Check the constants of a law's own spring, which may be absent only beside a dashpot."""
    check_pair(law, young_alone=False)
    if not may_vanish and not acts(law):
        raise PydanticCustomError("stiffness", "needs a stiffness greater than 0")


class UncertainLaw(SceneModel):
    """What every law may say of how well it is known."""

    uncertainty: Annotated[Number, Field(ge=0.0, lt=1.0)] | None = None
    """Half the 95 % interval of all its moduli and viscosities together, as a share of them; verdicts read it."""


class ElasticSpec(SpringModuli, UncertainLaw):
    """A spring: stress follows strain."""

    model: Literal["elastic"]
    """Kind of law."""

    @model_validator(mode="after")
    def _complete(self) -> ElasticSpec:
        _check_spring(self, may_vanish=False)
        return self

    def law(self) -> Elastic:
        """Return the material law."""
        from rheotwin.materials import Elastic

        return Elastic(make_moduli(self, None))


class _SpringAndDashpot(SpringModuli, UncertainLaw):
    """A spring and one dashpot; how they are connected is up to the law."""

    viscous_poisson: PoissonRatio | None = None
    """Poisson's ratio of a viscosity given as a number; default: that of the spring."""

    def _parts(self, viscosity: float | DashpotTable) -> tuple[Moduli, Moduli]:
        return make_moduli(self, None), make_moduli(viscosity, self._viscous_poisson())

    def _viscous_poisson(self) -> float | None:
        return self.viscous_poisson if self.viscous_poisson is not None else poisson_of(self)


class VoigtSpec(_SpringAndDashpot):
    """A spring and a dashpot side by side: returns to its shape, with delay."""

    model: Literal["voigt"]
    """Kind of law."""
    viscosity: DashpotPart
    """Viscosity of the dashpot beside the spring: a number, or a table of two constants."""

    @model_validator(mode="after")
    def _complete(self) -> VoigtSpec:
        _check_spring(self, may_vanish=True)
        need_poisson(self.viscosity, self._viscous_poisson(), "`viscous_poisson`")
        return self

    def law(self) -> Voigt:
        """Return the material law."""
        from rheotwin.materials import Voigt

        return Voigt(*self._parts(self.viscosity))


class MaxwellSpec(_SpringAndDashpot):
    """A spring and a dashpot in a row: flows, keeps every deformation that lasted (viscoplastic)."""

    model: Literal["maxwell"]
    """Kind of law."""
    viscosity: ActingDashpotPart
    """Viscosity of the dashpot in series with the spring: a number, or a table of two constants."""
    slider: SliderTable | None = None
    """Bounds of the spring's share of an edge's length, within which the dashpot acts (truss, fem)."""

    @model_validator(mode="after")
    def _complete(self) -> MaxwellSpec:
        _check_spring(self, may_vanish=False)
        need_poisson(self.viscosity, self._viscous_poisson(), "`viscous_poisson`")
        return self

    def law(self) -> Maxwell | SliderThreeElement:
        """Return the material law."""
        from rheotwin.materials import Maxwell, Moduli, SliderThreeElement

        spring, dashpot = self._parts(self.viscosity)
        if self.slider is None:
            return Maxwell(spring, dashpot)
        return SliderThreeElement(spring, Moduli.absent(), dashpot, self.slider.slider())


class ThreeElementSpec(_SpringAndDashpot):
    """A Voigt unit in a row with a dashpot: part of the deformation comes back, part stays (rheological)."""

    model: Literal["three-element"]
    """Kind of law."""
    voigt_viscosity: DashpotPart
    """Viscosity c1 beside the spring: a number, or a table of two constants."""
    series_viscosity: ActingDashpotPart
    """Viscosity c2 in series with the Voigt unit: a number, or a table of two constants."""
    seed_printed: bool = False
    """The relaxing part as the papers print it, a factor 1 + c1/c2 too stiff; for comparisons with their results."""
    slider: SliderTable | None = None
    """Bounds of the Voigt unit's share of an edge's length, within which the series dashpot acts (truss, fem)."""
    softening: SofteningTable | None = None
    """How the series dashpot gives way to force: holds its shape under its weight, flows under load."""
    friction: NotNegativeModulus | None = None
    """Stress up to which friction locks the series dashpot (truss, fem)."""

    @model_validator(mode="after")
    def _complete(self) -> ThreeElementSpec:
        _check_spring(self, may_vanish=True)
        for part in (self.voigt_viscosity, self.series_viscosity):
            need_poisson(part, self._viscous_poisson(), "`viscous_poisson`")
        if not acts(self.voigt_viscosity) and (self.softening is not None or not acts(self)):
            raise PydanticCustomError("acts", "`voigt_viscosity` must be greater than 0 beside no spring or softening")
        if self.softening is not None:
            most = make_moduli(self.series_viscosity, self._viscous_poisson()).young
            _check_softening(self.softening.viscosity, most)
        _check_alone(self)
        return self

    def law(self) -> Law:
        """Return the material law."""
        from rheotwin import materials

        spring, voigt_dashpot = self._parts(self.voigt_viscosity)
        series_dashpot = make_moduli(self.series_viscosity, self._viscous_poisson())
        parts = spring, voigt_dashpot, series_dashpot
        slider = None if self.slider is None else self.slider.slider()
        if self.friction is not None:
            return materials.FrictionThreeElement(*parts, self.friction)
        if self.softening is not None:
            return materials.SofteningThreeElement(*parts, self.softening.softening(), slider)
        if slider is not None:
            return materials.SliderThreeElement(*parts, slider)
        return materials.ThreeElement(*parts, seed_printed=self.seed_printed)


def _check_softening(viscosity: float, most: float) -> None:
    if viscosity > most:
        raise PydanticCustomError(
            "softening",
            "`softening.viscosity` {viscosity} is above the `series_viscosity` of {most} in tension: give at most that",
            {"viscosity": viscosity, "most": most},
        )


def _check_alone(law: ThreeElementSpec) -> None:
    """Refuse two changes of a law that exclude each other."""
    changes = {"friction": law.friction, "softening": law.softening, "slider": law.slider}
    given = ["seed_printed"] * law.seed_printed + [name for name, change in changes.items() if change is not None]
    if len(given) > 1 and given != ["softening", "slider"]:
        raise PydanticCustomError("alone", f"`{given[0]}` and `{given[1]}` exclude each other: leave one out")


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


def _unit_moduli(law: GeneralizedVoigtSpec | GeneralizedMaxwellSpec) -> tuple[tuple[Moduli, ...], tuple[Moduli, ...]]:
    """Return the springs [Pa] and the dashpots [Pa s] of all units."""
    springs = tuple(make_moduli(unit, law.poisson) for unit in law.units)
    dashpots = tuple(make_moduli(unit.viscosity, _unit_viscous_poisson(unit, law)) for unit in law.units)
    return springs, dashpots


class GeneralizedVoigtSpec(UncertainLaw):
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


class GeneralizedMaxwellSpec(UncertainLaw):
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
        equilibrium = None if self.equilibrium is None else make_moduli(self.equilibrium, self.poisson)
        beside = None if self.viscosity is None else make_moduli(self.viscosity, self._beside_poisson())
        return GeneralizedMaxwell(springs, dashpots, equilibrium=equilibrium, dashpot=beside)


class TabulatedSpec(UncertainLaw):
    """A spring that follows a table of stress over strain, with a dashpot beside it (truss only)."""

    model: Literal["tabulated"]
    """Kind of law."""
    strain: Annotated[tuple[Number, ...], Field(min_length=2)]
    """Strains of an edge, l/l0 - 1, increasing; beyond the ends the stress goes on as in the last interval."""
    stress: Annotated[tuple[Annotated[Number, Quantity("Pa")], ...], Field(min_length=2)]
    """Stress in tension at each strain, not decreasing, zero at rest."""
    poisson: PoissonRatio
    """Poisson's ratio to which edges are matched."""
    viscosity: DashpotPart = 0.0
    """Viscosity of the dashpot beside the spring: a number, or a table of two constants."""

    @model_validator(mode="after")
    def _is_a_curve(self) -> TabulatedSpec:
        strain, stress = self.strain, self.stress
        if len(strain) != len(stress):
            counts = {"strains": len(strain), "stresses": len(stress)}
            raise PydanticCustomError("table", "{strains} strains but {stresses} stresses: give one for each", counts)
        if any(b <= a for a, b in pairwise(strain)) or any(b < a for a, b in pairwise(stress)):
            raise PydanticCustomError("table", "`strain` must increase and `stress` must not decrease")
        law = self.law()
        if not max(law.slopes) > 0.0:
            raise PydanticCustomError("stiffness", "needs a stress that rises somewhere")
        first = sum(low <= 0.0 for low in strain[1:-1])
        at_rest = stress[first] - law.slopes[first] * strain[first]
        if abs(at_rest) > 1e-9 * max(map(abs, stress)):
            raise PydanticCustomError("rest", "the stress at rest is {stress} and must be 0", {"stress": at_rest})
        return self

    def law(self) -> Tabulated:
        """Return the material law."""
        from rheotwin.materials import Tabulated

        return Tabulated(self.strain, self.stress, self.poisson, make_moduli(self.viscosity, self.poisson))


class ElastoplasticSpec(SpringModuli, UncertainLaw):
    """A spring that yields, at critical stretches or at a von Mises stress, and hardens (fem)."""

    model: Literal["elastoplastic"]
    """Kind of law."""
    critical_compression: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """How much shorter than at rest the elastic part may get in any direction (share of the length)."""
    critical_stretch: Annotated[Number, Field(gt=0)] | None = None
    """How much longer than at rest the elastic part may get in any direction (share of the length)."""
    hardening: NotNegative | None = None
    """With critical stretches: moduli are exp(hardening (1 - JP)) fold, JP the plastic volume ratio; default 10."""
    yield_stress: Annotated[Positive, Quantity("Pa")] | None = None
    """Von Mises stress at which it begins to flow; instead of critical stretches."""
    hardening_modulus: NotNegativeModulus | None = None
    """Growth of the yield stress per accumulated plastic strain; default 0."""
    viscosity: NotNegativeViscosity = 0.0
    """Stress beyond the limit per rate of plastic strain, in tension (Perzyna); 0 flows at once."""

    @model_validator(mode="after")
    def _complete(self) -> ElastoplasticSpec:
        _check_spring(self, may_vanish=False)
        if self.poisson == 0.5:
            raise PydanticCustomError("poisson", "`poisson` must be less than 0.5: the law needs a bulk modulus")
        stretches = {"critical_compression": self.critical_compression, "critical_stretch": self.critical_stretch}
        given = [name for name, value in stretches.items() if value is not None]
        others = given + (["hardening"] if self.hardening is not None else [])
        if self.yield_stress is not None and others:
            raise PydanticCustomError("alone", f"`yield_stress` and `{others[0]}` exclude each other: leave one out")
        if self.yield_stress is None and self.hardening_modulus is not None:
            raise PydanticCustomError(
                "alone", "`hardening_modulus` belongs to `yield_stress`: give that or leave it out"
            )
        if self.yield_stress is None and len(given) < 2:
            raise PydanticCustomError(
                "limit", "needs a limit: `critical_compression` and `critical_stretch`, or `yield_stress`"
            )
        return self

    def law(self) -> Elastoplastic:
        """Return the material law."""
        from rheotwin import materials

        spring = make_moduli(self, None)
        if self.critical_compression is None or self.critical_stretch is None:
            limit = materials.VonMises(self.yield_stress or 0.0, self.hardening_modulus or 0.0)
            return materials.Elastoplastic(spring, limit, self.viscosity)
        hardening = 10.0 if self.hardening is None else self.hardening
        stretch = materials.CriticalStretch(self.critical_compression, self.critical_stretch, hardening)
        return materials.Elastoplastic(spring, stretch, self.viscosity)


_BuiltIn = (
    ElasticSpec
    | VoigtSpec
    | MaxwellSpec
    | ThreeElementSpec
    | GeneralizedVoigtSpec
    | GeneralizedMaxwellSpec
    | TabulatedSpec
    | ElastoplasticSpec
    | NeoHookeSpec
    | MooneyRivlinSpec
    | YeohSpec
    | OgdenSpec
)
GROUP = "rheotwin.laws"
"""Entry points of laws from outside: classes like those above, whose `law()` has the `Law` protocol."""


def _model_of(spec: Any) -> str:
    """Return the word that a law's table gives as its `model`."""
    (word,) = get_args(spec.model_fields["model"].annotation)
    return str(word)


def _laws_from_outside() -> list[Any]:
    """Return the laws that installed packages announce; one that cannot be used is a warning."""
    found, known = [], {_model_of(spec) for spec in get_args(_BuiltIn)}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            spec = point.load()
            word = _model_of(spec)
            if not issubclass(spec, SceneModel) or not callable(getattr(spec, "law", None)):
                raise TypeError("it is no SceneModel with a method `law`")
            if word in known:
                raise ValueError(f"there is a law {word!r} already")
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"law plug-in '{point.name}' ({point.value}) is ignored: {reason}", stacklevel=2)
            continue
        known.add(word)
        found.append(spec)
    return found


if TYPE_CHECKING:
    _AnyLaw = _BuiltIn
else:
    _AnyLaw = Union[(_BuiltIn, *_laws_from_outside())]
LawSpec = Annotated[_AnyLaw, Field(discriminator="model")]


class CaseSpec(SceneModel):
    """Which law each body has in this variant, and options of solvers; what is not named stays."""

    laws: dict[NameOrPart, Name] = Field(default_factory=dict)
    """Name of a body, or of its part as "block.top" -> name of its law."""
    solvers: dict[Name, dict[str, JsonValue]] = Field(default_factory=dict)
    """Options of solvers that replace those of the scene, by solver name."""
    description: Line = ""
    """One sentence for reports."""
