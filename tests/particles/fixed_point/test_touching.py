"""Tools and contact by the host beside the circuit: against the truss, turns, restarts, forms, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import box_scene, path, problem_of, run_to, side, start

Data = dict[str, Any]
LAW: Data = {"model": "three-element", "young": 400.0, "poisson": 0.25, "voigt_viscosity": 20.0}
LAW |= {"series_viscosity": 300.0}
DOWN = path([0.0, 0.5, 1.0], [[0.0] * 3, [0.0, 0.0, -0.3], [0.0] * 3])
BAR: Data = {"shape": "bar", "center": [1.5, 1.0, 2.0], "normal": [0.0, 0.0, -1.0], "width": [1.2, 3.0], "motion": DOWN}
BALL: Data = {"shape": "sphere", "center": [1.0, 1.0, 2.5], "radius": 0.5, "motion": DOWN}
FALLING: Data = {"shape": "box", "center": [1.5, 1.0, 2.3], "size": [2.0, 1.5, 0.5]}
FALLING |= {"drive": {"free": ["z"], "mass": 3.0, "times": [0.0], "force": [[0.0, 0.0, -30.0]]}}


def block(tools: Data | None = None, **scene: Any) -> Problem:
    """A block of bricks, held below, under a bar that goes down by 15 % and up again."""
    data = {"supports": {"floor": side("bottom")}, "tools": {"tool": BAR} if tools is None else tools}
    return problem_of(box_scene(LAW, cells=[3, 2, 2], density=1.0, output={"interval": 0.25}, **(data | scene)))


def circuit(problem: Problem, **options: Any) -> Any:
    return start(problem, "fixed-point", **options)


@pytest.mark.parametrize(
    ("tools", "scene"),
    [({"tool": BAR}, {}), ({"tool": BALL}, {"contact": {"law": "penalty", "stiffness": 300.0, "damping": 1.0}})],
    ids=["exact", "penalty"],
)
def test_a_pressed_block_is_that_of_the_truss(tools: Data, scene: Data) -> None:
    """Same edges and contact by another order of the same step: both rules are of the first order."""
    problem, gaps = block(tools, **scene), []
    for part in (1, 2):
        simulation = circuit(problem, word=28, step=1.0 / (400 * part))
        reference = start(problem, "truss", volume_term=False, step=1.0 / (400 * part))
        for run in (simulation, reference):
            run_to(run, 0.5)
        found, expected = (run.reactions()["tool.tool"][2] for run in (simulation, reference))
        gaps.append(abs(found - expected) / abs(expected))
        moved = np.abs(reference.positions - problem.points).max()
        assert np.abs(simulation.positions - reference.positions).max() < 0.02 / part * moved
        assert simulation.tool_poses() == pytest.approx(reference.tool_poses())
        # the table bears what the tool exerts, but for inertia
        assert simulation.reactions()["support.floor"][2] == pytest.approx(-found, rel=0.05)
    assert gaps[1] < 0.02


def test_points_stay_outside_of_the_tool_to_the_word() -> None:
    problem = block()
    simulation = circuit(problem)
    word = simulation.prepared.constants.units.length / simulation.prepared.constants.form.one
    under, deepest = np.abs(problem.points[:, 0] - 1.5) < 0.61, []
    under &= problem.points[:, 2] == 2.0
    for time in (0.25, 0.5, 0.75):
        run_to(simulation, time)
        face = 2.0 + simulation.tool_poses()[0, 2]
        deepest.append((simulation.positions[under, 2] - face).max())
    # a half of a unit in the place, and what the rounded step of the speed leaves
    assert min(deepest) > -0.1
    assert max(deepest) < 2.0 * word
    assert simulation.fields()["contact_force"].sum() == pytest.approx(-simulation.reactions()["tool.tool"].sum())


def test_a_tool_that_does_not_touch_changes_no_word() -> None:
    away = BAR | {"center": [1.5, 1.0, 9.0]}
    forces = {"push": side("top", total=[0.0, 0.0, -2.0])}
    one, other = (circuit(block(tools, forces=forces)) for tools in ({}, {"tool": away}))
    for run in (one, other):
        run_to(run, 1.0)
    assert np.abs(one.body.velocity).max() > 0
    for name, words in one.body._asdict().items():
        np.testing.assert_array_equal(words, getattr(other.body, name))
    assert one.statistics()["announced_error"] == other.statistics()["announced_error"]


def test_turns_further_apart_leave_the_force_in_memory() -> None:
    """Turns of 2.5 ms, 10 steps of a circuit that moves on its own in between."""
    problem = block()
    every = circuit(problem, word=28, step=0.00025)
    turns = circuit(problem, word=28, step=0.00025, surface_period=0.0025)
    assert (every.statistics()["steps_per_turn"], turns.statistics()["steps_per_turn"]) == (1, 10)
    for run in (every, turns):
        run_to(run, 0.5)
    found, expected = (run.reactions()["tool.tool"][2] for run in (turns, every))
    assert found == pytest.approx(expected, rel=0.03)
    moved = np.abs(every.positions - problem.points).max()
    gap = np.abs(turns.positions - every.positions).max()
    assert 0.0 < gap < 0.02 * moved
    # between two turns external forces are those of contact
    held = turns.body.force.astype(float).sum(axis=0) / turns.prepared.constants.form.one
    assert held[2] * turns.prepared.constants.units.force == pytest.approx(-found, rel=0.01)
    assert not every.body.force.any()


def test_what_the_host_knows_may_be_old() -> None:
    late = circuit(block(), word=28, step=0.0005, host_latency=0.05, tolerance=0.5)
    run_to(late, 0.25)
    assert late.tool_poses()[0, 2] == pytest.approx(-0.3 * 0.2 / 0.5)


@pytest.mark.parametrize(
    ("tools", "options"),
    [({"tool": BAR}, {}), ({"tool": BAR}, {"surface_period": 0.02}), ({"tool": FALLING}, {})],
    ids=["every step", "turns", "driven"],
)
def test_restart_with_tools_continues_bit_for_bit(tools: Data, options: Data) -> None:
    problem = block(tools)
    through, first, second = (circuit(problem, word=24, **options) for _ in range(3))
    run_to(through, 1.0)
    first.advance(1.0, 37)
    second.advance(1.0, 3)  # restoring must forget this
    second.restore(first.save())
    while second.time < 1.0:
        second.advance(1.0, 7)
    one, other = through.save(), second.save()
    assert set(one) == set(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)
    np.testing.assert_array_equal(through.reactions()["tool.tool"], second.reactions()["tool.tool"])


def test_fast_and_readable_form_give_the_same_words_under_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = block()
    fast = circuit(problem, word=24, surface_period=0.01)
    monkeypatch.setattr("rheotwin.particles.fixed_point.stepping.runs_fast", lambda constants: False)
    readable = circuit(problem, word=24, surface_period=0.01)
    for run in (fast, readable):
        run_to(run, 0.5)
    assert fast.statistics()["kernel"] != readable.statistics()["kernel"] == "readable"
    for name, words in fast.body._asdict().items():
        np.testing.assert_array_equal(words, getattr(readable.body, name), err_msg=name)


def test_two_bodies_touch() -> None:
    """A block falls on another one and stays there: the host settles contact between bodies, too."""
    scene = box_scene(LAW, cells=[2, 2, 2], density=1.0, gravity=[0.0, 0.0, -9.81], duration=1.0)
    scene["bodies"]["upper"] = scene["bodies"]["block"] | {"origin": [0.3, 0.2, 2.05]}
    scene |= {"supports": {"floor": side("bottom")}, "contact": {"law": "exact", "bodies": True}}
    problem = problem_of(scene)
    simulation, reference = circuit(problem, word=28), start(problem, "truss", volume_term=False)
    for run in (simulation, reference):
        run_to(run, 1.0)
    fallen = reference.positions - problem.points
    assert np.abs(fallen[problem.bodies[1].first_node :, 2]).max() > 0.04
    assert np.abs(simulation.positions - reference.positions).max() < 0.03 * np.abs(fallen).max()


def test_turns_too_far_apart_for_springs_of_contact_are_refused() -> None:
    problem = block(contact={"law": "penalty", "stiffness": 300.0})
    with pytest.raises(RheotwinError, match=r"surface_period: contact settled every 0\.5 s .* allow \S+ s"):
        circuit(problem, surface_period=0.5)
    with pytest.raises(RheotwinError, match="take a shorter `surface_period`"):
        circuit(block(), surface_period=0.2)


def test_words_too_short_for_the_force_of_a_tool_are_told() -> None:
    """Forces would come in bursts: chosen words are longer, those asked for are warned of."""
    problem = block()
    chosen = circuit(problem, step=0.0005)
    with pytest.warns(UserWarning, match=r"forces on them come in bursts: take \d+ bits"):
        circuit(problem, step=0.0005, word=16, fraction=8, stop=False)
    with pytest.raises(RheotwinError, match=r"no words of up to 16 bits .* come in bursts"):
        circuit(problem, step=0.0005, word=16)
    forces = []
    for n in range(200, 260):
        run_to(chosen, 0.001 * n)
        forces.append(chosen.reactions()["tool.tool"][2])
    assert np.abs(np.diff(forces)).max() < 0.2 * np.mean(forces)
