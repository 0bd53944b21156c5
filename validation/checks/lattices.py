"""How many edges a box has as a truss of tetrahedra (R1)."""

from __future__ import annotations

from rheotwin.meshing import BoxShape, make_shape, truss_edges
from rheotwin.validation.checks.check import Measurement, check

BOXES = ((7, 7, 6), (9, 8, 8), (4, 4, 4), (6, 5, 5), (15, 15, 16))
"""Particles along each axis."""


def edges(boxes: tuple[tuple[int, int, int], ...], pattern: str | None) -> Measurement:
    """Count the edges of boxes whose cubes are split by a pattern, by default into five tetrahedra."""
    found = {}
    for particles in boxes:
        cells = (particles[0] - 1, particles[1] - 1, particles[2] - 1)
        mesh = make_shape(BoxShape((1.0, 1.0, 1.0), cells, **({} if pattern is None else {"pattern": pattern})))
        found["x".join(map(str, particles))] = float(len(truss_edges(mesh)))
    return Measurement(found)


CHECKS = (
    check("truss.R1", lambda: edges(BOXES, None), name="edges-of-boxes", quick=True, solvers=("truss",)),
    check(
        "truss.R1.split", lambda: edges(BOXES[2:3], "six"), name="edges-of-a-box-in-six", quick=True, solvers=("truss",)
    ),
)
