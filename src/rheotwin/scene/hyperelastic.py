"""Tables of laws with an energy of large strain: neo-Hooke, Mooney-Rivlin, Yeoh, Ogden."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.errors import RheotwinError
from rheotwin.scene.base import Number, SceneModel
from rheotwin.scene.moduli import PoissonRatio
from rheotwin.scene.quantities import Modulus, NotNegativeModulus, PositiveTime

if TYPE_CHECKING:
    from rheotwin.materials.hyperelastic import Hyperelastic

Share = Annotated[Number, Field(gt=0.0, le=1.0)]


class RelaxationSpec(SceneModel):
    """A share of the isochoric stress that relaxes."""

    share: Share
    """Share of the stress at once."""
    time: PositiveTime
    """Relaxation time."""


class OgdenTerm(SceneModel):
    """One term 2 mu/a^2 (l1^a + l2^a + l3^a - 3)."""

    shear: Modulus
    """Its shear modulus mu at rest; the sum of all must be positive."""
    exponent: Number
    """Its exponent a, not 0."""


class HyperelasticSpec(SceneModel):
    """What energies of large strain have in common: the volume, and what relaxes of the rest."""

    law_class: ClassVar[str]
    bulk: NotNegativeModulus | None = None
    """Bulk modulus K of K (J - 1)^2/2; give it or `poisson`."""
    poisson: PoissonRatio | None = None
    """Poisson's ratio at small strain instead; 0.5 keeps the volume."""
    relaxation: tuple[RelaxationSpec, ...] = ()
    """Shares of the isochoric stress that relax (Prony series)."""
    uncertainty: Annotated[Number, Field(ge=0.0, lt=1.0)] | None = None
    """Half the 95 % interval of all its moduli together, as a share of them; verdicts read it."""

    def coefficients(self) -> tuple[float, float, float, float]:
        """Return c10, c01, c20, c30 [Pa]."""
        return (0.0, 0.0, 0.0, 0.0)

    def principal(self) -> tuple[tuple[float, float], ...]:
        """Return the shear moduli [Pa] and exponents of terms in principal stretches."""
        return ()

    @model_validator(mode="after")
    def _holds(self) -> HyperelasticSpec:
        if (self.bulk is None) == (self.poisson is None):
            raise PydanticCustomError("volume", "give either `bulk` or `poisson`")
        try:
            self.law()
        except RheotwinError as error:
            raise PydanticCustomError("energy", "{error}", {"error": str(error)}) from None
        return self

    def law(self) -> Hyperelastic:
        """Return the material law."""
        from rheotwin.materials import hyperelastic

        terms = self.coefficients(), self.principal()
        shear, bulk = 2.0 * sum(terms[0][:2]) + sum(modulus for modulus, _ in terms[1]), self.bulk
        if bulk is None:
            nu = self.poisson or 0.0
            bulk = math.inf if nu == 0.5 else 2.0 * abs(shear) * (1.0 + nu) / (3.0 * (1.0 - 2.0 * nu))
        found: type[Hyperelastic] = getattr(hyperelastic, self.law_class)
        arms = tuple(arm.share for arm in self.relaxation), tuple(arm.time for arm in self.relaxation)
        return found(*terms, bulk, *arms)


class NeoHookeSpec(HyperelasticSpec):
    """mu/2 (I1 - 3)."""

    law_class: ClassVar[str] = "NeoHooke"
    model: Literal["neo-hooke"]
    """Kind of law."""
    shear: Modulus
    """Shear modulus mu."""

    def coefficients(self) -> tuple[float, float, float, float]:
        """Return mu/2."""
        return (0.5 * self.shear, 0.0, 0.0, 0.0)


class MooneyRivlinSpec(HyperelasticSpec):
    """c10 (I1 - 3) + c01 (I2 - 3)."""

    law_class: ClassVar[str] = "MooneyRivlin"
    model: Literal["mooney-rivlin"]
    """Kind of law."""
    c10: Modulus
    """Factor of I1 - 3."""
    c01: Modulus
    """Factor of I2 - 3."""

    def coefficients(self) -> tuple[float, float, float, float]:
        """Return both."""
        return (self.c10, self.c01, 0.0, 0.0)


class YeohSpec(HyperelasticSpec):
    """c10 (I1 - 3) + c20 (I1 - 3)^2 + c30 (I1 - 3)^3."""

    law_class: ClassVar[str] = "Yeoh"
    model: Literal["yeoh"]
    """Kind of law."""
    c10: Modulus
    """Factor of I1 - 3."""
    c20: Modulus = 0.0
    """Factor of (I1 - 3)^2."""
    c30: Modulus = 0.0
    """Factor of (I1 - 3)^3."""

    def coefficients(self) -> tuple[float, float, float, float]:
        """Return the three."""
        return (self.c10, 0.0, self.c20, self.c30)


class OgdenSpec(HyperelasticSpec):
    """Sum of 2 mu/a^2 (l1^a + l2^a + l3^a - 3)."""

    law_class: ClassVar[str] = "Ogden"
    model: Literal["ogden"]
    """Kind of law."""
    terms: Annotated[tuple[OgdenTerm, ...], Field(min_length=1)]
    """The terms, one table each."""

    @model_validator(mode="after")
    def _powers(self) -> OgdenSpec:
        if any(term.exponent == 0.0 for term in self.terms):
            raise PydanticCustomError("exponent", "an `exponent` of 0 has no energy: give another one")
        return self

    def principal(self) -> tuple[tuple[float, float], ...]:
        """Return the terms."""
        return tuple((term.shear, term.exponent) for term in self.terms)
