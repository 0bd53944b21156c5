"""Range analysis, error account, sweep over formats: what they say about blocks and about the papers' object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import Format, cmul
from rheotwin.particles.fixed_point.errors import (
    account,
    best_of_word,
    format_error,
    operation_errors,
    shortest,
    sweep,
    usable,
)
from rheotwin.particles.fixed_point.model import float_body, float_parts, run_reference
from rheotwin.particles.fixed_point.parameters import Units, step_constant
from rheotwin.particles.fixed_point.prepare import Prepared
from rheotwin.particles.fixed_point.ranges import MARGIN, dead_band, rounded_down, rounded_up, suggest_units
from rheotwin.particles.fixed_point.stepping import Stepping
from rheotwin.problem import Problem

Prepare = Callable[..., Prepared]
MakeBlock = Callable[..., Problem]


@pytest.fixture(scope="module")
def golden(papers_object: tuple[Problem, dict[str, Any]]) -> Prepared:
    from rheotwin.particles.fixed_point.prepare import FixedPointOptions, prepare

    problem, options = papers_object
    return prepare(problem, FixedPointOptions(**options))


def test_error_of_the_papers_object_over_time(golden: Prepared) -> None:
    """Spec 6.4: 0.43 .. 4.21 % of the width, to the digits given; no overflow; all points drift with the loads' sum."""
    found = account(golden)
    assert np.allclose(found.times, np.arange(3, 31, 3))
    expected = [0.43, 0.84, 1.22, 1.63, 2.03, 2.41, 2.82, 3.24, 3.72, 4.21]
    assert 100 * found.relative == pytest.approx(expected, abs=0.0055)
    assert not any(found.overflows.values())
    assert found.width == 80.0
    assert found.diagnosis == ["all points drift together by 2.33 m of a mean error of 3.37 m"]


def test_peaks_are_those_of_the_float_form(make_block: MakeBlock, prepared: Prepare) -> None:
    made = prepared(make_block())
    ranges = made.ranges
    assert ranges is not None
    body, parts = float_body(made.model), float_parts(made.model)
    speeds, places, lams = [0.0], [0.0], [0.0]
    for step in range(ranges.steps):
        run_reference(parts, body, step, 1, float(made.step))
        speeds.append(np.abs(body.velocity).max())
        places.append(np.abs(body.position).max())
        lams.append(np.abs(body.lam).max())
    assert (ranges.peaks["v"], ranges.peaks["x"], ranges.peaks["lambda"]) == (max(speeds), max(places), max(lams))
    assert np.array_equal(ranges.end.position, body.position)


@pytest.mark.parametrize(("word", "fraction"), [(12, 6), (16, 8), (16, 11), (20, 12)])
@pytest.mark.parametrize("own_points", [False, True])
def test_suggested_units_leave_no_overflow_and_use_the_range(
    word: int, fraction: int, own_points: bool, make_block: MakeBlock, prepared: Prepare
) -> None:
    made = prepared(make_block(), word=word, fraction=fraction, tem_wmod=own_points)
    assert made.ranges is not None
    shares = made.ranges.shares(made.constants.units, made.constants.form)
    assert max(shares.values()) <= MARGIN * 1.001
    circuit = Stepping(made)
    circuit.take(made.ranges.steps)
    assert not circuit.overflows.any()


def test_given_units_stay_and_the_others_follow(make_block: MakeBlock, prepared: Prepare) -> None:
    made = prepared(make_block())
    assert made.ranges is not None
    found = suggest_units(made.ranges, made.model, Format(), own_points=True, length=0.5)
    free = suggest_units(made.ranges, made.model, Format(), own_points=True)
    assert found.length == 0.5 != free.length
    assert found.time > free.time  # longer units leave more room for velocities and accelerations


@pytest.mark.parametrize(("value", "up", "down"), [(0.01234, 0.013, 0.012), (250.0, 250.0, 250.0), (1.0, 1.0, 1.0)])
def test_units_have_two_digits(value: float, up: float, down: float) -> None:
    assert (rounded_up(value), rounded_down(value)) == (pytest.approx(up), pytest.approx(down))


@pytest.mark.parametrize(("how", "band"), [("printed", 50), ("eq218", 50)])
def test_dead_band_is_what_the_product_rounds_to_zero(golden: Prepared, how: Any, band: int) -> None:
    constant = step_constant(0.01, how)
    found = dead_band(replace(golden.constants, H=constant))
    assert found.raw == band
    inside = np.arange(-band, band + 1)
    assert not cmul(constant.raw, constant.w, inside, True).any()
    assert cmul(constant.raw, constant.w, [-band - 2, band + 1], True).all()
    assert found.velocity == band / 256


def test_dead_band_keeps_a_weak_load_from_moving_anything(make_block: MakeBlock, prepared: Prepare) -> None:
    """Spec 6.4: a net force inside the band does nothing: the error is the whole displacement, and is told as such."""
    weak = {"push": {"body": "block", "where": {"side": "top"}, "total": [0.0, 0.0, -0.02]}}
    made = prepared(make_block(gravity=[0.0] * 3, forces=weak), length_unit=0.1, time_unit=0.1, mass_unit=1.0)
    found = account(made, 2)
    word = made.constants.units.length / 256
    assert found.mean[-1] == pytest.approx(found.travel[-1], abs=word)
    assert found.standing[-1] > 0.5 and any("dead band" in said for said in found.diagnosis)
    assert sum("stand still" in said or "change no velocity" in said for said in made.remarks) == 2


def test_truncation_drifts(make_block: MakeBlock, prepared: Prepare) -> None:
    """Spec 6.3: cut products of the step pull every point by up to a unit of the last place a step, all one way."""
    made = prepared(make_block(), euler_round=False)
    found = account(made, 1)
    assert found.mean[-1] > 2.0 * account(prepared(make_block()), 1).mean[-1]
    assert (found.drift[-1] < 0.0).all()


def test_operations_round_by_at_most_a_unit(golden: Prepared) -> None:
    """Floors err by (-1, 0], rounded products by 1/2; two floored products add up; direction and force are vectors."""
    circuit = Stepping(golden)
    circuit.take(500)
    found = {(e.module, e.operation): e for e in operation_errors(circuit.body, golden.constants, golden.model, 0.01)}
    for (module, name), error in found.items():
        bound = 0.5 if module == "MPM" or name == "step of lv - L" else 2.0 if name == "Voigt rate lvd" else 1.0
        assert error.worst <= bound, name
        assert abs(error.mean) <= error.rms <= error.worst
    floors = ("square root", "reciprocal", "direction e", "rate ld")
    assert all(-0.6 < found["TEM", name].mean < -0.2 for name in floors)
    assert all(abs(found["MPM", name].mean) < 0.05 for name in ("step of v", "step of x"))
    # Section 4: at a spacing of 10 the reciprocal has 25 units in place of 25.6, 2.3 % short.
    assert found["TEM", "reciprocal"].accumulated == pytest.approx(0.024, abs=0.003)
    assert found["TEM", "force f"].rms == 0.0  # C2 = 100 is whole


def test_wider_words_are_more_accurate(make_block: MakeBlock, prepared: Prepare) -> None:
    rows = sweep(prepared(make_block()), (14, 16, 18, 20))
    best = [best_of_word(rows, word) for word in (14, 16, 18, 20)]
    errors = [row.error for row in best if row is not None and row.error is not None]
    assert len(errors) == 4 and errors == sorted(errors, reverse=True)
    # Two bits more divide rounding by four; half of that is the least that can be expected of the best point.
    assert errors[0] > 4.0 * errors[-1]
    tolerance = 1.01 * errors[2]
    found = shortest(rows, tolerance)
    assert found is not None and found.word == 18 and found.overflows == 0
    assert shortest(rows, 0.0) is None
    assert usable(rows)[0].error == min(errors)


def test_format_that_does_not_fit_says_why(golden: Prepared) -> None:
    """With units of its own the object needs 7 bits before the point: 16 bits with 12 after it cannot hold 40."""
    row = format_error(golden, 16, 12)
    assert row.error is None and "overflows" in row.fault
    assert best_of_word([row], 16) is None


def test_sweep_needs_the_ranges(make_block: MakeBlock, prepared: Prepare) -> None:
    made = prepared(make_block(), analyse=False, time_unit=1.0, length_unit=0.1, mass_unit=1.0)
    with pytest.raises(RheotwinError, match="a sweep needs the run in double precision"):
        sweep(made, (16,))
    assert made.remarks == []


def test_units_of_the_suggestion_are_units(make_block: MakeBlock, prepared: Prepare) -> None:
    assert isinstance(prepared(make_block()).constants.units, Units)
