"""Solid cylinders along z, the centre of the base at the origin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rheotwin.meshing.butterfly import extruded, unit_ball
from rheotwin.meshing.cells import Mesh


def cylinder(*, radius: float, height: float, cells: tuple[int, int], cell: str = "tet") -> Mesh:
    """Return a cylinder of `radius` [m] and `height` [m], of cell "tet" or "hex".

    `cells` are the numbers across the diameter and along the axis.
    """
    across, along = cells
    disc = unit_ball(across, 2)
    base = replace(disc, points=radius * disc.points)
    return extruded(base, np.linspace(0.0, height, along + 1)).mesh(cell)
