"""A Voigt unit in series with a dashpot that softens under force."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from rheotwin.errors import RheotwinError
from rheotwin.materials.law import require_present
from rheotwin.materials.moduli import Modulus
from rheotwin.materials.nonlinear_three_element import NonlinearThreeElement
from rheotwin.materials.slider import Slider
from rheotwin.materials.softening import Softening
from rheotwin.materials.softening_channel import SofteningChannel
from rheotwin.materials.three_element import ThreeElement


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

    @property
    def unsoftened(self) -> ThreeElement:
        """The linear law it is below `from_stress`."""
        return ThreeElement(*self.parts)

    def softening_channel(self, modulus: Modulus) -> SofteningChannel:
        """Springs, dashpots and thresholds of one modulus; the softened dashpot keeps its Poisson ratio.

        The law's thresholds are uniaxial stresses. Those of the shear modulus are the shear stresses with the same
        von Mises stress, 1/sqrt(3) of them; those of other moduli are taken as they are.
        """
        stiff = self.series_dashpot
        share = 1.0 / math.sqrt(3.0) if modulus == "shear" else 1.0
        return SofteningChannel(
            self.spring.value(modulus),
            self.voigt_dashpot.value(modulus),
            stiff.value(modulus),
            stiff.value(modulus) * (self.softening.viscosity / stiff.young),
            self.softening.from_stress * share,
            self.softening.to_stress * share,
        )
