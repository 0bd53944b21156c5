"""The record of a test of a bar or a layer, from the table that a testing machine wrote."""

from __future__ import annotations

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.validation.experiments.metadata import Punch, Specimen, Uncertainty
from rheotwin.validation.experiments.record import Course, ExperimentRecord
from rheotwin.validation.identification.record import Geometry, OscillationRecord, TimeRecord


def imported(
    test: TimeRecord | OscillationRecord, geometry: Geometry, *, push: bool = False, noise: float | None = None
) -> ExperimentRecord:
    """Return the experiment: a block on a floor whose top plate moves up (`push`: down), of a layer along x.

    The block is as high (z) as the piece is long, its square base has the piece's area. Strain and stress become the
    way x = strain length and the force F = stress area. `noise` is the relative uncertainty of the force.
    """
    if isinstance(test, OscillationRecord):
        raise RheotwinError(
            f"{test.source}: storage and loss over frequency are no experiment on a body; use: rheotwin identify"
        )
    if geometry.kind not in ("bar", "layer"):
        raise RheotwinError("--geometry: an experiment needs a body; write bar,LENGTH,AREA or layer,THICKNESS,AREA")
    specific = test.geometry.units[0] == "1"
    way = test.displacement * (geometry.length if specific else 1.0)
    force = test.force * (geometry.area if specific else 1.0)
    side = float(np.sqrt(geometry.area))
    along = np.zeros(3)
    along[0 if geometry.kind == "layer" else 2] = -1.0 if push else 1.0
    return ExperimentRecord(
        id=test.name,
        kind="measured",
        specimen=Specimen(size=(side, side, geometry.length), up="z", floor="fixed"),
        punch=Punch(shape="plate", footprint=(side, side), contact="stick"),
        path=Course(test.time, np.outer(way, along)),
        force=Course(test.time, np.outer(force, along)),
        uncertainty=Uncertainty(force_rel=noise),
        title=test.name,
        source=test.source,
    )
