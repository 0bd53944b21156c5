"""Springs, dashpots, sliders and softening as written in a scene file, and what they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Number, SceneModel
from rheotwin.scene.quantities import Modulus, NotNegativeModulus, NotNegativeViscosity, Positive, Viscosity
from rheotwin.scene.units import Quantity

if TYPE_CHECKING:
    from rheotwin.materials import Moduli, Slider, Softening

PAIRS = (("young", "poisson"), ("lame", "shear"), ("bulk", "shear"))
CONSTANTS = ("young", "poisson", "lame", "shear", "bulk")


def _possible(poisson: float) -> float:
    """Return a Poisson ratio an isotropic law can have."""
    if not -1.0 < poisson <= 0.5:
        raise PydanticCustomError(
            "poisson",
            "{poisson} is not possible: allowed is more than -1 and at most 0.5, which keeps the volume",
            {"poisson": poisson},
        )
    return poisson


PoissonRatio = Annotated[Number, AfterValidator(_possible)]


def check_pair(part: SpringModuli | DashpotTable, *, young_alone: bool, optional: bool = False) -> None:
    """Refuse anything but one pair of constants that describe a stable isotropic body.

    `young_alone`: the Poisson ratio may come from elsewhere; `optional`: no constants at all is fine.
    """
    given = tuple(name for name in CONSTANTS if getattr(part, name) is not None)
    alone = young_alone and given in (("young",), ("poisson",) if optional else ("young",))
    if not (set(given) in [set(pair) for pair in PAIRS] or alone or (optional and not given)):
        pairs = "young and poisson, or lame and shear, or bulk and shear"
        shown = ", ".join(given) if given else "none"
        raise PydanticCustomError("pair", "needs exactly one pair of constants: " + pairs + f" (given: {shown})")
    if part.lame is not None and part.lame + 2.0 / 3.0 * (part.shear or 0.0) < 0.0:
        raise PydanticCustomError("pair", "lame + 2/3 shear is the bulk constant and must not be negative")


def make_moduli(part: float | SpringModuli | DashpotTable, default_poisson: float | None) -> Moduli:
    """Return the isotropic constants of a part [Pa or Pa s], a number being Young's; one without constants is zero.

    `default_poisson` serves where the part names none.
    """
    from rheotwin.materials import Moduli

    if isinstance(part, float):
        return Moduli.from_young(part, default_poisson or 0.0)
    if part.lame is not None:
        return Moduli.from_lame(part.lame, part.shear or 0.0)
    if part.bulk is not None:
        return Moduli.from_bulk(part.bulk, part.shear or 0.0)
    poisson = part.poisson if part.poisson is not None else default_poisson
    return Moduli.from_young(part.young or 0.0, 0.0 if poisson is None else poisson)


def poisson_of(part: SpringModuli | DashpotTable) -> float | None:
    """Return the Poisson ratio of a part: given, or (3 K - 2 G) / (2 (3 K + G)); none without shear."""
    if part.poisson is not None:
        return float(part.poisson)
    if not part.shear:
        return None
    bulk = part.bulk if part.bulk is not None else (part.lame or 0.0) + 2.0 / 3.0 * part.shear
    return float((3.0 * bulk - 2.0 * part.shear) / (2.0 * (3.0 * bulk + part.shear)))


class SpringModuli(SceneModel):
    """Elastic constants: exactly one pair out of (young, poisson), (lame, shear), (bulk, shear)."""

    young: NotNegativeModulus | None = None
    """Young's modulus E."""
    poisson: PoissonRatio | None = None
    """Poisson's ratio, more than -1 and at most 0.5 (constant volume; not every solver)."""
    lame: Modulus | None = None
    """Lame's first constant lambda."""
    shear: NotNegativeModulus | None = None
    """Shear modulus mu (the second Lame constant)."""
    bulk: NotNegativeModulus | None = None
    """Bulk modulus K = lame + 2/3 shear."""


class SpringTable(SpringModuli):
    """A spring written as a table; a Poisson ratio left out comes from the law."""

    @model_validator(mode="after")
    def _one_pair(self) -> SpringTable:
        check_pair(self, young_alone=True)
        return self


class DashpotTable(SceneModel):
    """Viscous constants written as a table: one pair, as for a spring; `poisson` may come from the law."""

    young: NotNegativeViscosity | None = None
    """Viscosity in tension (the viscous counterpart of Young's modulus)."""
    poisson: PoissonRatio | None = None
    """Viscous Poisson ratio, more than -1 and at most 0.5 (constant volume; not every solver)."""
    lame: Viscosity | None = None
    """Viscous counterpart of Lame's first constant."""
    shear: NotNegativeViscosity | None = None
    """Shear viscosity."""
    bulk: NotNegativeViscosity | None = None
    """Bulk viscosity."""

    @model_validator(mode="after")
    def _one_pair(self) -> DashpotTable:
        check_pair(self, young_alone=True)
        return self


def number_or_table(value: Any) -> str:
    """Tell the two ways of writing a part apart."""
    return "table" if isinstance(value, dict | SceneModel) else "number"


def acts(part: float | DashpotTable | SpringModuli) -> bool:
    """Tell whether a part has any stiffness or resistance at all."""
    return part > 0.0 if isinstance(part, float) else any((part.young, part.shear, part.bulk, part.lame))


def _must_act(part: float | DashpotTable) -> float | DashpotTable:
    """Refuse a part that could not carry any force."""
    if not acts(part):
        raise PydanticCustomError("acts", "must be greater than 0 (a part without any resistance carries no force)")
    return part


DashpotPart = Annotated[
    Annotated[NotNegativeViscosity, Tag("number")] | Annotated[DashpotTable, Tag("table")],
    Discriminator(number_or_table),
]
"""A viscosity: a number (in tension; with the law's `viscous_poisson`) or a table of constants."""
ActingDashpotPart = Annotated[DashpotPart, AfterValidator(_must_act)]
SpringPart = Annotated[
    Annotated[NotNegativeModulus, Tag("number")] | Annotated[SpringTable, Tag("table")], Discriminator(number_or_table)
]
"""A stiffness: a number (Young's modulus; with the law's `poisson`) or a table of constants."""


def need_poisson(part: float | DashpotTable | SpringTable, poisson: float | None, remedy: str) -> None:
    """Refuse a part in terms of Young's modulus whose Poisson ratio nobody names."""
    young_alone = part.young is not None and part.poisson is None if not isinstance(part, float) else part != 0.0
    if young_alone and poisson is None:
        raise PydanticCustomError("poisson", f"a Poisson ratio is missing: give {remedy}")


Share = Annotated[Number, Field(ge=0, le=1)]
PositiveShare = Annotated[Number, Field(gt=0, le=1)]


class SliderTable(SceneModel):
    """Bounds of the share of an edge's length that its Voigt part has; beyond them the series dashpot is locked."""

    natural: PositiveShare = 0.5
    """Share of the Voigt part at rest."""
    least: Share = 0.0
    """Smallest share: bounds how far the edge flows when pulled."""
    most: Share = 1.0
    """Largest share: bounds how far the edge flows when pressed; least = most = 1 leaves the Voigt unit alone."""

    @model_validator(mode="after")
    def _in_order(self) -> SliderTable:
        bounds = {"least": self.least, "natural": self.natural, "most": self.most}
        if self.least > self.most:
            raise PydanticCustomError("slider", "`least` {least} is above `most` {most}: exchange the bounds", bounds)
        if not self.least <= self.natural <= self.most:
            raise PydanticCustomError(
                "slider", "`natural` {natural} is outside the bounds {least} to {most}: choose it between them", bounds
            )
        return self

    def slider(self) -> Slider:
        """Return the slider."""
        from rheotwin.materials import Slider

        return Slider(self.natural, self.least, self.most)


class SofteningTable(SceneModel):
    """How the series dashpot gives way: its viscosity falls exponentially between two stresses."""

    viscosity: Annotated[Positive, Quantity("Pa s")]
    """Viscosity in tension at and above `to_stress`; at most that of the dashpot."""
    from_stress: NotNegativeModulus
    """Stress up to which the dashpot keeps its viscosity."""
    to_stress: NotNegativeModulus
    """Stress from which it has the smaller one; greater than `from_stress`."""

    @model_validator(mode="after")
    def _in_order(self) -> SofteningTable:
        if self.from_stress >= self.to_stress:
            raise PydanticCustomError(
                "softening",
                "`to_stress` {to} must be greater than `from_stress` {start}",
                {"to": self.to_stress, "start": self.from_stress},
            )
        return self

    def softening(self) -> Softening:
        """Return the softening."""
        from rheotwin.materials import Softening

        return Softening(self.viscosity, self.from_stress, self.to_stress)
