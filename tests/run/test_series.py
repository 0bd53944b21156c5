"""The series as ParaView sees it: opened with pyvista's own readers, checked against the simulation's numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista

from rheotwin.fields import NODE_FIELDS, TENSOR_COMPONENTS
from rheotwin.observers import Observer, Watched
from rheotwin.record import array_units, open_record
from rheotwin.schedule import Stop

Run = Callable[..., tuple[Path, Any]]


class Copies(Observer):
    """Keeps what the simulation said at every frame."""

    def __init__(self) -> None:
        self.positions: list[np.ndarray] = []
        self.fields: list[dict[str, np.ndarray]] = []

    def stop(self, run: Watched, stop: Stop) -> None:
        if stop.frame:
            self.positions.append(run.simulation.positions.copy())
            self.fields.append(run.simulation.fields())


def frames_by_pyvista(folder: Path) -> tuple[list[float], list[Any], list[Any]]:
    """Times, bodies and tools as pyvista reads them from the PVD index."""
    reader = pyvista.get_reader(folder / "series.pvd")
    grids, tools = [], []
    for time in reader.time_values:
        reader.set_active_time_value(time)
        blocks = reader.read()
        grids.append(blocks[0])
        tools.append(blocks[1])
    return list(reader.time_values), grids, tools


def test_pyvista_reads_what_the_simulation_said(run: Run, solver: str) -> None:
    copies = Copies()
    folder, _ = run(solver, observers=[copies])
    times, grids, tools = frames_by_pyvista(folder)
    assert times == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    for grid, positions, fields in zip(grids, copies.positions, copies.fields, strict=True):
        assert grid.points[:, :2].tolist() == positions.tolist()
        assert not grid.points[:, 2].any()
        assert set(grid.point_data) == set(NODE_FIELDS)
        for name, spec in NODE_FIELDS.items():
            values = np.asarray(grid.point_data[name]).reshape(15, -1)
            assert values.shape == (15, spec.components)
            assert values.tolist() == fields[name].reshape(15, -1).tolist(), name
        assert grid.celltypes.tolist() == [pyvista.CellType.TRIANGLE] * 16
    moved = np.linalg.norm(grids[2].points - grids[0].points, axis=1)
    assert moved.max() == pytest.approx(0.01, rel=0.5), "the deepest press is 10 mm"
    # The bar's face is 0.1 wide at y = 0.1 and follows its motion.
    for time, tool in zip(times, tools, strict=True):
        down = 0.05 * min(time, 0.4 - time)
        assert tool.points[:, 1].min() == pytest.approx(0.1 - down, abs=1e-12)
        assert np.ptp(tool.points[:, 0]) == pytest.approx(0.1)


def test_arrays_carry_units_and_component_names(run: Run, solver: str) -> None:
    folder, _ = run(solver)
    _, grids, _ = frames_by_pyvista(folder)
    units = array_units(grids[-1])
    assert {name: units[name] for name in NODE_FIELDS} == {name: spec.unit for name, spec in NODE_FIELDS.items()}
    stress = grids[-1].GetPointData().GetArray("stress")
    assert tuple(stress.GetComponentName(index) for index in range(6)) == TENSOR_COMPONENTS


def test_both_formats_hold_the_same_numbers(run: Run, solver: str) -> None:
    pvd, hdf = (open_record(run(solver, name=kind, format=kind)[0]) for kind in ("pvd", "vtkhdf"))
    assert pvd.times.tolist() == hdf.times.tolist()
    for name in NODE_FIELDS:
        np.testing.assert_array_equal(pvd.field(name), hdf.field(name))
    for index in range(len(pvd.times)):
        np.testing.assert_array_equal(pvd.positions(index), hdf.positions(index))
    np.testing.assert_array_equal(pvd.cells(), hdf.cells())
    read = pyvista.read(hdf.folder / "series.vtkhdf")
    assert set(NODE_FIELDS) <= set(read.point_data)
    assert (hdf.folder / "probes.csv").read_bytes() == (pvd.folder / "probes.csv").read_bytes()


def test_displacement_is_current_minus_rest_position(run: Run, solver: str) -> None:
    record = open_record(run(solver)[0])
    for index, displacement in enumerate(record.field("displacement")):
        np.testing.assert_allclose(record.positions(index) - record.rest_positions, displacement, rtol=0.0, atol=1e-16)


@pytest.mark.parametrize("dimension", [1, 3])
def test_one_and_three_dimensions_have_the_same_names_and_three_components(
    run: Run, solver: str, dimension: int
) -> None:
    sizes, cells = [0.2, 0.1, 0.1][:dimension], [2, 1, 1][:dimension]
    changes = {
        "dimension": dimension,
        "gravity": [0.0] * (dimension - 1) + [-1.0],
        "bodies.block.size": sizes,
        "bodies.block.cells": cells,
        "supports.floor.where": {"side": "left"},
        "tools": {},
        "probes": {},
        "duration": 0.1,
        "output": {"interval": 0.05},
    }
    folder, _ = run(solver, changes)
    reader = pyvista.get_reader(folder / "series.pvd")
    reader.set_active_time_value(0.1)
    grid = reader.read()[0]
    kind = {1: pyvista.CellType.LINE, 3: pyvista.CellType.TETRA}[dimension]
    assert set(grid.celltypes.tolist()) == {kind}
    assert grid.point_data["displacement"].shape == (grid.n_points, 3)
    assert np.abs(grid.point_data["displacement"]).max() > 0.0
    assert not grid.point_data["displacement"][:, : dimension - 1].any() or dimension == 3
    assert not grid.point_data["velocity"][:, dimension:].any()
    assert set(grid.point_data) == set(NODE_FIELDS)
