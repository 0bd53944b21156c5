"""Formulas for the numbers of edges and cells of boxes."""

from __future__ import annotations

import pytest

from rheotwin.meshing import BoxShape, lattice_edges, make_shape, truss_edges
from rheotwin.validation.checks.lattices import BOXES


@pytest.mark.parametrize("particles", BOXES)
def test_edge_and_tet_totals(particles: tuple[int, int, int]) -> None:
    nx, ny, nz = particles
    cells = (nx - 1, ny - 1, nz - 1)
    axis = (nx - 1) * ny * nz + nx * (ny - 1) * nz + nx * ny * (nz - 1)
    faces = (nx - 1) * (ny - 1) * nz + (nx - 1) * ny * (nz - 1) + nx * (ny - 1) * (nz - 1)
    cubes = cells[0] * cells[1] * cells[2]
    five = make_shape(BoxShape((1.0, 1.0, 1.0), cells))
    assert five.t.shape[1] == 5 * cubes
    assert len(truss_edges(five)) == axis + faces
    six = make_shape(BoxShape((1.0, 1.0, 1.0), cells, pattern="six"))
    assert six.t.shape[1] == 6 * cubes
    assert len(truss_edges(six)) == axis + faces + cubes
    bricks = make_shape(BoxShape((1.0, 1.0, 1.0), cells, cell="hex"))
    assert len(lattice_edges(bricks)) == axis + 2 * faces + 4 * cubes
