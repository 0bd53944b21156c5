"""What makes a series dashpot nonlinear: a slider that bounds it, softening under force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Number, SceneModel
from rheotwin.scene.quantities import NotNegativeModulus, Positive
from rheotwin.scene.units import Quantity

if TYPE_CHECKING:
    from rheotwin.materials import Slider, Softening

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
                "slider",
                "`natural` {natural} is outside the bounds {least} to {most}: choose it between them",
                bounds,
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
