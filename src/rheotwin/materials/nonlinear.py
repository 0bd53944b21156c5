"""Laws that are not linear in the history of strain: sliders, friction, softening, tables of stress over strain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NoReturn

from rheotwin.errors import RheotwinError
from rheotwin.materials.channel import Channel
from rheotwin.materials.linear import ThreeElement, ThreeParts, require_present
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class NonlinearThreeElement(ThreeParts):
    """Voigt unit (spring k [Pa], dashpot c1 [Pa s]) in series with a dashpot c2 [Pa s] that a subclass changes."""

    name: ClassVar[str] = "nonlinear three-element"

    @property
    def edge_constants(self) -> tuple[float, float, float]:
        """Constants k [Pa], c1 and c2 [Pa s] in tension: what an edge is made of."""
        return self.spring.young, self.voigt_dashpot.young, self.series_dashpot.young

    @property
    def volume_channel(self) -> Channel:
        """What volume springs are made of, g(t) = k: flow keeps the volume, and no dashpot slows its change.

        With a dashpot the stable step would fall as the square of a cell's stretch, too short for thin dough.
        """
        return Channel.elastic(self.spring.young)

    def channel(self, modulus: Modulus) -> NoReturn:
        """Refuse: no relaxation function describes the law."""
        raise RheotwinError(
            f"law {self.name}: its {modulus} stress is not linear in the history of strain, so it has no relaxation "
            "function: use the truss solver, or leave out what makes the law nonlinear"
        )


@dataclass(frozen=True)
class Slider:
    """Bounds `least` l <= l_voigt <= `most` l on the Voigt part's share of an element of length l (particles spec 6).

    `natural` is its share at rest. The series dashpot flows only between the bounds; least = most = 1 leaves
    the Voigt unit alone.
    """

    natural: float = 0.5
    least: float = 0.0
    most: float = 1.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.natural, self.least, self.most))):
            raise RheotwinError("slider: a share of the length is not a finite number: give finite values")
        if not 0.0 <= self.least <= self.most <= 1.0:
            raise RheotwinError(
                f"slider: least = {self.least:g} and most = {self.most:g} are no bounds of a share of the length: "
                "choose 0 <= least <= most <= 1"
            )
        if not self.least <= self.natural <= self.most or self.natural == 0.0:
            raise RheotwinError(
                f"slider: natural = {self.natural:g} is not between least = {self.least:g} and most = {self.most:g}: "
                "choose a positive natural share within the bounds"
            )


@dataclass(frozen=True)
class SliderThreeElement(NonlinearThreeElement):
    """Three-element law whose series dashpot acts within the slider's bounds; without a Voigt dashpot: Maxwell.

    An edge of rest length l0 under a constant tension F ends at (natural l0 + F/k)/least, under a compression at
    (natural l0 - |F|/k)/most.
    """

    name: ClassVar[str] = "three-element with slider"
    slider: Slider


@dataclass(frozen=True)
class FrictionThreeElement(NonlinearThreeElement):
    """Three-element law whose series dashpot slides only while the stress exceeds `friction` [Pa].

    Held at a constant strain its stress falls to `friction` and not to zero (identification spec 2.4).
    """

    name: ClassVar[str] = "three-element with friction"
    friction: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.friction < math.inf:
            raise RheotwinError(
                f"law {self.name}: friction = {self.friction:g} is not a finite stress of at least 0: choose one"
            )


@dataclass(frozen=True)
class Softening:
    """Viscosity c2(s) of a series dashpot under the stress s (particles spec 3).

    c2 = c_max for |s| <= `from_stress`, `viscosity` c_min for |s| >= `to_stress` [Pa], and A exp(-B |s|) through
    both ends in between: B = ln(c_max/c_min)/(to - from). c_max is the law's own series viscosity [Pa s].
    """

    viscosity: float
    from_stress: float
    to_stress: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.viscosity, self.from_stress, self.to_stress))):
            raise RheotwinError("softening: a constant is not a finite number: give finite values")
        if self.viscosity <= 0.0:
            raise RheotwinError(f"softening: viscosity = {self.viscosity:g} is not positive: give a positive viscosity")
        if not 0.0 <= self.from_stress < self.to_stress:
            raise RheotwinError(
                f"softening: from_stress = {self.from_stress:g} and to_stress = {self.to_stress:g} are no range: "
                "choose 0 <= from_stress < to_stress"
            )


@dataclass(frozen=True)
class SofteningChannel:
    """Voigt unit (k [Pa], c1 [Pa s]) in series with a dashpot c2(s) [Pa s] for one modulus.

    c2 = `series_viscosity` for |s| <= `from_stress`, `soft_viscosity` for |s| >= `to_stress` [Pa], exponential between.
    s is the stress of that modulus itself: a shear stress for the shear modulus, a pressure for the bulk modulus.
    """

    spring: float
    voigt_viscosity: float
    series_viscosity: float
    soft_viscosity: float
    from_stress: float
    to_stress: float

    @property
    def exponent(self) -> float:
        """B of c2 = c_max exp(-B (|s| - from_stress)) [1/Pa]."""
        return math.log(self.series_viscosity / self.soft_viscosity) / (self.to_stress - self.from_stress)

    @property
    def unsoftened(self) -> Channel:
        """Relaxation function below `from_stress`, where the law is linear."""
        return Channel.three_element(self.spring, self.voigt_viscosity, self.series_viscosity)

    @property
    def tangent(self) -> tuple[float, float]:
        """Largest stiffness k B^2 [Pa] and viscosity c1 B [Pa s], B = c_max/(c1 + c_max), that it can show.

        The stress f of the driving g = k d + c1 g' has df/dg <= B, and with it the Voigt part d' <= B times the rate.
        """
        gain = self.series_viscosity / (self.voigt_viscosity + self.series_viscosity)
        return self.spring * gain**2, self.voigt_viscosity * gain


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

    @property
    def volume_channel(self) -> Channel:
        """What volume springs are made of, g(t) = E + eta delta(t): E [Pa] is the slope at rest."""
        at_rest = sum(strain <= 0.0 for strain in self.strain[1:-1])
        return Channel.voigt(self.slopes[at_rest], self.viscosity.young)

    def channel(self, modulus: Modulus) -> NoReturn:
        """Refuse: no relaxation function describes the law."""
        raise RheotwinError(
            f"law {self.name}: its {modulus} stress is not linear in strain, so it has no relaxation function: use the "
            "truss solver, or an elastic law with the slope at rest"
        )
