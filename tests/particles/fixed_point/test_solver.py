"""The plug-in: golden words, agreement with the truss, restarts, refusals; ranges, the error account and its sweep."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.errors import EXIT_DIVERGED, InputFaults, RheotwinError, Stopped
from rheotwin.particles.fixed_point import FixedPointSolver
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
from rheotwin.particles.fixed_point.model import build_model, float_body, float_parts, run_reference
from rheotwin.particles.fixed_point.parameters import step_constant
from rheotwin.particles.fixed_point.prepare import FixedPointOptions, Prepared, prepare
from rheotwin.particles.fixed_point.ranges import MARGIN, dead_band, rounded_down, rounded_up, suggest_units
from rheotwin.particles.fixed_point.stepping import Stepping
from rheotwin.problem import Problem
from rheotwin.scene import load_scene
from rheotwin.solver import Simulation, check_capabilities
from rheotwin.validation.checks.running import box_scene, path, problem_of, run_to, side
from rheotwin.validation.checks.running import start as start_any

Data = dict[str, Any]
OBJECT = Path(__file__).parents[3] / "scenes" / "fixed-point-3d.toml"
LAWS: dict[str, Data] = {
    "three-element": {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0},
    "maxwell": {"model": "maxwell", "young": 12.0, "viscosity": 4.0},
    "voigt": {"model": "voigt", "young": 12.0, "viscosity": 0.6},
    "generalized-voigt": {
        "model": "generalized-voigt",
        "units": [{"young": 20.0, "viscosity": 0.6}, {"young": 60.0, "viscosity": 20.0}, {"viscosity": 9.0}],
    },
    "generalized-maxwell": {
        "model": "generalized-maxwell",
        "units": [{"young": 6.0, "viscosity": 3.0}, {"young": 4.0, "viscosity": 0.8}],
        "equilibrium": 5.0,
        "viscosity": 0.4,
    },
}
PUSH = side("top", total=[0.0, 0.0, -2.0])
LOW = {"low": side("left")}
MOVED = path([0.0, 0.5, 1.0], [[0.0] * 3, [0.3, 0.0, 0.0], [0.0] * 3]) | {"interpolation": "smooth"}
MOVING: Data = {
    "supports": LOW | {"up": side("right", fix=["x"], motion=MOVED)},
    "forces": {"push": PUSH | {"times": [0.0, 0.5], "factor": [0.0, 1.0]}},
}
"""Supports of which one moves, and a load over time: the host writes every step."""


def block(law: str = "three-element", cells: tuple[int, ...] = (3, 2, 2), **scene: Any) -> Problem:
    """Return a block of bricks, held on the left and pushed down on the top; keywords change the scene."""
    data = {"gravity": [0.0] * (len(cells) - 1) + [-1.0], "supports": LOW, "forces": {"push": PUSH}}
    data |= {"output": {"interval": 0.25}} | scene
    return problem_of(box_scene({**LAWS[law], "poisson": 0.25}, cells=list(cells), density=1.0, **data))


def start(problem: Problem, **options: Any) -> Any:
    return start_any(problem, "fixed-point", **options)


def truss(problem: Problem, step: float) -> Simulation:
    """Return the same edges with the same rule in floating point."""
    return start_any(problem, "truss", stepper="euler", volume_term=False, step=step, kernel="general")


def prepared(problem: Problem, **options: Any) -> Prepared:
    return prepare(problem, FixedPointOptions(**options))


@cache
def papers_object() -> tuple[Problem, Data]:
    """Return the papers' object of 9 x 9 x 9 particles and the options of its scene."""
    problem = build_problem(load_scene(OBJECT))
    return problem, problem.scene.solvers["fixed-point"]


@cache
def golden() -> Prepared:
    problem, options = papers_object()
    return prepared(problem, **options)


def same_words(one: Simulation, other: Simulation) -> None:
    first, second = one.save(), other.save()
    assert set(first) == set(second)
    for name, array in first.items():
        assert np.array_equal(array, second[name]), name
    for name, force in one.reactions().items():
        assert np.array_equal(force, other.reactions()[name]), name


def test_golden_words_of_the_papers_object() -> None:
    """G1, spec 6.4: the scene file gives the raw positions of the specification."""
    problem, options = papers_object()
    simulation = start(problem, **options)
    corners = [problem.probes["up"], problem.probes["down"]]
    words = {
        100: [[10179, 10513, 10179], [-10448, 9941, -10449]],
        500: [[9592, 12218, 9592], [-11648, 8093, -11649]],
        1000: [[8067, 14949, 8080], [-13148, 4933, -13149]],
    }
    for step, expected in words.items():
        run_to(simulation, step * 0.01)
        assert simulation.body.position[corners].tolist() == expected
    assert simulation.body.position.sum(axis=0).tolist() == [-302465, 208266, -300428]
    assert not any(simulation.statistics()["overflows"].values())


@pytest.mark.parametrize("law", LAWS)
def test_float_form_is_the_truss_with_euler(law: str) -> None:
    """Same equations, same rule, to rounding; voigt edges and chains that take the length to the order of the step."""
    model, gaps = build_model(block(law, **MOVING), match="element", relaxing=1e9), []
    for steps in (80, 160):
        reference, body = truss(model.problem, 1.0 / steps), float_body(model)
        run_to(reference, 1.0)
        run_reference(float_parts(model), body, 0, steps, 1.0 / steps)
        gaps.append(np.abs(body.position + model.centre - reference.positions).max())
    # A voigt edge adds up its lengthening rate where the truss takes the length: they differ by the order of the rule.
    assert max(gaps) < 1e-13 if law not in ("voigt", "generalized-maxwell") else 1.8 < gaps[0] / gaps[1] < 2.2


@pytest.mark.parametrize(
    ("law", "moves"),
    [
        pytest.param(law, moves, marks=() if moves == (law in ("three-element", "maxwell")) else pytest.mark.exhaustive)
        for law in LAWS
        for moves in (False, True)
    ],
)
def test_results_are_those_of_the_truss_to_the_length_of_words(law: str, moves: bool) -> None:
    """24 bits, 14 after the point; the series dashpot of a voigt edge flows by a hundredth and a step is 1/40."""
    problem = block(law, **(MOVING if moves else {}))
    simulation = start(problem, word=24, fraction=14, series_time=100.0)
    reference = truss(problem, simulation.step_size)
    for time in (0.5, 1.0):
        for run in (simulation, reference):
            run_to(run, time)
            assert run.time == time
        found, expected = simulation.fields(), reference.fields()
        assert set(found) == set(expected)
        for name, values in expected.items():
            assert found[name].shape == values.shape
            assert np.abs(found[name] - values).max() <= 0.03 * np.abs(values).max(), name
        assert simulation.energy() == pytest.approx(reference.energy(), rel=0.06)
        assert set(simulation.reactions()) == set(reference.reactions())
    fastest = np.abs(reference.velocities).max()
    np.testing.assert_allclose(simulation.velocities, reference.velocities, atol=0.02 * fastest)


def test_reactions_balance_the_loads_at_rest() -> None:
    """At the start nothing is strained: the support carries weight and load of its own points only."""
    problem = block()
    simulation = start(problem)
    unit = simulation.prepared.constants.units.force / 256
    held, shares = problem.prescribed[0].nodes, np.zeros_like(problem.points)
    np.add.at(shares, problem.loads[0].nodes, problem.loads[0].shares)
    expected = (problem.masses[held, None] * problem.gravity + shares[held]).sum(axis=0)
    assert np.abs(simulation.reactions()["support.low"] - expected).max() <= 0.5 * unit * len(held)


def test_moving_supports_are_where_their_motion_is_and_react_as_in_the_truss() -> None:
    problem = block(**MOVING)
    simulation = start(problem, word=20, fraction=12)
    reference = truss(problem, simulation.step_size)
    word = simulation.prepared.constants.units.length / 2**12
    for time in (0.25, 0.5, 0.75, 1.0):
        for run in (simulation, reference):
            run_to(run, time)
        found, expected = (run.reactions()["support.up"][0] for run in (simulation, reference))
        assert found == pytest.approx(expected, abs=0.02 * 7.2), time
        moved, way = simulation.positions - problem.points, 0.3 if time == 0.5 else 0.0 if time == 1.0 else 0.15
        assert np.abs(moved[problem.prescribed[1].nodes, 0] - way).max() <= 0.5 * word * (1 + 1e-9)
        assert np.abs(moved[problem.prescribed[0].nodes]).max() <= 0.5 * word * (1 + 1e-9)


@pytest.mark.parametrize(
    ("sqrt", "moves"),
    [
        ("floor", True),
        ("cordic", False),
        *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in (("floor", False), ("cordic", True))),
    ],
)
def test_restart_continues_bit_for_bit(moves: bool, sqrt: str) -> None:
    problem = block(**(MOVING if moves else {}))
    through, first, second = (start(problem, sqrt=sqrt) for _ in range(3))
    run_to(through, 1.0)
    first.advance(1.0, 11)
    second.advance(1.0, 3)  # restoring must forget this
    second.restore(first.save())
    while second.time < 1.0:
        second.advance(1.0, 7)
    same_words(through, second)


def test_fast_and_readable_form_give_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = block(**MOVING)
    fast = start(problem)
    monkeypatch.setattr("rheotwin.particles.fixed_point.stepping.runs_fast", lambda constants: False)
    readable = start(problem)
    assert (fast.statistics()["kernel"], readable.statistics()["kernel"]) == ("unstructured", "readable")
    for simulation in (fast, readable):
        run_to(simulation, 1.0)
    same_words(fast, readable)


def test_words_in_other_units_are_refused() -> None:
    problem = block()
    with pytest.raises(RheotwinError, match=r"other units; resume with time_unit = \S+, length_unit = 0.1"):
        start(problem).restore(start(problem, length_unit=0.1).save())
    with pytest.raises(RheotwinError, match="written with a step"):
        start(problem).restore(start(problem, safety=0.2).save())


def test_time_unit_leaves_the_float_form_alone() -> None:
    """Table 2.1: another unit of time is another scaling of the same words' values, not another model."""
    problem, ends = block(), []
    for unit in (0.5, 1.0, 2.0):
        simulation = start(problem, word=24, fraction=16, time_unit=unit, length_unit=0.2, mass_unit=1.0)
        run_to(simulation, 1.0)
        ends.append(simulation.positions)
    assert np.ptp(ends, axis=0).max() < 1e-3 * np.abs(ends[0] - problem.points).max()


def test_a_body_in_the_plane() -> None:
    problem = block(cells=(3, 2), forces={"push": side("top", total=[0.0, -2.0])})
    simulation = start(problem, word=20, fraction=12)
    reference = truss(problem, simulation.step_size)
    for run in (simulation, reference):
        run_to(run, 1.0)
    assert simulation.positions.shape == problem.points.shape
    moved = np.abs(reference.positions - problem.points).max()
    assert np.abs(simulation.positions - reference.positions).max() < 0.01 * moved
    assert not simulation.body.position[:, 2].any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"word": 12, "fraction": 12}, "leave no range in 12; choose at most 10"),
        ({"step": 0.5}, "above the stable step of"),
        ({"analyse": False}, "give `time_unit`, `length_unit` and `mass_unit`"),
        ({"tem_wmod": False, "time_unit": 100.0}, "overflows 16 bits with 8 after the point"),
        ({"time_unit": 1e6, "h_const": "plain8"}, "rounds to zero|overflows"),
        ({"length_unit": 0.005}, "beyond 16 bits"),
        ({"mass_unit": 1e-4}, "larger mass_unit|overflows"),
    ],
)
def test_what_the_words_cannot_hold_is_refused(options: Data, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence) as caught:
        start(block(), **options)
    assert "\n" not in str(caught.value)


def test_laws_that_are_no_springs_and_dashpots_are_refused() -> None:
    slid = {**LAWS["three-element"], "poisson": 0.2, "slider": {"natural": 0.5, "least": 0.2, "most": 0.8}}
    with pytest.raises(InputFaults) as caught:
        check_capabilities(FixedPointSolver(), block(laws={"stuff": slid}))
    assert [fault.place for fault in caught.value.faults] == ["laws of body block"]


def test_dead_band_and_range_are_told_before_the_run() -> None:
    with pytest.raises(
        Stopped, match=r"stand still and the fastest one has \S+ m/s: take a longer step.*would do"
    ) as end:
        start(block(), length_unit=40.0)
    assert end.value.exit_code == EXIT_DIVERGED
    with pytest.warns(UserWarning, match="lose the motion, 107 % of the mean displacement are error"):
        start(block(), length_unit=40.0, stop=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        units = start(block()).prepared.constants.units
    with pytest.warns(UserWarning, match=r"F grows to 1\.\d+ times the range of 16 bits, 8 after the point: 17 bits"):
        start(block(), mass_unit=units.mass / 1.55)


def test_error_of_the_papers_object_over_time() -> None:
    """Spec 6.4: 0.43 .. 4.21 % of the width, to the digits given; no overflow; all points drift with the loads' sum."""
    found = account(golden())
    assert np.allclose(found.times, np.arange(3, 31, 3))
    expected = [0.43, 0.84, 1.22, 1.63, 2.03, 2.41, 2.82, 3.24, 3.72, 4.21]
    assert 100 * found.relative == pytest.approx(expected, abs=0.0055)
    assert not any(found.overflows.values())
    assert found.width == 80.0
    assert found.diagnosis == ["all points drift together by 2.33 m of a mean error of 3.37 m"]


def test_peaks_are_those_of_the_float_form() -> None:
    made = prepared(block())
    ranges = made.ranges
    assert ranges is not None
    body, parts, peaks = float_body(made.model), float_parts(made.model), np.zeros((1, 3))
    for step in range(ranges.steps):
        run_reference(parts, body, step, 1, float(made.step))
        now = [np.abs(array).max() for array in (body.velocity, body.position, body.lam)]
        peaks = np.maximum(peaks, now)
    assert [ranges.peaks[name] for name in ("v", "x", "lambda")] == peaks[0].tolist()
    assert np.array_equal(ranges.end.position, body.position)


@pytest.mark.parametrize(("word", "fraction"), [(12, 6), (16, 8), (16, 11), (20, 12)])
@pytest.mark.parametrize("own_points", [False, True])
def test_suggested_units_leave_no_overflow_and_use_the_range(word: int, fraction: int, own_points: bool) -> None:
    made = prepared(block(), word=word, fraction=fraction, tem_wmod=own_points)
    assert made.ranges is not None
    shares = made.ranges.shares(made.constants.units, made.constants.form)
    assert max(shares.values()) <= MARGIN * 1.001
    circuit = Stepping(made)
    circuit.take(made.ranges.steps)
    assert not circuit.overflows.any()


def test_given_units_stay_and_the_others_follow() -> None:
    made = prepared(block())
    assert made.ranges is not None
    found = suggest_units(made.ranges, made.model, Format(), own_points=True, length=0.5)
    free = suggest_units(made.ranges, made.model, Format(), own_points=True)
    assert found.length == 0.5 != free.length
    assert found.time > free.time  # longer units leave more room for velocities and accelerations


@pytest.mark.parametrize(("value", "up", "down"), [(0.01234, 0.013, 0.012), (250.0, 250.0, 250.0), (1.0, 1.0, 1.0)])
def test_units_have_two_digits(value: float, up: float, down: float) -> None:
    assert (rounded_up(value), rounded_down(value)) == (pytest.approx(up), pytest.approx(down))


@pytest.mark.parametrize("how", ["printed", "eq218"])
def test_dead_band_is_what_the_product_rounds_to_zero(how: Any) -> None:
    constant, band = step_constant(0.01, how), 50
    found = dead_band(replace(golden().constants, H=constant))
    assert (found.raw, found.velocity) == (band, band / 256)
    assert not cmul(constant.raw, constant.w, np.arange(-band, band + 1), True).any()
    assert cmul(constant.raw, constant.w, [-band - 2, band + 1], True).all()


def test_dead_band_keeps_a_weak_load_from_moving_anything() -> None:
    """Spec 6.4: a net force inside the band does nothing: the error is the whole displacement, and is told as such."""
    weak = {"push": side("top", total=[0.0, 0.0, -0.02])}
    made = prepared(block(gravity=[0.0] * 3, forces=weak), length_unit=0.1, time_unit=0.1, mass_unit=1.0)
    found = account(made, 2)
    assert found.mean[-1] == pytest.approx(found.travel[-1], abs=made.constants.units.length / 256)
    assert found.standing[-1] > 0.5 and any("dead band" in said for said in found.diagnosis)
    assert sum("stand still" in said or "change no velocity" in said for said in made.remarks) == 2


def test_truncation_drifts() -> None:
    """Spec 6.3: cut products of the step pull every point by up to a unit of the last place a step, all one way."""
    found = account(prepared(block(), euler_round=False), 1)
    assert found.mean[-1] > 2.0 * account(prepared(block()), 1).mean[-1]
    assert (found.drift[-1] < 0.0).all()


def test_operations_round_by_at_most_a_unit() -> None:
    """Floors err by (-1, 0], rounded products by 1/2; two floored products add up; direction and force are vectors."""
    circuit, made = Stepping(golden()), golden()
    circuit.take(500)
    found = {(e.module, e.operation): e for e in operation_errors(circuit.body, made.constants, made.model, 0.01)}
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


def test_wider_words_are_more_accurate() -> None:
    rows = sweep(prepared(block()), (14, 16, 18, 20))
    best = [best_of_word(rows, word) for word in (14, 16, 18, 20)]
    errors = [row.error for row in best if row is not None and row.error is not None]
    assert len(errors) == 4 and errors == sorted(errors, reverse=True)
    # Two bits more divide rounding by four; half of that is the least that can be expected of the best point.
    assert errors[0] > 4.0 * errors[-1]
    found = shortest(rows, 1.01 * errors[2])
    assert found is not None and found.word == 18 and found.overflows == 0
    assert shortest(rows, 0.0) is None
    assert usable(rows)[0].error == min(errors)


def test_format_that_does_not_fit_says_why_and_a_sweep_needs_the_ranges() -> None:
    """With units of its own the object needs 7 bits before the point: 16 bits with 12 after it cannot hold 40."""
    tight = format_error(golden(), 16, 12)
    assert tight.error is None and "overflows" in tight.fault
    assert best_of_word([tight], 16) is None
    made = prepared(block(), analyse=False, time_unit=1.0, length_unit=0.1, mass_unit=1.0)
    with pytest.raises(RheotwinError, match="a sweep needs the run in double precision"):
        sweep(made, (16,))
    assert made.remarks == []


@pytest.mark.parametrize("latency", [0.0, 0.1])
def test_host_writes_once_a_period_what_is_as_old_as_its_latency(latency: float) -> None:
    """Held points go in straight lines from where their motion was a latency before one writing to the next."""
    problem = block(**MOVING)
    simulation = start(problem, step=0.025, host_period=0.2, host_latency=latency, tolerance=10.0, word=16)
    places, item = [], problem.prescribed[1]
    word = simulation.prepared.constants.units.length / 256
    for number in range(1, 41):
        simulation.advance(0.025 * number, 10**6)
        places.append((simulation.positions - problem.points)[item.nodes, 0])
    times = np.arange(6) * 0.2
    known = [item.motion.at(max(0.0, time - latency))[0] for time in times]
    expected = np.interp(0.025 * np.arange(1, 41), times, known)
    away = np.abs(np.array(places) - expected[:, None])
    assert away[7::8].max() <= 0.5 * word * (1 + 1e-9)
    # In between a rounded speed, and a rounded place in each of its steps.
    assert away.max() <= 5.0 * word
    assert np.ptp(np.diff(np.array(places), axis=0)[7:14], axis=0).max() <= 1.1 * word


def test_overflow_ends_the_run_at_its_step() -> None:
    """The first step with an overflow is named whatever the size of chunks, and what is named for it does."""
    units = start(block()).prepared.constants.units
    chosen = {"time_unit": units.time, "length_unit": units.length, "mass_unit": units.mass / 1.55, "analyse": False}
    plain = start(block(), **chosen, stop=False)
    with pytest.warns(UserWarning, match="words overflow by t = .* in .*F_sum") as told:
        for time in (0.5, 0.75, 1.0):
            plain.advance(time, 10**6)
    assert len(told) == 1
    assert plain.statistics()["overflows"]["F_sum"] > 0
    first = start(block(), **chosen, stop=False)
    while not any(first.statistics()["overflows"].values()):
        first.advance(1.0, 1)
    for chunk in (1, 3, 10**6):
        simulation = start(block(), **chosen)
        with pytest.raises(Stopped, match=r"16 bits, 8 after the point overflow in the sum of forces") as stopped:
            while simulation.time < 1.0:
                simulation.advance(1.0, chunk)
        assert stopped.value.time == simulation.time == first.time
    remedy = re.search(
        r"word = (\d+), .*time_unit = (\S+), length_unit = (\S+), mass_unit = (\S+) would do", str(stopped.value)
    )
    assert remedy is not None
    word, time, length, mass = (float(number) for number in remedy.groups())
    cured = start(block(), word=int(word), time_unit=time, length_unit=length, mass_unit=mass)
    cured.advance(1.0, 10**6)
    assert cured.statistics()["announced_error"] < 0.03


@pytest.mark.parametrize("law", LAWS)
def test_chosen_words_are_as_close_as_announced(law: str) -> None:
    """What is announced is kept; a tolerance that the papers' words miss is met by points of their own in 16 bits."""
    problem = block(law, **MOVING)
    for tolerance, own in ((0.05, False), (0.002, True), (1e-5, True)):
        simulation = start(problem, tolerance=tolerance)
        said = simulation.statistics()
        assert (said["word"] == 16) == (tolerance > 1e-4) and ("points" in said) == own
        simulation.advance(1.0, 10**6)
        model, ranges = simulation.prepared.model, simulation.prepared.ranges
        assert ranges is not None
        gap = np.linalg.norm(simulation.positions - model.centre - ranges.end.position, axis=1).mean()
        travel = max(np.linalg.norm(x - model.points, axis=1).mean() for _, x in ranges.samples)
        assert gap / travel <= said["announced_error"] * (1.0 + 1e-9) <= tolerance


def test_words_that_nothing_can_choose_are_refused() -> None:
    with pytest.raises(RheotwinError, match=r"no words of up to 16 bits follow the scene within 0.001 %.*leave `word`"):
        start(block(), word=16, tolerance=1e-5)


def test_checkpoint_names_the_points_it_needs() -> None:
    chosen, problem = start(block(), tolerance=1e-3), block()
    with pytest.raises(RheotwinError, match=r"word = 16 and fraction = 8, points = \[14, \d+, ") as told:
        start(problem).restore(chosen.save())
    assert "\n" not in str(told.value)
    same = start(problem, **chosen.settled())
    chosen.advance(0.5, 10**6)
    same.restore(chosen.save())
    for simulation in (chosen, same):
        simulation.advance(1.0, 10**6)
    assert np.array_equal(chosen.body.position, same.body.position)
