"""Predictions against measurements: quick ones run, what was found stays found, and a wrong constant is noticed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheotwin.validation.checks import beam, cube, pieces, records
from rheotwin.validation.checks.check import Check
from rheotwin.validation.checks.outcome import Result
from rheotwin.validation.checks.registry import all_checks, carry_out
from rheotwin.validation.checks.running import aligned
from rheotwin.validation.experiments import datasets

DATA = {"cube": "truth-cube", "beam": "clamped-beam-mocap", "ecoflex": "ecoflex-compression"}
DATA |= {"clay": "clay-poking", "adhesive": "oca-shear", "silicone": "silicone-indentation", "foam": "vinyl-foam-dma"}
QUICK = (
    "cube-data",
    "cube-small-strain-bonded",
    "beam-data",
    "beam-published-fem",
    "beam-fitted-fem",
    "beam-calibrated",
)
QUICK += (
    "adhesive-rates",
    "silicone-chains",
    "silicone-loading",
    "adhesive-fem",
    "adhesive-truss",
    "adhesive-shear-volume",
)
LONGER = (
    "clay-calibrated",
    "clay-scale",
    "cube-calibrated",
    "ecoflex-calibrated",
    "beam-damping",
    "ecoflex-data",
    "ecoflex-fem",
    "ecoflex-friction",
    "beam-fitted-lattice",
)
LONGER += ("beam-words", "beam-published-fixed-point", "beam-fitted-fixed-point", "cube-shear-volume-slipping")
LONGER += ("foam-terms", "foam-blind", "foam-fem", "foam-truss", "foam-shear-volume")
AGREE = {"beam-fitted-fem": ["frequency, load52"], "beam-published-fem": ["frequency ratio"]}
AGREE |= {"ecoflex-fem": [f"residual S, {phantom}" for phantom in datasets.ECOFLEX_PHANTOMS]}
"""Rows that must agree with the measurement, whatever was found before."""


ONE_MESH = "ecoflex-truss"


def named(name: str) -> Check:
    reason = datasets.missing(DATA[name.partition("-")[0]])
    if reason and name != "ecoflex-friction":
        pytest.skip(reason)
    return next(check for check in all_checks() if check.name == name)


def missed(result: Result) -> list[str]:
    return [row.quantity for row in result.rows if row.holds is False or row.baseline == "moved"]


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in LONGER)])
def test_it_is_as_found(name: str) -> None:
    result = carry_out(named(name))
    assert result.status in (("unchanged",) if result.measured else ("holds", "finding")), missed(result)
    verdicts = {row.quantity: row.against for row in result.rows}
    assert all(verdicts[quantity].word == "agrees within U" for quantity in AGREE.get(name, []))


def test_a_stiffer_beam_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check = named("beam-published-fem")
    monkeypatch.setattr(beam.data, "BEAM_YOUNG", 1.03 * beam.data.BEAM_YOUNG)
    beam.released.cache_clear()
    try:
        assert carry_out(check).status == "falls short"
    finally:
        beam.released.cache_clear()


def test_another_poisson_ratio_of_the_cube_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check, model = named("cube-small-strain-bonded"), "small strain, bonded"
    monkeypatch.setitem(cube.MODELS, model, replace(cube.MODELS[model], poisson=0.47))
    assert carry_out(check).status == "falls short"


def test_finer_meshes_say_how_sure_a_model_is_and_one_mesh_says_nothing() -> None:
    meshes = {name: [row.against.mesh for row in carry_out(named(name)).rows] for name in ("beam-fitted-fem", ONE_MESH)}
    assert all(0.0 < mesh < 12.0 for mesh in meshes["beam-fitted-fem"])
    assert meshes[ONE_MESH] == [None] * 12


def test_a_layer_two_percent_stiffer_than_its_law_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check, sheared = named("adhesive-fem"), pieces.sheared
    monkeypatch.setattr(pieces, "sheared", lambda *args: 1.02 * sheared(*args))
    assert carry_out(check).status == "falls short"


def test_a_zero_of_force_that_is_not_taken_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check, silicone = named("silicone-loading"), records.silicone
    monkeypatch.setattr(records, "silicone", lambda test: replace(silicone(test), force=silicone(test).force + 0.008))
    assert {"p, P002-1", "left, P002-1"} <= set(missed(carry_out(check)))


def test_absent_data_could_not_run_and_say_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RHEOTWIN_DATA", str(tmp_path))
    results = [carry_out(check) for check in all_checks() if check.name in ("cube-data", "beam-data", "ecoflex-data")]
    assert len(results) == 3 and {result.status for result in results} == {"not yet"}
    for result in results:
        assert result.message.startswith("could not run: measured data") and "RHEOTWIN_DATA" in result.message


def test_alignment_takes_out_rigid_motions_only() -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(aligned(points @ turn.T + [1.0, 2.0, 3.0], points), points, atol=1e-12)
    assert np.abs(aligned(1.1 * points, points) - points).max() > 0.05
    assert np.abs(aligned(points * [1.0, 1.0, -1.0], points) - points).max() > 0.5


def test_widening_and_approach_of_a_stretched_field() -> None:
    grid = 0.01 * (np.stack(np.meshgrid(*[np.arange(7)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) - 3.0)
    rest = grid * [1.0, 1.0, -1.0]  # k = 1 is on top
    stretched = rest * [1.10, 1.06, 0.8]
    assert cube.widening(stretched, rest, 4) == pytest.approx(0.08, abs=1e-12)
    assert (cube.approach(rest), cube.approach(stretched)) == pytest.approx((0.06, 0.048), abs=1e-12)
