"""A Voigt unit in series with a dashpot that acts only within the bounds of a slider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheotwin.materials.nonlinear_three_element import NonlinearThreeElement
from rheotwin.materials.slider import Slider


@dataclass(frozen=True)
class SliderThreeElement(NonlinearThreeElement):
    """Three-element law whose series dashpot acts within the slider's bounds; without a Voigt dashpot: Maxwell.

    An edge of rest length l0 under a constant tension F ends at (natural l0 + F/k)/least, under a compression at
    (natural l0 - |F|/k)/most.
    """

    name: ClassVar[str] = "three-element with slider"
    slider: Slider
