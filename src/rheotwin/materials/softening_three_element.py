"""A Voigt unit in series with a dashpot that softens under force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheotwin.errors import RheotwinError
from rheotwin.materials.law import require_present
from rheotwin.materials.nonlinear_three_element import NonlinearThreeElement
from rheotwin.materials.slider import Slider
from rheotwin.materials.softening import Softening


@dataclass(frozen=True)
class SofteningThreeElement(NonlinearThreeElement):
    """Three-element law whose series viscosity falls with the stress, with or without a slider.

    Holds its shape under its own weight and flows under larger loads. The Voigt dashpot must not be absent:
    without it the force could jump between two viscosities.
    """

    name: ClassVar[str] = "three-element with softening"
    softening: Softening
    slider: Slider | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_present(self.name, voigt_dashpot=self.voigt_dashpot)
        stiff = self.series_dashpot.young
        if self.softening.viscosity > stiff:
            raise RheotwinError(
                f"law {self.name}: viscosity = {self.softening.viscosity:g} under force is above the series viscosity "
                f"{stiff:g}: a softening dashpot gives way, choose at most that"
            )
