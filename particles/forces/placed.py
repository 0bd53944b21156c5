"""Forces on particles that lie elsewhere in memory than in the problem: the same arrays with other particle numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.forces.nonlinear_edges import NonlinearEdges

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


PLACEABLE = frozenset(
    {"edges", "nonlinear", "cells", "halves", "element_pressure", "global_pressure", "topology", "ties"}
)
"""Kinds of force that can act on particles elsewhere."""


def placed_forces(forces: Forces, places: Indices, size: int) -> Forces:
    """Return the forces in PLACEABLE for particles at `places` (N,) of `size`; what they look up is their own."""

    def moved(kind: Any, *names: str) -> Any:
        return kind._replace(**{name: np.ascontiguousarray(places[getattr(kind, name)]) for name in names})

    topology = moved(forces.topology, "vertex", "feature")
    return forces._replace(
        edges=moved(forces.edges, "corners"),
        nonlinear=NonlinearEdges(*(moved(edges, "corners") for edges in forces.nonlinear)),
        cells=moved(forces.cells, "corners"),
        halves=moved(forces.halves, "corners"),
        element_pressure=moved(forces.element_pressure, "corners"),
        global_pressure=moved(forces.global_pressure, "nodes"),
        topology=topology._replace(
            seen=np.full((size, 3), np.nan), near=np.zeros_like(topology.near), near_count=np.zeros(1, np.int64)
        ),
        ties=moved(forces.ties, "particle", "ends"),
    )
