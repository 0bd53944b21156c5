"""Balls and discs centred at the origin."""

from __future__ import annotations

from dataclasses import replace

from rheotwin.meshing.butterfly import unit_ball
from rheotwin.meshing.cells import Mesh


def ball(*, radius: float, cells: int, cell: str = "tet") -> Mesh:
    """Return a ball of `radius` [m] with `cells` across its diameter, of cell "tet" or "hex"."""
    grid = unit_ball(cells, 3)
    return replace(grid, points=radius * grid.points).mesh(cell)


def disc(*, radius: float, cells: int, cell: str = "triangle") -> Mesh:
    """Return a disc of `radius` [m] with `cells` across its diameter, of cell "triangle" or "quad"."""
    grid = unit_ball(cells, 2)
    return replace(grid, points=radius * grid.points).mesh(cell)
