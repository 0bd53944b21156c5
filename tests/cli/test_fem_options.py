"""Options of the finite-element solver on the command line: each leaves a whole record that resumes exactly."""

import json
from pathlib import Path

import numpy as np
import pytest
import pyvista

from rheotwin.errors import EXIT_OK
from rheotwin.record import open_record
from tests.conftest import Data, command, cut_off, scene_file, settings

OPTIONS: dict[str, Data] = {
    "generalized-alpha": {"stepper": "generalized-alpha", "spectral_radius": 0.5},
    "central-difference": {"stepper": "central-difference", "step": "1e-3"},
    "quadratic": {"order": 2, "mass": "consistent"},
    "rigid volume": {"formulation": "mini", "incompressible": "true"},
    "total-lagrangian": {"kinematics": "total-lagrangian", "step": "5e-3"},
}
"""Steppers, elements and kinematics of every kind; `test_everything_offered` runs each word."""


@pytest.mark.parametrize(("name", "plane"), [*((name, "strain") for name in OPTIONS), ("quadratic", "axisymmetric")])
def test_a_record_of_every_kind_is_whole_and_resumes_exactly(name: str, plane: str) -> None:
    options = OPTIONS[name]
    output = {"interval": 0.1, "probe_interval": 0.02, "checkpoint_interval": 0.1}
    words = ("--output", "out", "--quiet", "--json", *settings(**options))
    said = command("run", scene_file({"plane": plane, "output": output}), *words)
    assert (said.code, json.loads(said.out)["status"]) == (EXIT_OK, "complete"), said.err
    whole = open_record(Path("out"))
    chosen = whole.manifest.solver.options
    assert all(str(chosen[key]).lower() == str(value) for key, value in options.items() if key != "step")

    # probes: the energies, all finite; the bar pressed with a force
    energies = {"kinetic", "stored", "dissipated", "impact", "external"}
    energies |= set() if name == "central-difference" else {"defect"}
    assert {column for column in whole.probes if column.startswith("energy.")} == {f"energy.{e}" for e in energies}
    assert {whole.probe_units[f"energy.{energy}"] for energy in energies} == {"J"}
    assert all(np.isfinite(values).all() for values in whole.probes.values())
    assert np.abs(whole.probes["tool.bar.force_y"]).max() > 1.0
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
    cut_off(Path("out"), keep_last=False)
    said = command("run", "--resume", "out", "--quiet")
    assert said.code == EXIT_OK, said.err
    assert Path("out/probes.csv").read_bytes() == table
    np.testing.assert_array_equal(open_record(Path("out")).field("displacement"), displacement)


def test_a_static_analysis_knows_no_path() -> None:
    words = settings(stepper="static", step=0.02)
    said = command("run", scene_file({"bodies.block.law": "gel"}), "--output", "out", "--quiet", *words)
    assert said.code == EXIT_OK, said.err
    record = open_record(Path("out"))
    assert {name for name in record.probes if name.startswith("energy.")} == {"energy.kinetic", "energy.stored"}
    np.testing.assert_allclose(record.field("displacement")[-1], 0.0, atol=1e-15)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("plane", "options", "words"),
    [
        ("strain", {"stepper": "quasi-static", "order": 2}, "change of area [%]"),
        ("axisymmetric", {"formulation": "taylor-hood", "stepper": "cayley"}, "change of volume [%]"),
    ],
    ids=["quadratic", "ring"],
)
def test_compare_takes_the_options(plane: str, options: Data, words: str) -> None:
    solvers = ["--solvers", "fem" if plane == "axisymmetric" else "fem,truss", "--reference", "fem"]
    said = command("compare", scene_file({"plane": plane}), *solvers, "--output", "cmp", *settings(**options))
    assert said.code == EXIT_OK, said.err
    chosen = open_record(Path("cmp/runs/fem")).manifest.solver.options
    assert all(str(chosen[name]) == str(value) for name, value in options.items() if name != "step")
    assert words in Path("cmp/report.html").read_text()
