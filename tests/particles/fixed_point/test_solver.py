"""The plug-in: golden words through a scene file, agreement with the truss, results, restarts, what it refuses."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import EXIT_DIVERGED, InputFaults, RheotwinError, Stopped
from rheotwin.particles import TrussSolver
from rheotwin.particles.fixed_point import FixedPointSolver
from rheotwin.particles.fixed_point.model import build_model, float_body, float_parts, run_reference
from rheotwin.particles.fixed_point.solver import FixedPointSimulation
from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.solver import check_capabilities, checked_options

Start = Callable[..., FixedPointSimulation]
MakeBlock = Callable[..., Problem]
LAWS = ["three-element", "maxwell", "voigt"]


def truss(problem: Problem, step: float, **options: Any) -> TrussSimulation:
    """Return the same edges with the same rule in floating point."""
    wanted = {"stepper": "euler", "volume_term": False, "step": step, "kernel": "general", **options}
    return TrussSolver().start(problem, checked_options(TrussSolver, wanted))


def test_golden_words_of_the_papers_object(papers_object: tuple[Problem, dict[str, Any]], start: Start) -> None:
    """G1, spec 6.4: the scene file gives the raw positions of the specification."""
    problem, options = papers_object
    simulation = start(problem, **options)
    corners = [problem.probes["up"], problem.probes["down"]]
    golden = {
        100: [[10179, 10513, 10179], [-10448, 9941, -10449]],
        500: [[9592, 12218, 9592], [-11648, 8093, -11649]],
        1000: [[8067, 14949, 8080], [-13148, 4933, -13149]],
    }
    for step, words in golden.items():
        simulation.advance(step * 0.01, 10**6)
        assert simulation.body.position[corners].tolist() == words
    assert simulation.body.position.sum(axis=0).tolist() == [-302465, 208266, -300428]
    assert not any(simulation.statistics()["overflows"].values())


@pytest.mark.parametrize("law", LAWS)
def test_float_form_is_the_truss_with_euler(law: str, make_block: MakeBlock, moved_support: dict[str, Any]) -> None:
    """Same equations, same rule, to rounding; a voigt edge to the first order of the step."""
    model = build_model(make_block(law, **moved_support), match="element", relaxing=1e9)
    gaps = []
    for steps in (80, 160):
        reference = truss(model.problem, 1.0 / steps)
        reference.advance(1.0, steps)
        body = float_body(model)
        run_reference(float_parts(model), body, 0, steps, 1.0 / steps)
        gaps.append(np.abs(body.position + model.centre - reference.positions).max())
    # A voigt edge adds up its lengthening rate where the truss takes the length: they differ by the order of the rule.
    assert max(gaps) < 1e-13 if law != "voigt" else 1.8 < gaps[0] / gaps[1] < 2.2


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("moves", [False, True])
def test_results_are_those_of_the_truss_to_the_length_of_words(
    law: str, moves: bool, make_block: MakeBlock, start: Start, moved_support: dict[str, Any]
) -> None:
    """24 bits, 14 after the point; the series dashpot of a voigt edge flows by a hundredth and a step is 1/40."""
    problem = make_block(law, **(moved_support if moves else {}))
    simulation = start(problem, word=24, fraction=14, series_time=100.0)
    reference = truss(problem, simulation.step_size)
    for time in (0.5, 1.0):
        simulation.advance(time, 10**6)
        reference.advance(time, 10**6)
        assert simulation.time == reference.time == time
        found, expected = simulation.fields(), reference.fields()
        assert set(found) == set(expected)
        for name, values in expected.items():
            assert found[name].shape == values.shape
            assert np.abs(found[name] - values).max() <= 0.03 * np.abs(values).max(), name
        for name, energy in reference.energy().items():
            assert simulation.energy()[name] == pytest.approx(energy, rel=0.06), name
        assert set(simulation.reactions()) == set(reference.reactions())
    np.testing.assert_allclose(
        simulation.velocities, reference.velocities, atol=0.02 * np.abs(reference.velocities).max()
    )


def test_reactions_balance_the_loads_at_rest(make_block: MakeBlock, start: Start) -> None:
    """At the start nothing is strained: the support carries weight and load of its own points only."""
    problem = make_block()
    simulation = start(problem)
    unit = simulation.prepared.constants.units.force / 256
    held = problem.prescribed[0].nodes
    shares = np.zeros_like(problem.points)
    np.add.at(shares, problem.loads[0].nodes, problem.loads[0].shares)
    expected = (problem.masses[held, None] * problem.gravity + shares[held]).sum(axis=0)
    found = simulation.reactions()["support.low"]
    assert np.abs(found - expected).max() <= 0.5 * unit * len(held)


def test_reaction_of_a_moving_support_is_that_of_the_truss(
    make_block: MakeBlock, start: Start, moved_support: dict[str, Any]
) -> None:
    problem = make_block(**moved_support)
    simulation = start(problem, word=20, fraction=12)
    reference = truss(problem, simulation.step_size)
    for time in (0.25, 0.5, 0.75, 1.0):
        simulation.advance(time, 10**6)
        reference.advance(time, 10**6)
        found, expected = (run.reactions()["support.up"][0] for run in (simulation, reference))
        assert found == pytest.approx(expected, abs=0.02 * 7.2), time


def test_moving_supports_are_where_their_motion_is(
    make_block: MakeBlock, start: Start, moved_support: dict[str, Any]
) -> None:
    problem = make_block(**moved_support)
    simulation = start(problem)
    word = simulation.prepared.constants.units.length / 256
    simulation.advance(0.5, 10**6)
    moved = simulation.positions - problem.points
    assert np.abs(moved[problem.prescribed[1].nodes, 0] - 0.3).max() <= 0.5 * word * (1 + 1e-9)
    assert np.abs(moved[problem.prescribed[0].nodes]).max() <= 0.5 * word * (1 + 1e-9)


@pytest.mark.parametrize("latency", [0.0, 0.1])
def test_host_writes_once_a_period_what_is_as_old_as_its_latency(
    latency: float, make_block: MakeBlock, start: Start, moved_support: dict[str, Any]
) -> None:
    """Held points go in straight lines from where their motion was a latency before one writing to the next."""
    problem = make_block(**moved_support)
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


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("sqrt", ["floor", "cordic"])
def test_restart_continues_bit_for_bit(
    moves: bool, sqrt: str, make_block: MakeBlock, start: Start, moved_support: dict[str, Any]
) -> None:
    problem = make_block(**(moved_support if moves else {}))
    through, first, second = (start(problem, sqrt=sqrt) for _ in range(3))
    through.advance(1.0, 10**6)
    first.advance(1.0, 11)
    second.advance(1.0, 3)  # restoring must forget this
    second.restore(first.save())
    second.advance(1.0, 10**6)
    one, other = through.save(), second.save()
    assert set(one) == set(other)
    for name, array in one.items():
        assert np.array_equal(array, other[name]), name
    for name, force in through.reactions().items():
        assert np.array_equal(force, second.reactions()[name])


@pytest.mark.parametrize("chunk", [1, 2, 7])
def test_size_of_chunks_changes_nothing(
    chunk: int, make_block: MakeBlock, start: Start, moved_support: dict[str, Any]
) -> None:
    problem = make_block(**moved_support)
    whole, pieces = start(problem), start(problem)
    whole.advance(1.0, 10**6)
    while pieces.time < 1.0:
        pieces.advance(1.0, chunk)
    for name, array in whole.save().items():
        assert np.array_equal(array, pieces.save()[name]), name


def test_fast_and_readable_form_give_the_same_words(
    make_block: MakeBlock, start: Start, moved_support: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make_block(**moved_support)
    fast = start(problem)
    monkeypatch.setattr("rheotwin.particles.fixed_point.stepping.runs_fast", lambda constants: False)
    readable = start(problem)
    assert (fast.statistics()["kernel"], readable.statistics()["kernel"]) == ("unstructured", "readable")
    for simulation in (fast, readable):
        simulation.advance(1.0, 10**6)
    for name, array in fast.save().items():
        assert np.array_equal(array, readable.save()[name]), name


def test_words_in_other_units_are_refused(make_block: MakeBlock, start: Start) -> None:
    problem = make_block()
    with pytest.raises(RheotwinError, match=r"other units; resume with time_unit = \S+, length_unit = 0.1"):
        start(problem).restore(start(problem, length_unit=0.1).save())
    with pytest.raises(RheotwinError, match="written with a step"):
        start(problem).restore(start(problem, safety=0.2).save())


def test_time_unit_leaves_the_float_form_alone(make_block: MakeBlock, start: Start) -> None:
    """Table 2.1: another unit of time is another scaling of the same words' values, not another model."""
    problem = make_block()
    ends = []
    for unit in (0.5, 1.0, 2.0):
        simulation = start(problem, word=24, fraction=16, time_unit=unit, length_unit=0.2, mass_unit=1.0)
        simulation.advance(1.0, 10**6)
        ends.append(simulation.positions)
    travel = np.abs(ends[0] - problem.points).max()
    assert np.abs(ends[1] - ends[0]).max() < 1e-3 * travel and np.abs(ends[2] - ends[0]).max() < 1e-3 * travel


def test_rows_of_a_body_in_the_plane(start: Start, make_block: MakeBlock) -> None:
    body = {"size": [3.0, 2.0], "cells": [3, 2]}
    forces = {"push": {"body": "block", "where": {"side": "top"}, "total": [0.0, -2.0]}}
    problem = make_block(body=body, dimension=2, gravity=[0.0, -1.0], forces=forces)
    simulation = start(problem, word=20, fraction=12)
    reference = truss(problem, simulation.step_size)
    simulation.advance(1.0, 10**6)
    reference.advance(1.0, 10**6)
    assert simulation.positions.shape == problem.points.shape
    assert (
        np.abs(simulation.positions - reference.positions).max()
        < 0.01 * np.abs(reference.positions - problem.points).max()
    )
    assert not simulation.body.position[:, 2].any()


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a format without a range": ({}, {"word": 12, "fraction": 12}, "leave no range in 12; choose at most 10"),
    "a step above the stable one": ({}, {"step": 0.5}, "above the stable step of"),
    "no units and no analysis": ({}, {"analyse": False}, "give `time_unit`, `length_unit` and `mass_unit`"),
    "a constant beyond its point": (
        {},
        {"tem_wmod": False, "time_unit": 100.0},
        "overflows 16 bits with 8 after the point",
    ),
    "a step that rounds to zero": ({}, {"time_unit": 1e6, "h_const": "plain8"}, "rounds to zero|overflows"),
    "a body beyond the range": ({}, {"length_unit": 0.005}, "beyond 16 bits"),
    "a load beyond the range": ({}, {"mass_unit": 1e-4}, "larger mass_unit|overflows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_words_cannot_hold_is_refused(case: str, make_block: MakeBlock, start: Start) -> None:
    scene, options, sentence = REFUSED[case]
    with pytest.raises(RheotwinError, match=sentence) as caught:
        start(make_block(**scene), **options)
    assert "\n" not in str(caught.value)


def test_tools_and_other_laws_are_refused(make_block: MakeBlock) -> None:
    tool = {"shape": "bar", "center": [1.5, 1.0, 2.0], "normal": [0.0, 0.0, -1.0], "width": [1.0, 3.0]}
    motion = {"times": [0.0, 1.0], "displacement": [[0.0] * 3, [0.0, 0.0, -0.1]]}
    problem = make_block(
        tools={"bar": {**tool, "motion": motion}}, laws={"stuff": {"model": "elastic", "young": 1.0, "poisson": 0.2}}
    )
    with pytest.raises(InputFaults) as caught:
        check_capabilities(FixedPointSolver(), problem)
    assert [fault.place for fault in caught.value.faults] == ["laws of body block", "tools.bar.shape"]


def test_dead_band_and_range_are_told_before_the_run(make_block: MakeBlock, start: Start) -> None:
    with pytest.raises(
        Stopped, match=r"stand still and the fastest one has \S+ m/s: take a longer step.*would do"
    ) as told:
        start(make_block(), length_unit=40.0)
    assert told.value.exit_code == EXIT_DIVERGED
    with pytest.warns(UserWarning, match="lose the motion, 107 % of the mean displacement are error"):
        start(make_block(), length_unit=40.0, stop=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        units = start(make_block()).prepared.constants.units
    with pytest.warns(UserWarning, match=r"F grows to 1\.\d+ times the range of 16 bits, 8 after the point: 17 bits"):
        start(make_block(), mass_unit=units.mass / 1.55)


def test_overflow_ends_the_run_at_its_step(make_block: MakeBlock, start: Start) -> None:
    """The first step with an overflow is named whatever the size of chunks, and what is named for it does."""
    units = start(make_block()).prepared.constants.units
    chosen = {"time_unit": units.time, "length_unit": units.length, "mass_unit": units.mass / 1.55, "analyse": False}
    plain = start(make_block(), **chosen, stop=False)
    with pytest.warns(UserWarning, match="words overflow by t = .* in .*F_sum") as told:
        for time in (0.5, 0.75, 1.0):
            plain.advance(time, 10**6)
    assert len(told) == 1
    assert plain.statistics()["overflows"]["F_sum"] > 0
    first = start(make_block(), **chosen, stop=False)
    while not any(first.statistics()["overflows"].values()):
        first.advance(1.0, 1)
    for chunk in (1, 3, 10**6):
        simulation = start(make_block(), **chosen)
        with pytest.raises(Stopped, match=r"16 bits, 8 after the point overflow in the sum of forces") as stopped:
            while simulation.time < 1.0:
                simulation.advance(1.0, chunk)
        assert stopped.value.time == simulation.time == first.time
    remedy = re.search(
        r"word = (\d+), .*time_unit = (\S+), length_unit = (\S+), mass_unit = (\S+) would do", str(stopped.value)
    )
    assert remedy is not None
    word, time, length, mass = (float(number) for number in remedy.groups())
    cured = start(make_block(), word=int(word), time_unit=time, length_unit=length, mass_unit=mass)
    cured.advance(1.0, 10**6)
    assert cured.statistics()["announced_error"] < 0.03


@pytest.mark.parametrize("law", LAWS)
def test_chosen_words_are_as_close_as_announced(
    law: str, make_block: MakeBlock, start: Start, moved_support: dict[str, Any]
) -> None:
    """What is announced is kept; a tolerance that the papers' words miss is met by points of their own in 16 bits."""
    problem = make_block(law, **moved_support)
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


def test_words_that_nothing_can_choose_are_refused(make_block: MakeBlock, start: Start) -> None:
    with pytest.raises(RheotwinError, match=r"no words of up to 16 bits follow the scene within 0.001 %.*leave `word`"):
        start(make_block(), word=16, tolerance=1e-5)


def test_checkpoint_names_the_points_it_needs(make_block: MakeBlock, start: Start) -> None:
    chosen, problem = start(make_block(), tolerance=1e-3), make_block()
    with pytest.raises(RheotwinError, match=r"word = 16 and fraction = 8, points = \[14, \d+, ") as told:
        start(problem).restore(chosen.save())
    assert "\n" not in str(told.value)
    same = start(problem, **chosen.settled())
    chosen.advance(0.5, 10**6)
    same.restore(chosen.save())
    for simulation in (chosen, same):
        simulation.advance(1.0, 10**6)
    assert np.array_equal(chosen.body.position, same.body.position)
