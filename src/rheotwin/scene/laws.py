"""Material laws of a scene file: springs and dashpots in numbers, and the laws they stand for."""

from __future__ import annotations

import warnings
from importlib.metadata import entry_points
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Name, Number, SceneModel
from rheotwin.scene.generalized_laws import GeneralizedMaxwellSpec, GeneralizedVoigtSpec
from rheotwin.scene.moduli import (
    ActingDashpotPart,
    DashpotPart,
    DashpotTable,
    PoissonRatio,
    SliderTable,
    SofteningTable,
    SpringModuli,
    acts,
    check_pair,
    dashpot_moduli,
    make_moduli,
    need_poisson,
    poisson_of,
)
from rheotwin.scene.quantities import NotNegativeModulus, Quantity

if TYPE_CHECKING:
    from rheotwin.materials import Elastic, Law, Maxwell, Moduli, SliderThreeElement, Tabulated, Voigt


def _check_spring(law: SpringModuli, *, may_vanish: bool) -> None:
    """Check the constants of a law's own spring, which may be absent only beside a dashpot."""
    check_pair(law, young_alone=False)
    if not may_vanish and not acts(law):
        raise PydanticCustomError("stiffness", "needs a stiffness greater than 0")


class ElasticSpec(SpringModuli):
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


class _SpringAndDashpot(SpringModuli):
    """A spring and one dashpot; how they are connected is up to the law."""

    viscous_poisson: PoissonRatio | None = None
    """Poisson's ratio of a viscosity given as a number; default: that of the spring."""

    def _parts(self, viscosity: float | DashpotTable) -> tuple[Moduli, Moduli]:
        return make_moduli(self, None), dashpot_moduli(viscosity, self._viscous_poisson())

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
    """Bounds of the spring's share of an edge's length, within which the dashpot acts (truss only)."""

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
    """Bounds of the Voigt unit's share of an edge's length, within which the series dashpot acts (truss only)."""
    softening: SofteningTable | None = None
    """How the series dashpot gives way to force: holds its shape under its weight, flows under load (not fem)."""
    friction: NotNegativeModulus | None = None
    """Stress up to which friction locks the series dashpot (truss only)."""

    @model_validator(mode="after")
    def _complete(self) -> ThreeElementSpec:
        _check_spring(self, may_vanish=True)
        for part in (self.voigt_viscosity, self.series_viscosity):
            need_poisson(part, self._viscous_poisson(), "`viscous_poisson`")
        if not acts(self.voigt_viscosity) and (self.softening is not None or not acts(self)):
            raise PydanticCustomError("acts", "`voigt_viscosity` must be greater than 0 beside no spring or softening")
        if self.softening is not None:
            most = dashpot_moduli(self.series_viscosity, self._viscous_poisson()).young
            _check_softening(self.softening.viscosity, most)
        _check_alone(self)
        return self

    def law(self) -> Law:
        """Return the material law."""
        from rheotwin import materials

        spring, voigt_dashpot = self._parts(self.voigt_viscosity)
        series_dashpot = dashpot_moduli(self.series_viscosity, self._viscous_poisson())
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


class TabulatedSpec(SceneModel):
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

        return Tabulated(self.strain, self.stress, self.poisson, dashpot_moduli(self.viscosity, self.poisson))


BUILT_IN = (
    ElasticSpec,
    VoigtSpec,
    MaxwellSpec,
    ThreeElementSpec,
    GeneralizedVoigtSpec,
    GeneralizedMaxwellSpec,
    TabulatedSpec,
)
GROUP = "rheotwin.laws"
"""Entry points of laws from outside: classes like those above, whose `law()` has the `Law` protocol."""


def _model_of(spec: Any) -> str:
    """Return the word that a law's table gives as its `model`."""
    (word,) = get_args(spec.model_fields["model"].annotation)
    return str(word)


def _laws_from_outside() -> list[Any]:
    """Return the laws that installed packages announce; one that cannot be used is a warning."""
    found, known = [], {_model_of(spec) for spec in BUILT_IN}
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
    _AnyLaw = (
        ElasticSpec
        | VoigtSpec
        | MaxwellSpec
        | ThreeElementSpec
        | GeneralizedVoigtSpec
        | GeneralizedMaxwellSpec
        | TabulatedSpec
    )
else:
    _AnyLaw = Union[(*BUILT_IN, *_laws_from_outside())]
LawSpec = Annotated[_AnyLaw, Field(discriminator="model")]


class CaseSpec(SceneModel):
    """Which law each body has in this variant; bodies not named keep theirs."""

    laws: dict[Name, Name] = Field(default_factory=dict)
    """Name of a body -> name of its law."""
    description: str = ""
    """One sentence for reports."""
