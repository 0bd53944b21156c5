"""The stress of cells: what it is in a uniform body, on its way through both formats of records, and after contact."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista
from vtkmodules.vtkIOHDF import vtkHDFReader

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults
from rheotwin.fields import CELL_STRESS_COMPONENTS
from rheotwin.meshing import element_measures
from rheotwin.record import open_record
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import load_scene, scene_from_data
from rheotwin.solver import cell_stress
from rheotwin.tensors import von_mises
from rheotwin.validation.checks.running import Data, box_scene, run_to, side, start

SCENES = Path(__file__).parents[2] / "scenes"
FOAM = {"model": "voigt", "young": 1e3, "poisson": 0.3, "viscosity": 100.0}
SOLVERS = ("fem", "truss", "shear-volume")


def pulled(dimension: int = 2, **more: Any) -> Data:
    """A block held at one end, its other end pulled by 0.1 % in 0.1 s and held there; sides are free."""
    pull = {"ramp": {"to": [1e-3, *[0.0] * (dimension - 1)], "time": 0.1}}
    supports = {"wall": side("left", fix=["x"]), "hand": side("right", fix=["x"], motion=pull)}
    supports |= {axis: side(which, fix=[axis]) for axis, which in (("y", "bottom" if dimension == 2 else "front"),)}
    supports |= {"z": side("bottom", fix=["z"])} if dimension == 3 else {}
    shape: Data = {"size": [1.0] * dimension, "cells": [2] * dimension}
    return box_scene(FOAM, **shape | {"density": 1.0, "supports": supports, "duration": 2.0} | more)


@pytest.mark.parametrize(
    ("solver", "options"),
    [("fem", {}), ("fem", {"kinematics": "total-lagrangian", "step": 0.02}), ("shear-volume", {})],
)
@pytest.mark.parametrize("dimension", [2, 3])
def test_cells_of_a_pulled_block_have_the_stress_of_its_law(solver: str, options: Data, dimension: int) -> None:
    """Uniform tension by e = 0.1 %: s_xx = E e in space, in plane strain E e/(1 - nu^2) and s_zz = nu s_xx."""
    simulation = start(pulled(dimension), solver, **options)
    run_to(simulation, 2.0)
    expected = np.zeros(6)
    expected[[0, 2]] = (1.0, 0.0) if dimension == 3 else (1.0 / 0.91, 0.3 / 0.91)
    stress = cell_stress(simulation)
    np.testing.assert_allclose(stress, np.broadcast_to(expected, stress.shape), atol=3e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_nodes_are_averages_of_their_cells(solver: str) -> None:
    """A block pressed askew: the nodal stress is that of the cells around, weighted with their volumes."""
    pushed = {"forces": {"push": {**side("top"), "total": [5.0, -3.0]}}}
    data = pulled(2, **pushed, size=[1.0, 0.7], cells=[3, 2])
    simulation = start(data, solver)
    run_to(simulation, 0.5)
    mesh = build_problem(scene_from_data(data)).bodies[0].mesh
    weights, stress = element_measures(mesh), cell_stress(simulation)
    total, volume = np.zeros((mesh.nvertices, 6)), np.zeros((mesh.nvertices, 1))
    for corner in mesh.t:
        np.add.at(total, corner, weights[:, None] * stress)
        np.add.at(volume, corner, weights[:, None])
    nodal = simulation.fields()["stress"]
    np.testing.assert_allclose(total / volume, nodal, atol=1e-9 * np.abs(nodal).max())
    assert np.ptp(stress[:, 3]) > 0.5


@pytest.mark.parametrize("format", ["pvd", "vtkhdf"])
def test_records_hold_the_stress_of_cells_where_a_scene_asks_for_it(format: Any, tmp_path: Path) -> None:
    fields = ["displacement", "cell_stress", "von_mises_stress"]
    scene = scene_from_data(pulled(2, cells=[3, 2], output={"interval": 0.5, "fields": fields}))
    for solver in SOLVERS:
        run_scene(RunRequest(scene, solver, tmp_path / solver, format=format))
        record = open_record(tmp_path / solver)
        assert list(record.manifest.fields) == fields and record.manifest.fields["cell_stress"].on_cells
        found = record.field("cell_stress")
        assert found.shape == (5, 12, 2) and np.abs(found[0]).max() < 1e-9 and np.all(found[1:, :, 1] > 0.5)
        drawn = record.frame(3)
        np.testing.assert_array_equal(drawn.cell_data["cell_stress"], found[3])
        assert "cell_stress" not in drawn.point_data
    fem = open_record(tmp_path / "fem").field("cell_stress")
    if format == "pvd":
        grid = pyvista.read(sorted((tmp_path / "fem" / "frames").glob("frame-*.vtu"))[2])
        array = grid.GetCellData().GetArray("cell_stress")
        assert tuple(array.GetComponentName(k) for k in range(2)) == CELL_STRESS_COMPONENTS
    else:
        reader = vtkHDFReader()
        reader.SetFileName(str(tmp_path / "fem" / "series.vtkhdf"))
        reader.UpdateInformation()
        reader.SetStep(2)
        reader.Update()
        grid = pyvista.wrap(reader.GetOutput())
        assert len(grid.cell_data["body"]) == 12
    np.testing.assert_array_equal(grid.cell_data["cell_stress"], fem[2])


def test_stress_after_contact_is_none_but_for_an_uneven_law(tmp_path: Path) -> None:
    """Figures 5.4 and 5.6 as shipped: with one Poisson ratio K s = 0 means s = 0; otherwise it fades."""
    scene = load_scene(SCENES / "after-contact-2d.toml")
    for case in scene.case_names:
        run_scene(RunRequest(scene, "fem", tmp_path / case, case))
        record = open_record(tmp_path / case)
        force = np.interp(record.times, record.probes["time"], record.probes["tool.bar.force_y"])
        left = int(np.flatnonzero(force > 1e-9 * force.max())[-1]) + 1
        stress, moved = record.field("cell_stress")[:, :, 1].max(axis=1), record.field("displacement")
        shift = np.abs(moved[-1] - moved[left]).max()
        assert record.times[left] < 16.0
        if case == "uneven":
            assert stress[left] > 0.05 * stress.max() > 1e3 * stress[-1]
        else:
            assert stress[left:].max() < 1e-9 * stress.max()
        assert (shift < 1e-9) == (case == "viscoplastic")


def test_mean_and_von_mises_stress_are_those_of_the_tensor(tmp_path: Path) -> None:
    scene = scene_from_data(pulled(2, output={"interval": 2.0, "fields": ["displacement", "cell_stress"]}))
    run_scene(RunRequest(scene, "fem", tmp_path))
    simulation = start(pulled(2), "fem")
    run_to(simulation, 2.0)
    stress = cell_stress(simulation)
    expected = np.stack([stress[:, :3].sum(axis=1) / 3.0, von_mises(stress)], axis=1)
    np.testing.assert_allclose(open_record(tmp_path).field("cell_stress")[-1], expected, rtol=1e-6)


def test_a_solver_without_it_refuses_the_scene(tmp_path: Path) -> None:
    scene = scene_from_data(pulled(2, output={"interval": 2.0, "fields": ["displacement", "cell_stress"]}))
    with pytest.raises(InputFaults, match=r"output\.fields.*'cell_stress' is beyond this solver"):
        run_scene(RunRequest(scene, "fixed-point", tmp_path))
