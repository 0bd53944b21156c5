"""Predictions against measurements: quick ones run, what was found stays found, and a wrong constant is noticed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheotwin.validation.checks import beam, cube
from rheotwin.validation.checks.registry import all_checks, carry_out
from rheotwin.validation.checks.running import aligned
from rheotwin.validation.experiments import datasets

DATA = {"cube": "truth-cube", "beam": "clamped-beam-mocap", "ecoflex": "ecoflex-compression"}
QUICK = (
    "cube-data",
    "cube-small-strain-bonded",
    "beam-data",
    "beam-published-fem",
    "beam-damping",
    "ecoflex-data",
    "ecoflex-fem",
    "ecoflex-friction",
)


def named(name: str):  # type: ignore[no-untyped-def]
    reason = datasets.missing(DATA[name.partition("-")[0]])
    if reason and name != "ecoflex-friction":
        pytest.skip(reason)
    return next(check for check in all_checks() if check.name == name)


@pytest.mark.parametrize("name", [*QUICK, pytest.param("beam-fitted-lattice", marks=pytest.mark.slow)])
def test_it_is_as_found(name: str) -> None:
    result = carry_out(named(name))
    assert result.status in ("holds", "finding"), (result.message, [row for row in result.rows if not row.holds])


def test_what_is_measured_holds_in_these_rows() -> None:
    """Rows that must hold without a finding: the ratio of frequencies and the fitted beam's loaded frequency."""
    named("beam-published-fem")
    rows = {row.quantity: row.holds for row in carry_out(named("beam-fitted-fem")).rows}
    assert rows["frequency, load52"]
    assert {row.quantity: row.holds for row in carry_out(named("beam-published-fem")).rows}["frequency ratio"]
    assert all(row.holds for row in carry_out(named("ecoflex-fem")).rows if row.quantity.startswith("residual"))


def test_a_stiffer_beam_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check = named("beam-published-fem")
    monkeypatch.setattr(beam.data, "BEAM_YOUNG", 1.03 * beam.data.BEAM_YOUNG)
    beam.released.cache_clear()
    try:
        assert carry_out(check).status == "falls short"
    finally:
        beam.released.cache_clear()


def test_another_poisson_ratio_of_the_cube_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    check = named("cube-small-strain-bonded")
    name = "small strain, bonded"
    monkeypatch.setitem(cube.MODELS, name, replace(cube.MODELS[name], poisson=0.47))
    assert carry_out(check).status == "falls short"


def test_absent_data_could_not_run_and_say_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RHEOTWIN_DATA", str(tmp_path))
    for name in ("cube-data", "beam-data", "ecoflex-data"):
        result = carry_out(next(check for check in all_checks() if check.name == name))
        assert result.status == "not yet"
        assert result.message.startswith("could not run: measured data") and "RHEOTWIN_DATA" in result.message


def test_alignment_takes_out_rigid_motions_only() -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(aligned(points @ turn.T + [1.0, 2.0, 3.0], points), points, atol=1e-12)
    assert np.abs(aligned(1.1 * points, points) - points).max() > 0.05
    mirrored = points * [1.0, 1.0, -1.0]
    assert np.abs(aligned(mirrored, points) - points).max() > 0.5


def test_widening_and_approach_of_a_stretched_field() -> None:
    grid = 0.01 * (np.stack(np.meshgrid(*[np.arange(7)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) - 3.0)
    rest = grid * [1.0, 1.0, -1.0]  # k = 1 is on top
    stretched = rest * [1.10, 1.06, 0.8]
    assert cube.widening(stretched, rest, 4) == pytest.approx(0.08, abs=1e-12)
    assert cube.approach(rest) == pytest.approx(0.06, abs=1e-12)
    assert cube.approach(stretched) == pytest.approx(0.048, abs=1e-12)
