"""Options of the finite-element solver on the command line: each leaves a whole record that resumes exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista

from rheotwin.errors import EXIT_OK
from rheotwin.record import open_record
from rheotwin.validation.report import write

Command = Callable[..., Any]
OPTIONS: dict[str, dict[str, Any]] = {
    "midpoint": {},
    "cayley": {"stepper": "cayley"},
    "generalized-alpha": {"stepper": "generalized-alpha", "spectral_radius": 0.5},
    "quasi-static": {"stepper": "quasi-static"},
    "central-difference": {"stepper": "central-difference", "step": "1e-3"},
    "euler": {"stepper": "euler", "step": "1e-3"},
    "rk4": {"stepper": "rk4"},
    "adaptive": {"stepper": "adaptive", "step": "5e-3"},
    "quadratic": {"order": 2, "mass": "consistent"},
    "histories at quadrature points": {"history": "quadrature"},
    "taylor-hood": {"formulation": "taylor-hood"},
    "stabilized": {"formulation": "stabilized", "stepper": "quasi-static"},
    "rigid volume": {"formulation": "mini", "incompressible": "true"},
    "rigid patches": {"formulation": "cell", "incompressible": "true", "stepper": "rk4"},
    "corotational": {"kinematics": "corotational", "stepper": "quasi-static", "step": "5e-3"},
    "total-lagrangian": {"kinematics": "total-lagrangian", "step": "5e-3"},
}
PLANES = {"strain": [], "axisymmetric": [("duration = 0.2", 'duration = 0.2\nplane = "axisymmetric"')]}
CHECKPOINTS = ("interval = 0.1", "interval = 0.1\nprobe_interval = 0.02\ncheckpoint_interval = 0.1")
CASES = [(name, "strain") for name in OPTIONS]
CASES += [(name, "axisymmetric") for name in ("midpoint", "central-difference", "rk4", "quadratic", "taylor-hood")]


def settings(options: dict[str, Any], solver: str = "fem") -> list[str]:
    """Return the words that set options of a solver."""
    return [word for name, value in options.items() for word in ("--set", f"{solver}.{name}={value}")]


def cut_back(folder: Path) -> None:
    """Let a finished record look as a kill after its last checkpoint but one leaves it."""
    newest = open_record(folder).checkpoint_path
    assert newest is not None
    newest.unlink()
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"status": "complete"', '"status": "running"'))


@pytest.mark.parametrize(("name", "plane"), CASES, ids=["-".join(case) for case in CASES])
def test_a_record_of_every_kind_is_whole_and_resumes_exactly(
    command: Command, scene_file: Any, name: str, plane: str
) -> None:
    options = OPTIONS[name]
    path = scene_file(CHECKPOINTS, *PLANES[plane])
    said = command("run", path, "--output", "out", "--quiet", "--json", *settings(options))
    assert (said.code, json.loads(said.out)["status"]) == (EXIT_OK, "complete"), said.err
    whole = open_record(Path("out"))
    chosen = whole.manifest.solver.options
    assert {key: str(chosen[key]).lower() for key in options if key != "step"} == {
        key: str(value) for key, value in options.items() if key != "step"
    }

    # probes: the energies, all finite; the bar pressed with a force
    probes = {name: np.asarray(values) for name, values in whole.probes.items()}
    energies = {"kinetic", "stored", "dissipated", "impact", "external"}
    energies |= set() if name == "central-difference" else {"defect"}
    assert {column for column in probes if column.startswith("energy.")} == {f"energy.{name}" for name in energies}
    header = Path("out/probes.csv").read_text().partition("\n")[0].split(",")
    assert {f"energy.{name} [J]" for name in energies} <= set(header)
    assert all(np.isfinite(values).all() for values in probes.values())
    assert np.abs(probes["tool.bar.force_y"]).max() > 1.0
    assert whole.probe_units["volume.block"] == ("m3" if plane == "axisymmetric" else "m2")

    # pictures: pyvista reads the series and finds every field on the 15 corners, whatever else the element has
    reader = pyvista.get_reader("out/series.pvd")
    assert reader.time_values == pytest.approx([0.0, 0.1, 0.2])
    reader.set_active_time_value(0.1)
    grid = reader.read()[0]
    assert (grid.n_points, grid.n_cells) == (15, 16)
    assert {"displacement", "velocity", "stress", "von_mises_stress"} <= set(grid.point_data)
    assert all(np.isfinite(grid.point_data[field]).all() for field in grid.point_data)
    assert grid.point_data["displacement"][:, 1].min() == pytest.approx(-0.01, rel=1e-2)

    table, displacement = Path("out/probes.csv").read_bytes(), whole.field("displacement")
    cut_back(Path("out"))
    said = command("run", "--resume", "out", "--quiet")
    assert said.code == EXIT_OK, said.err
    assert Path("out/probes.csv").read_bytes() == table
    np.testing.assert_array_equal(open_record(Path("out")).field("displacement"), displacement)


def test_a_static_analysis_knows_no_path(command: Command, scene_file: Any) -> None:
    path = scene_file(('law = "dough"', 'law = "gel"'))
    said = command("run", path, "--output", "out", "--quiet", *settings({"stepper": "static", "step": "0.02"}))
    assert said.code == EXIT_OK, said.err
    record = open_record(Path("out"))
    assert {name for name in record.probes if name.startswith("energy.")} == {"energy.kinetic", "energy.stored"}
    np.testing.assert_allclose(record.field("displacement")[-1], 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("plane", "options", "words"),
    [
        ("strain", {"stepper": "quasi-static", "order": 2}, "change of area [%]"),
        ("strain", {"kinematics": "corotational", "stepper": "quasi-static", "step": "5e-3"}, "change of area [%]"),
        ("axisymmetric", {"formulation": "taylor-hood", "stepper": "cayley"}, "change of volume [%]"),
    ],
    ids=["quadratic", "corotational", "ring"],
)
def test_compare_takes_the_options(
    command: Command,
    scene_file: Any,
    monkeypatch: pytest.MonkeyPatch,
    plane: str,
    options: dict[str, Any],
    words: str,
) -> None:
    monkeypatch.setattr(write, "draw_pictures", lambda comparison, views: {})
    solvers = ["--solvers", "fem" if plane == "axisymmetric" else "fem,truss"]
    path = scene_file(*PLANES[plane])
    said = command("compare", path, *solvers, "--output", "cmp", "--quiet", *settings(options))
    assert said.code == EXIT_OK, said.err
    chosen = open_record(Path("cmp/runs/fem")).manifest.solver.options
    assert all(str(chosen[name]) == str(value) for name, value in options.items() if name != "step")
    page = Path("cmp/report.html").read_text()
    assert words in page
