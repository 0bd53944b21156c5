"""Units of an experiment record: names at the edge of its files, SI inside."""

from __future__ import annotations

from typing import Literal

from rheotwin.scene.base import SceneModel
from rheotwin.scene.quantities import SI_VALUE

GRAVITY = 9.80665
"""What a gram or kilogram weighs where forces are given in gf or kgf [m/s2]."""
_FORCES = {"gf": 1e-3 * GRAVITY, "kgf": GRAVITY}
VIRTUAL = 2.0
"""Real lengths over those of the calibration papers' half-scale body (calibration spec, 1)."""


class RecordUnits(SceneModel):
    """How the numbers of a record are meant; after reading everything is SI and real scale."""

    length: Literal["m", "cm", "mm", "um", "in"] = "m"
    """Unit of lengths; volumes are its cube."""
    force: Literal["N", "mN", "kN", "gf", "kgf"] = "N"
    """Unit of forces; moments are force times length."""
    time: Literal["s", "ms", "min", "h"] = "s"
    """Unit of times."""
    mass: Literal["kg", "g", "mg", "t"] = "kg"
    """Unit of masses."""
    angle: Literal["rad", "deg"] = "rad"
    """Unit of the punch's rotations."""
    scale: Literal["real", "virtual"] = "real"
    """Lengths as measured, or of a half-scale body."""

    def name(self, kind: str) -> str:
        """Return how a column of this kind is written in a header: "cm", "gf cm", "cm3", "1"."""
        length = str(self.length)
        return {"moment": f"{self.force} {length}", "volume": f"{length}3", "number": "1"}.get(kind) or str(
            getattr(self, kind)
        )

    def factor(self, kind: str) -> float:
        """Return what a number of this kind is multiplied by to become SI and real scale."""
        length = SI_VALUE[self.length] * (VIRTUAL if self.scale == "virtual" else 1.0)
        force = _FORCES.get(self.force) or SI_VALUE[self.force]
        derived = {"length": length, "force": force, "moment": force * length, "volume": length**3, "number": 1.0}
        return derived[kind] if kind in derived else SI_VALUE[getattr(self, kind)]
