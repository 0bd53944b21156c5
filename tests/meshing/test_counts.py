"""Edge totals of the particle specification (R1) and the formulas behind them."""

from __future__ import annotations

import pytest

from rheotwin.meshing import BoxShape, lattice_edges, make_shape, truss_edges

# particles per axis and truss edges printed in the papers
TOTALS = {(7, 7, 6): 1385, (9, 8, 8): 2857, (4, 4, 4): 252, (6, 5, 5): 661, (15, 15, 16): 19531}


@pytest.mark.parametrize(("particles", "total"), TOTALS.items())
def test_edge_and_tet_totals(particles: tuple[int, int, int], total: int) -> None:
    nx, ny, nz = particles
    cells = (nx - 1, ny - 1, nz - 1)
    axis = (nx - 1) * ny * nz + nx * (ny - 1) * nz + nx * ny * (nz - 1)
    faces = (nx - 1) * (ny - 1) * nz + (nx - 1) * ny * (nz - 1) + nx * (ny - 1) * (nz - 1)
    cubes = cells[0] * cells[1] * cells[2]
    five = make_shape(BoxShape((1.0, 1.0, 1.0), cells))
    assert five.t.shape[1] == 5 * cubes
    assert len(truss_edges(five)) == axis + faces == total
    six = make_shape(BoxShape((1.0, 1.0, 1.0), cells, pattern="six"))
    assert six.t.shape[1] == 6 * cubes
    assert len(truss_edges(six)) == total + cubes
    bricks = make_shape(BoxShape((1.0, 1.0, 1.0), cells, cell="hex"))
    assert len(lattice_edges(bricks)) == axis + 2 * faces + 4 * cubes
