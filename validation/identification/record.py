"""Records of a test piece, in SI: displacement and force over time, or storage and loss modulus over frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rheotwin.arrays import Array, Flags

Drive = Literal["displacement", "force", "free"]
"""What is prescribed: the displacement, the force, or nothing (an end that was let go)."""


@dataclass(frozen=True)
class Geometry:
    """What turns a stiffness k [N/m] into a modulus [Pa]: E = k length/area of a bar, G likewise of a sheared layer.

    `length` [m] is the thickness of a layer. Strain and stress need none: both are 1.
    """

    kind: Literal["none", "bar", "layer", "strain", "shear-strain"] = "none"
    length: float = 1.0
    area: float = 1.0

    @property
    def factor(self) -> float:
        """Modulus over stiffness [1/m]."""
        return self.length / self.area

    @property
    def modulus(self) -> Literal["young", "shear"]:
        """Which modulus it is; without a geometry that of a bar of 1 m and 1 m2."""
        return "shear" if self.kind in ("layer", "shear-strain") else "young"

    @property
    def units(self) -> tuple[str, str]:
        """Units of displacement and force."""
        return ("1", "Pa") if self.kind in ("strain", "shear-strain") else ("m", "N")


@dataclass(frozen=True)
class Phase:
    """Samples up to `end` (not included), throughout which one thing is prescribed.

    It begins in the state that the former one has reached at its last sample.
    """

    drive: Drive
    end: int


@dataclass(frozen=True)
class TimeRecord:
    """Displacement (F,) [m, or strain] and force (F,) [N, or stress in Pa] at rising `time` (F,) [s].

    Both have one sign (tension, or pressing). In a phase of prescribed displacement the force is what was observed, in
    the others the displacement. `mass` [kg] is that of an end that is let go. `sigma` are standard deviations of force
    and displacement where they are known. A first sample that is not at rest is a sudden step.
    """

    name: str
    time: Array
    displacement: Array
    force: Array
    phases: tuple[Phase, ...]
    geometry: Geometry = Geometry()
    mass: float = 0.0
    sigma: tuple[float | None, float | None] = (None, None)
    source: str = ""

    @classmethod
    def driven(
        cls, time: Array, displacement: Array, force: Array, drive: Drive = "displacement", name: str = "record"
    ) -> TimeRecord:
        """Return a record of one phase."""
        return cls(name, time, displacement, force, (Phase(drive, len(time)),))

    @property
    def observed_force(self) -> Flags:
        """Mask (F,) of samples at which the force was observed, not the displacement."""
        seen = np.zeros(len(self.time), dtype=bool)
        start = 0
        for phase in self.phases:
            seen[start : phase.end] = phase.drive == "displacement"
            start = phase.end
        return seen

    @property
    def observed(self) -> Array:
        """What was observed at each sample (F,) [N or m]."""
        return np.where(self.observed_force, self.force, self.displacement)

    @property
    def scale(self) -> tuple[float, float]:
        """Peaks of force and displacement."""
        return float(np.abs(self.force).max()), float(np.abs(self.displacement).max())


@dataclass(frozen=True)
class OscillationRecord:
    """Storage and loss modulus (F,) [Pa] at angular `frequency` (F,) [rad/s] and `temperature` (F,) [Celsius].

    `modulus` says which one. `sigma` is the relative standard deviation of both where it is known.
    """

    name: str
    frequency: Array
    storage: Array
    loss: Array
    temperature: Array | None = None
    modulus: Literal["young", "shear"] = "young"
    sigma: float | None = None
    source: str = ""
