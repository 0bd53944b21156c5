"""Readers of the real data sets against numbers their READMEs state; skipped where the data are not there."""

import json
from pathlib import Path

import numpy as np
import pytest

from rheotwin.__main__ import main
from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.meshing import element_measures
from rheotwin.scene import load_scene
from rheotwin.solver import check_capabilities, find_solver
from rheotwin.validation.checks import bodies as checks
from rheotwin.validation.experiments import bodies, datasets
from rheotwin.validation.experiments.datasets import layer
from rheotwin.validation.experiments.datasets import published_ecoflex as published
from rheotwin.validation.experiments.reader import read_experiment
from rheotwin.validation.experiments.writer import write_experiment


def need(name: str) -> None:
    reason = datasets.missing(name)
    if reason:
        pytest.skip(reason)


def test_truth_cube_has_the_affine_map_of_its_readme_and_survives_as_a_record(tmp_path: Path) -> None:
    need("truth-cube")
    record = datasets.read_truth_cube()
    wanted = [(1.034, 1.035, 0.931, 0.372), (1.082, 1.085, 0.842, 0.609), (1.130, 1.132, 0.768, 0.898)]
    for frame, (*stretch, left) in zip(record.frames, wanted, strict=True):
        assert frame.rest is not None
        terms = np.c_[frame.rest, np.ones(343)]
        found = np.linalg.lstsq(terms, frame.points, rcond=None)[0]
        np.testing.assert_allclose(np.diag(found[:3]), stretch, atol=5.1e-4)
        residual = np.sqrt(np.mean(np.sum((terms @ found - frame.points) ** 2, axis=1)))
        assert 1e3 * residual == pytest.approx(left, abs=5.1e-4)
    rest = record.frames[0].rest
    assert rest is not None and rest[layer(1), 2].mean() > 0.0 > rest[layer(7), 2].mean()
    write_experiment(tmp_path / "cube", record)
    again = read_experiment(tmp_path / "cube")
    np.testing.assert_array_equal(again.frames[2].displacement, record.frames[2].displacement)


def test_clamped_beam_markers_are_aligned_and_sink_as_the_readme_says() -> None:
    need("clamped-beam-mocap")
    motions = {test: datasets.read_clamped_beam(test) for test in ("gravity_a", "gravity_b", "load52_a", "load52_b")}
    first, common = motions["gravity_a"], datasets.common_base()
    for motion in motions.values():
        gap = motion.base[-25:].mean(axis=0) - common
        assert np.sqrt(np.mean(np.sum(gap**2, axis=1))) <= 0.06e-3  # README: residual of at most 0.06 mm
    for test, wanted in (("load52_a", (-7.88, -7.53, -7.91)), ("load52_b", (-8.06, -7.62, -8.09))):
        sunk = 1e3 * (motions[test].at_rest - first.at_rest)[:, 0]
        np.testing.assert_allclose(sunk, wanted, atol=0.02)  # other windows at the ends
    assert 0.4 <= min(motion.release for motion in motions.values()) <= first.release <= 0.75


def test_ecoflex_stress_is_load_over_area() -> None:
    need("ecoflex-compression")
    record = datasets.read_ecoflex("EF10_0T", "A1")
    assert record.path is not None and record.force is not None
    strain, stress = record.path.values[:, 2] / 0.030, record.force.values[:, 2] / (np.pi * 0.025**2)
    part = (strain < -0.02) & (strain > -0.10)
    assert np.polyfit(strain[part], stress[part], 1)[0] == pytest.approx(63.0e3, abs=51.0)
    (shear,), residual = published("EF10_0T")
    assert (shear, residual) == pytest.approx((21.961e3, 13.044e3), abs=1.0)
    with pytest.raises(RheotwinError, match="no phantom 'EF99'"):
        datasets.read_ecoflex("EF99", "A1")


def test_the_other_three() -> None:
    need("silicone-indentation")
    test = datasets.read_silicone_indentation("P002-1")
    assert test.force is not None and test.path is not None
    # README: 0.305 N at the end of the hold (40.7 s), 2.38 mm still there at 71.8 s
    assert np.interp(40.7, test.force.times, -test.force.values[:, 2]) == pytest.approx(0.305, abs=5.1e-4)
    assert 1e3 * np.interp(71.8, test.path.times, -test.path.values[:, 2]) == pytest.approx(2.38, abs=5.1e-3)
    need("oca-shear")
    assert np.ptp(datasets.read_oca_shear("monotonic_0p05-per-s").shear) > 9.0
    need("vinyl-foam-dma")
    foam = datasets.read_vinyl_foam()
    peak = int(np.argmax(foam.loss_factor))
    assert (foam.temperature[peak], foam.loss_factor[peak]) == (35.0, pytest.approx(0.54, abs=5.1e-3))
    assert len(foam.storage) == 209


def test_absent_data_are_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RHEOTWIN_DATA", str(tmp_path))
    with pytest.raises(RheotwinError, match="'truth-cube' are not there; set RHEOTWIN_DATA"):
        datasets.read_truth_cube()
    (tmp_path / "oca-shear").mkdir()
    table = tmp_path / "oca-shear" / "monotonic_0p05-per-s.csv"
    for text, words in (
        ("time,shear\n0,0\n", "columns are time, shear, not time_s"),
        ("time_s,shear,nominal_stress_kPa\n0,0,nan\n", "not finite"),
    ):
        table.write_text(text)
        with pytest.raises(RheotwinError, match=words):
            datasets.read_oca_shear("monotonic_0p05-per-s")


def test_clay_becomes_a_mesh_of_its_volume_whose_record_knows_its_tool(tmp_path: Path) -> None:
    """The mesh lies on the heights, keeps the volume, and the tip of the tool touches its top."""
    need(datasets.CLAY)
    record, mesh = bodies.clay(1, "round", 0)
    place = datasets.data_set(datasets.CLAY) / "data-motion-poking-1" / "eef-round"
    lump = bodies.read_lump(place / "mesh_00_repaired.obj", np.load(place / "mesh_00_repaired_centre_top.npy")[:2])
    assert element_measures(mesh).sum() == pytest.approx(lump.volume, rel=1e-3)
    assert 1e6 * lump.volume == pytest.approx(47.3, abs=0.5) and mesh.p.min() == 0.0
    tool = record.setup["tools.eef"]
    assert tool["center"][2] - tool["radius"] == pytest.approx(lump.height.max(), abs=0.5e-3)
    assert record.path is not None
    assert 1e3 * record.path.values[:, 2].min() == pytest.approx(-15.0, abs=0.1)
    assert main(["experiment", "convert", "clay-1-round-0", "--output", str(tmp_path / "clay")]) == 0
    again = read_experiment(tmp_path / "clay")
    assert again.setup["bodies.lump.path"] == str(tmp_path / "clay" / bodies.LUMP_FILE)
    np.testing.assert_array_equal(again.frames[0].points, record.frames[0].points)


def test_what_cannot_be_converted_is_said_with_what_can(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "convert", "clay-1-ruond-0", "--output", str(tmp_path / "clay")]) == 2
    assert "there is no record 'clay-1-ruond-0'" in capsys.readouterr().err


@pytest.mark.parametrize("body", [checks.CLAY, checks.CUBE, checks.BEAM, checks.ECOFLEX], ids=lambda body: body.scene)
def test_scenes_of_real_bodies_are_ready_to_run(body: checks.Body) -> None:
    scene = load_scene(bodies.SCENES / f"{body.scene}-3d.toml")
    assert len(body.found) == len(scene.calibrate)
    assert all(spec.low <= value <= spec.high for spec, value in zip(scene.calibrate.values(), body.found, strict=True))
    check_capabilities(find_solver(body.solver), build_problem(scene))


@pytest.mark.exhaustive
def test_a_real_beam_is_calibrated_from_data_set_to_prediction(tmp_path: Path) -> None:
    need(datasets.BEAM)
    for name in ("beam-gravity_a", "beam-gravity_b"):
        assert main(["experiment", "convert", name, "--output", str(tmp_path / name)]) == 0
    scene, budget = str(bodies.SCENES / "beam-3d.toml"), ["--budget", "60", "--seeds", "1", "--quiet"]
    asked = ["calibrate", scene, str(tmp_path / "beam-gravity_a"), "--predict", str(tmp_path / "beam-gravity_b")]
    assert main([*asked, "--solver", "fem", *budget, "--output", str(tmp_path / "found")]) == 0
    result = json.loads((tmp_path / "found" / "calibration.json").read_text())
    assert [item["value"] for item in result["parameters"]] == pytest.approx(checks.BEAM.found, rel=0.05)
    assert result["promise"] == 0.0 and result["qualities"][1]["cost"] < 0.8 * result["qualities"][1]["start"]
