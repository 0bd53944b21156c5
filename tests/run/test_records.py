"""What a run leaves: manifest, frames and probe rows at planned times, the series as ParaView sees it, moved tools."""

import csv
import platform
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import pyvista

import rheotwin
from rheotwin.fields import NODE_FIELDS, TENSOR_COMPONENTS
from rheotwin.meshing import mesh_hash
from rheotwin.observers import Frames, Observer, Watched, probe_columns
from rheotwin.observers.outputs import probe_values
from rheotwin.record import RecordWriter, array_units, load_manifest, open_record
from rheotwin.scene import scene_from_data
from rheotwin.schedule import Stop
from rheotwin.solver import ALL_CELLS, ALL_CONTACT, ALL_LAWS, SOLID_TOOLS, Capabilities, Simulation, tool_poses
from tests.conftest import IN_A_FORMAT, SOLID, TWIN, Data, problem_with, run, scene_with

ACCOUNT = ("dissipated", "impact", "external", "defect")
"""The energies of finite elements beside the kinetic and the stored one."""
UNITS = {name: spec.unit for name, spec in NODE_FIELDS.items()}
POSE = np.array([0.01, 0.02, 0.0, 0.5])
FLYING: Data = {
    "tools.bar": ...,
    "tools.brick": {"shape": "box", "center": [0.1, 0.3], "size": [0.1, 0.1], "drive": {"mass": 1.0}},
}


class Copies(Observer):
    """Keeps what the simulation said at every frame, and what the manifest says then."""

    def __init__(self) -> None:
        self.frames: list[tuple[np.ndarray, dict[str, np.ndarray]]] = []
        self.seen: list[tuple[str, int]] = []

    def stop(self, run: Watched, stop: Stop) -> None:
        manifest = load_manifest(Path("run"))
        self.seen.append((manifest.status, manifest.step.count))
        if stop.frame:
            self.frames.append((run.simulation.positions.copy(), run.simulation.fields()))


@pytest.fixture(scope="module", params=["fem", "truss"])
def pressed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The record of the press with what was observed; made once for each solver."""
    folder, copies = tmp_path_factory.mktemp("pressed"), Copies()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _, outcome = run(request.param, observers=[copies])
        yield SimpleNamespace(
            solver=request.param,
            record=open_record(folder / "run"),
            outcome=outcome,
            frames=copies.frames,
            seen=copies.seen,
        )


def by_pyvista(folder: Path) -> tuple[list[float], list[Any]]:
    """Times and (bodies, tools) as pyvista reads them from the PVD index."""
    reader, blocks = pyvista.get_reader(folder / "series.pvd"), []
    for time in reader.time_values:
        reader.set_active_time_value(time)
        blocks.append(reader.read())
    return list(reader.time_values), blocks


def test_a_run_tells_everything_about_itself(pressed: Any) -> None:
    manifest, problem = pressed.record.manifest, problem_with()
    assert (manifest.status, manifest.message, manifest.title) == ("complete", "", "a small press")
    assert manifest.rheotwin_version == manifest.solver.version == rheotwin.__version__
    assert scene_from_data(manifest.scene) == scene_with()
    assert (manifest.solver.name, manifest.solver.options["step"]) == (pressed.solver, 1e-3)
    assert (manifest.mesh.points, manifest.mesh.cells) == (15, 16)
    (body,) = manifest.mesh.bodies
    assert (body.name, body.cell, body.points, body.cells) == ("block", "triangle", 15, 16)
    assert manifest.mesh.hash == sha256(mesh_hash(problem.bodies[0].mesh).encode()).hexdigest()
    assert (manifest.step.size, manifest.step.count, pressed.outcome.steps) == (1e-3, 400, 400)
    assert (manifest.step.stable is None) == (pressed.solver == "fem")
    assert manifest.timings["solve"] <= manifest.timings["total"] - manifest.timings["setup"] + 1e-9
    assert manifest.environment is not None and manifest.environment.python == platform.python_version()
    assert {"numpy", "scikit-fem"} <= set(manifest.environment.packages)
    assert {name: info.unit for name, info in manifest.fields.items()} == UNITS
    energies = ("kinetic", "stored", *(ACCOUNT if pressed.solver == "fem" else ()))
    assert manifest.probes == probe_columns(problem, energies) and manifest.statistics["scheme"]
    # checkpoints are due at 0.2 and 0.4 s, observers of ours come after those that write
    assert pressed.seen == [("running", 0)] * 4 + [("running", 200)] * 4 + [("running", 400)]


@IN_A_FORMAT
def test_only_the_fields_asked_for_are_written_and_all_in_si(solver: str, series_format: str) -> None:
    changes = {
        "output.fields": ["stress", "displacement"],
        "units": {"length": "cm", "pressure": "Pa", "density": "kg/m3"},
        "solvers": {},
        "gravity": ...,
    }
    folder, _ = run(solver, changes, format=series_format)
    record = open_record(folder)
    assert list(record.manifest.fields) == ["stress", "displacement"]
    assert set(record.frame(-1).point_data) == {"stress", "displacement"}
    assert record.manifest.scene["bodies"]["block"]["size"] == pytest.approx([0.002, 0.001])
    assert record.manifest.scene["units"]["length"] == "m"


def test_several_bodies_are_told_apart_in_the_series(solver: str) -> None:
    folder, _ = run(solver, {"bodies.twin": TWIN, "gravity": [0.0, 0.0], "duration": 0.1, "output": {}})
    record = open_record(folder)
    assert [body.name for body in record.manifest.mesh.bodies] == ["block", "twin"]
    topology = record.topology()
    np.testing.assert_array_equal(topology.body, [0] * 16 + [1] * 16)
    assert record.rest_positions[topology.cells[topology.body == 1]][..., 0].min() == 1.0
    assert {"volume.block", "volume.twin"} <= set(record.probes)


def test_pyvista_reads_what_the_simulation_said(pressed: Any) -> None:
    times, blocks = by_pyvista(pressed.record.folder)
    assert times == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    for time, (grid, tool), (positions, fields) in zip(times, blocks, pressed.frames, strict=True):
        assert grid.points.tolist() == np.pad(positions, ((0, 0), (0, 1))).tolist()
        assert set(grid.point_data) == set(NODE_FIELDS)
        for name, spec in NODE_FIELDS.items():
            values = np.asarray(grid.point_data[name]).reshape(15, -1)
            assert values.shape == (15, spec.components)
            assert values.tolist() == fields[name].reshape(15, -1).tolist(), name
        assert grid.celltypes.tolist() == [pyvista.CellType.TRIANGLE] * 16
        assert UNITS.items() <= array_units(grid).items()
        stress = grid.GetPointData().GetArray("stress")
        assert tuple(stress.GetComponentName(index) for index in range(6)) == TENSOR_COMPONENTS
        # The bar's face is 0.1 wide at y = 0.1 and follows its motion.
        assert tool.points[:, 1].min() == pytest.approx(0.1 - (0.05 * min(time, 0.4 - time)), abs=1e-12)
        assert np.ptp(tool.points[:, 0]) == pytest.approx(0.1)
    moved = np.linalg.norm(blocks[2][0].points - blocks[0][0].points, axis=1)
    assert moved.max() == pytest.approx(0.01, rel=0.5), "the deepest press is 10 mm"


def test_both_formats_hold_the_same_numbers(pressed: Any) -> None:
    pvd, hdf = pressed.record, open_record(run(pressed.solver, format="vtkhdf")[0])
    assert pvd.times.tolist() == hdf.times.tolist()
    for name in NODE_FIELDS:
        np.testing.assert_array_equal(pvd.field(name), hdf.field(name))
    for index, displacement in enumerate(pvd.field("displacement")):
        np.testing.assert_array_equal(pvd.positions(index), hdf.positions(index))
        np.testing.assert_allclose(pvd.positions(index) - pvd.rest_positions, displacement, rtol=0.0, atol=1e-16)
    np.testing.assert_array_equal(pvd.cells(), hdf.cells())
    assert set(NODE_FIELDS) <= set(pyvista.read(hdf.folder / "series.vtkhdf").point_data)
    assert (hdf.folder / "probes.csv").read_bytes() == (pvd.folder / "probes.csv").read_bytes()


@pytest.mark.parametrize("dimension", [1, 3])
def test_one_and_three_dimensions_have_the_same_names_and_three_components(solver: str, dimension: int) -> None:
    cut = {"duration": 0.1, "output": {"interval": 0.05}, "supports.floor.where": {"side": "left"}}
    cut |= {"bodies.block.size": [0.2, 0.1, 0.1][:dimension], "bodies.block.cells": [2, 1, 1][:dimension]}
    folder, _ = run(solver, SOLID | cut | {"dimension": dimension, "gravity": ([0.0] * (dimension - 1) + [-1.0])})
    grid = by_pyvista(folder)[1][-1][0]
    assert set(grid.celltypes.tolist()) == {pyvista.CellType.LINE if dimension == 1 else pyvista.CellType.TETRA}
    assert grid.point_data["displacement"].shape == (grid.n_points, 3)
    assert np.abs(grid.point_data["displacement"]).max() > 0.0
    assert not grid.point_data["velocity"][:, dimension:].any() and set(grid.point_data) == set(NODE_FIELDS)


@pytest.mark.parametrize(
    ("output", "frames", "rows"),
    [
        ({"interval": 0.2, "probe_interval": 0.1}, [0.0, 0.2, 0.4], [0.0, 0.1, 0.2, 0.3, 0.4]),
        ({"times": [0.0, 0.03, 0.25]}, [0.0, 0.03, 0.25, 0.4], None),
        ({"interval": 0.15}, [0.0, 0.15, 0.3, 0.4], None),
    ],
    ids=["rows of their own", "times", "a last short interval"],
)
@IN_A_FORMAT
def test_planned_times_are_met_exactly(
    solver: str, series_format: str, output: Data, frames: list[float], rows: list[float] | None
) -> None:
    record = open_record(run(solver, {"output": output}, format=series_format)[0])
    # the step divides all planned times, so they are met to the last digit but one
    np.testing.assert_allclose(record.times, frames, rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(record.probes["time"], rows or frames, rtol=1e-14, atol=0.0)


def expected_adaptive(times: np.ndarray, positions: np.ndarray, change: float, longest: float) -> list[float]:
    """The rule of the scene format: a frame once a node moved by `change`, or `longest` has passed, and the last."""
    chosen = [0]
    for index in range(1, len(times)):
        moved = np.linalg.norm(positions[index] - positions[chosen[-1]], axis=1).max()
        if moved >= change or (times[index] - times[chosen[-1]] >= longest * (1 - 1e-9)) or index == len(times) - 1:
            chosen.append(index)
    return [float(times[index]) for index in chosen]


@IN_A_FORMAT
def test_adaptive_frames_come_only_when_the_body_moved(solver: str, series_format: str) -> None:
    press = {"times": [0.0, 0.1, 0.4], "displacement": [[0.0, 0.0], [0.0, -0.01], [0.0, -0.01]]}
    common = {"tools.bar.motion": press, "gravity": [0.0, 0.0]}
    adaptive = {"shortest": 0.01, "longest": 0.15, "change": 2.0e-3}
    full = open_record(run(solver, {**common, "output": {"interval": 0.01}}, name="every")[0])
    folder, _ = run(solver, {**common, "output": {"adaptive": adaptive}}, format=series_format)
    positions = np.array([full.positions(index) for index in range(len(full.times))])
    expected = expected_adaptive(full.times, positions, 2.0e-3, 0.15)
    record = open_record(folder)
    assert record.times.tolist() == expected
    # 10 mm at 2 mm a frame while it is pressed; afterwards only the longest interval brings a frame
    assert sum(0.0 < time <= 0.1 for time in expected) >= 4
    assert 2 <= sum(time > 0.11 for time in expected) <= 6
    # probe rows keep the shortest rhythm
    np.testing.assert_allclose(record.probes["time"], 0.01 * np.arange(41), rtol=1e-12, atol=1e-15)


def test_the_probe_table_agrees_with_frames_and_motion(pressed: Any) -> None:
    with (pressed.record.folder / "probes.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    energies = ("kinetic", "stored", *(ACCOUNT if pressed.solver == "fem" else ()))
    named = {
        "tool.bar.force": "N",
        "tool.bar.displacement": "m",
        "support.floor.force": "N",
        "probe.tip.displacement": "m",
        "probe.tip.velocity": "m/s",
    }
    assert rows[0] == [
        "time [s]",
        *(f"energy.{name} [J]" for name in energies),
        "volume.block [m2]",
        *(f"{name}_{axis} [{unit}]" for name, unit in named.items() for axis in "xy"),
    ]
    assert [len(row) for row in rows] == [len(rows[0])] * (1 + 9)
    record, probes = pressed.record, pressed.record.probes
    tip = int(np.argmin(np.linalg.norm(record.rest_positions - [0.1, 0.1, 0.0], axis=1)))
    time, frames = probes["time"], record.field("displacement")[:, tip, :]
    rows = np.searchsorted(time, record.times - 1e-9)
    for axis, name in enumerate("xy"):
        # positions of 0.1 m are rounded to 1.4e-17 m
        found = probes[f"probe.tip.displacement_{name}"][rows]
        np.testing.assert_allclose(found, frames[:, axis], rtol=0.0, atol=3e-17)
    # the bar goes down 10 mm in 0.2 s and back: -0.05 t, then -0.05 (0.4 - t)
    np.testing.assert_allclose(probes["tool.bar.displacement_y"], -0.05 * np.minimum(time, 0.4 - time), atol=1e-15)
    contact = record.field("contact_force").sum(axis=1)
    np.testing.assert_allclose(probes["tool.bar.force_y"][rows], -contact[:, 1], rtol=1e-12, atol=1e-12)
    # at rest the block is 0.2 x 0.1; the deformed mesh of the frame has the area of the probe table
    assert probes["volume.block"][0] == pytest.approx(0.02, rel=1e-12)
    area = record.frame(2).compute_cell_sizes(length=False, volume=False)["Area"].sum()
    assert probes["volume.block"][rows[2]] == pytest.approx(area, rel=1e-12)


SECOND = TWIN | {"size": [0.1, 0.1], "cells": [1, 1]}
CONTACT = {"law": "penalty", "stiffness": 1.0, "self": True}


@pytest.mark.parametrize(
    ("change", "places"),
    [
        ({}, set()),
        (FLYING, {"tools.brick.drive", "contact.law"}),
        ({"tools.bar.contact": {"friction": 0.1}}, {"tools.bar.contact.law", "tools.bar.contact.friction"}),
        ({"contact": CONTACT, "bodies.second": SECOND}, {"contact.law", "contact.bodies", "contact.self"}),
    ],
    ids=["nothing", "driven", "friction at a tool", "bodies"],
)
def test_a_solver_is_asked_for_what_the_contact_needs(change: Data, places: set[str]) -> None:
    simple = Capabilities(frozenset({2}), ALL_CELLS, ALL_LAWS, SOLID_TOOLS)
    able = Capabilities(frozenset({2}), ALL_CELLS, ALL_LAWS, SOLID_TOOLS, contact=ALL_CONTACT)
    problem = problem_with(change)
    assert {fault.place for fault in simple.shortfalls(problem)} == places and able.shortfalls(problem) == []


def watched() -> Watched:
    """A simulation at rest with one tool, of which it says where it is."""
    problem = problem_with(FLYING)
    reactions = {"support.floor": np.zeros(2), "tool.brick": np.array([1.0, 2.0]), "tool.brick.moment": np.array([3.0])}
    stand = SimpleNamespace(
        time=0.3,
        positions=problem.points,
        velocities=np.zeros_like(problem.points),
        tool_poses=lambda: POSE[None],
        energy=lambda: {"kinetic": 0.0, "stored": 0.0},
        fields=lambda: {"displacement": np.zeros((len(problem.points), 3))},
        reactions=lambda: reactions,
    )
    return Watched(problem, cast(Simulation, stand), problem.scene.duration)


def test_moments_and_angles_are_recorded_where_there_is_contact() -> None:
    run = watched()
    columns, values = probe_columns(run.problem, ("kinetic", "stored")), probe_values(run)
    assert set(columns) == set(values)
    assert (columns["tool.brick.moment_z"], values["tool.brick.moment_z"]) == ("N m", 3.0)
    assert (columns["tool.brick.angle"], values["tool.brick.angle"]) == ("rad", 0.5)
    assert (values["tool.brick.displacement_y"], values["tool.brick.force_y"]) == (0.02, 2.0)
    assert not any("moment" in name or "angle" in name for name in probe_columns(problem_with(), ()))


def test_tools_are_drawn_and_told_where_the_simulation_has_them() -> None:
    drawn: list[Any] = []

    class Writer:
        manifest = SimpleNamespace(fields=("displacement",))

        def write_frame(self, time: float, positions: Any, fields: Any, tools: Any) -> None:
            drawn.extend(tools)

    run, frames = watched(), Frames(cast(RecordWriter, Writer()))
    frames.start(run)
    frames.stop(run, Stop(0.3, frame=True, probe=False, checkpoint=False))
    (surface,) = drawn
    np.testing.assert_allclose(surface.points.mean(axis=0), [0.11, 0.32, 0.0], atol=1e-15)
    # corner (-0.05, -0.05) of the brick turned by 0.5 rad
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(surface.points[0], [0.11 + 0.05 * (s - c), 0.32 - 0.05 * (s + c), 0.0], atol=1e-15)
    plain = cast(Simulation, SimpleNamespace(time=0.1))
    np.testing.assert_allclose(tool_poses(problem_with(), plain), [[0.0, -0.005, 0.0, 0.0]])
    assert tool_poses(problem_with({"tools": {}}), plain).shape == (0, 4)
