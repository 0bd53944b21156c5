"""Supports that let go or take hold during a run, bodies that start moving, pressure, gravity that changes."""

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.plausibility import doubts, facts
from rheotwin.record import open_record
from rheotwin.running import RunRequest, resume_run, run_scene
from rheotwin.scene import scene_from_data
from rheotwin.validation.checks.running import Data, box_scene, problem_of, row, run_to, side, start

SPRING = {"model": "elastic", "young": 4.0}
SOLVERS = ("fem", "truss", "shear-volume")
FOAM = {"model": "voigt", "young": 3e4, "poisson": 0.3, "viscosity": 50.0}
RAMP = {"ramp": {"to": [0.2], "time": 1.0}}


def block(**more: Any) -> Data:
    return box_scene(FOAM, **{"cells": [4, 2], "size": [0.2, 0.1], "density": 100.0, "duration": 0.2} | more)


@pytest.mark.parametrize("solver", ["fem", "truss"])
def test_released_springs_swing_and_gravity_over_time_gives_its_integral(solver: str) -> None:
    data = row(SPRING, supports={"wall": side("left"), "hand": side("right", motion=RAMP, until=1.0)}, duration=4.0)
    simulation = start(data, solver, step=1e-3)
    at = {}
    for time in (1.0, 1.0 + np.pi / 4, 1.0 + np.pi / 2):
        run_to(simulation, time)
        at[time] = float(simulation.positions[-1, 0]) - 1.0
    # the hand leaves with its own speed, .2 m/s: x = .2 cos(2 s) + .1 sin(2 s)
    assert list(at.values()) == pytest.approx([0.2, 0.1, -0.2], abs=1e-3)
    assert simulation.reactions()["support.hand"] == 0.0
    assert float(simulation.reactions()["support.wall"][0]) == pytest.approx(4.0 * at[1.0 + np.pi / 2], abs=1e-2)
    simulation = run_to(start(block(gravity={"expression": ["0", "-10*t"]}), solver), 0.2)
    np.testing.assert_allclose(simulation.velocities[:, 1], -5.0 * 0.2**2, rtol=2e-2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_support_that_begins_later_holds_its_nodes_where_they_are(solver: str) -> None:
    forces = {"lift": side("top", total=[0.0, 2.0])}
    supports = {
        "floor": side("bottom"),
        "catch": side("top", since=0.1, motion={"ramp": {"to": [0, 1e-3], "time": 0.1}}),
    }
    simulation = run_to(start(block(supports=supports, forces=forces), solver), 0.1)
    caught = simulation.positions[-5:].copy()
    run_to(simulation, 0.15)
    # its motion is measured from where the nodes were: half of 1 mm, whatever the table had at .1 s
    np.testing.assert_allclose(simulation.positions[-5:, 0], caught[:, 0], atol=1e-12)
    assert simulation.reactions()["support.catch"][1] != 0.0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("stop", [0.05, 0.1, 0.15], ids=["before", "at", "after"])
def test_a_run_through_phases_goes_on_bit_for_bit(solver: str, stop: float, tmp_path: Path) -> None:
    supports = {
        "floor": side("bottom"),
        "hand": side("top", motion={"ramp": {"to": [0.0, -0.01], "time": 0.1}}, until=0.1),
        "catch": side("top", since=0.15),
    }
    scene = scene_from_data(block(supports=supports, output={"interval": 0.05, "checkpoint_interval": 0.05}))
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    run_scene(RunRequest(scene=scene, solver=solver, folder=whole))

    class Stop:
        def __getattr__(self, name: str) -> Any:
            return lambda *_, **__: None

        def tick(self, run: Any) -> None:
            if run.simulation.time >= stop - 1e-9:
                signal.raise_signal(signal.SIGINT)

    run_scene(RunRequest(scene=scene, solver=solver, folder=halved), observers=[Stop()])
    resume_run(halved)
    np.testing.assert_array_equal(open_record(whole).positions(-1), open_record(halved).positions(-1))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_thrown_and_spinning_body_keeps_its_momenta(solver: str) -> None:
    simulation = start(block(velocity=[1.0, 2.0], spin=3.0, gravity=[0.0, -9.81]), solver)
    masses, rest = problem_of(block()).masses, simulation.positions.copy()
    centre = rest.mean(axis=0)
    begin = simulation.velocities
    arm = rest - centre
    np.testing.assert_allclose(begin - [1.0, 2.0], 3.0 * np.stack([-arm[:, 1], arm[:, 0]], axis=1), atol=1e-12)
    run_to(simulation, 0.1)
    np.testing.assert_allclose(masses @ simulation.velocities / masses.sum(), [1.0, 2.0 - 0.981], rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cells", [[3, 2], [2, 2, 2]], ids=["2D", "3D"])
def test_a_pressure_all_around_is_in_balance_and_squeezes_evenly(cells: list[int], order: int) -> None:
    # eps = -p (1 - 2 nu)/E in 3D; in plane strain -p (1 + nu)(1 - 2 nu)/E
    law, p = {"model": "elastic", "young": 1e3, "poisson": 0.3}, 10.0
    sides = ("left", "right", "bottom", "top", "front", "back")[: 2 * len(cells)]
    forces = {name: side(name, pressure=p) for name in sides}
    low = {axis: [0.0, 0.0] for axis in "xyz"[: len(cells)]}
    supports = {axis: {"body": "block", "where": {"box": {axis: low[axis]}}, "fix": [axis]} for axis in low}
    simulation = start(box_scene(law, cells=cells, forces=forces, supports=supports), stepper="static", order=order)
    run_to(simulation, 1.0)
    strain = -p * 0.4 / 1e3 * (1.3 if len(cells) == 2 else 1.0)
    rest = problem_of(box_scene(law, cells=cells)).points
    np.testing.assert_allclose(simulation.positions, rest * (1.0 + strain), atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"supports": {"hand": side("right", motion=RAMP, until=0.5)}}, "lets go before its motion ends"),
        ({"supports": {"hand": side("right", since=2.0, until=1.0)}}, "must be after `since`"),
        ({"forces": {"push": side("right", pressure=1.0)}}, "a 1D body has no surface"),
        ({"forces": {"push": side("right")}}, "exactly one of `total` and `pressure`"),
        ({"supports": {"hand": side("right", motion=RAMP | {"times": [0.0], "displacement": [[0.0]]})}}, "only one of"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(changes: Data, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        problem_of(row(SPRING, duration=4.0, **changes))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_support_turns_its_nodes_and_the_body_follows(solver: str, dimension: int) -> None:
    """The held side of a block goes round as it was: x = c + R(angle(t)) (X - c) + d(t), in 3D about x."""
    size, center = [0.2, 0.1, 0.1][:dimension], [0.1, 0.05, 0.05][:dimension]
    axis: Data = {"axis": [2.0, 0.0, 0.0]} if dimension == 3 else {}
    turn = {"times": [0.0, 0.1, 0.2], "angle": [0.0, 1.0, 7.0], "center": center, **axis}
    turn["displacement"] = [[0.0] * dimension, [0.1] * dimension, [0.1] * dimension]
    data = block(size=size, cells=[2] * dimension, supports={"core": {**side("left"), "motion": turn}})
    simulation = start(data, solver)
    rest, held = simulation.positions.copy(), simulation.positions[:, 0] == 0.0
    for time in (0.05, 0.1, 0.15):
        run_to(simulation, time)
        angle, moved = (np.interp(simulation.time, turn["times"], row) for row in ([0.0, 1.0, 7.0], [0.0, 0.1, 0.1]))
        c, s = np.cos(angle), np.sin(angle)
        matrix = np.array([[c, -s], [s, c]]) if dimension == 2 else np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        expected = (rest[held] - center) @ matrix.T + center + moved
        np.testing.assert_allclose(simulation.positions[held], expected, atol=2e-5 * 0.2)
    assert list(simulation.reactions()) == ["support.core"]


def test_a_support_that_turns_too_fast_is_named_once() -> None:
    turn = {"times": [0.0, 1e-3], "angle": [0.0, 1.0], "center": [0.1, 0.05]}
    problem = problem_of(block(supports={"core": {**side("left"), "motion": turn}}))
    said = [
        text for text in doubts(problem, facts(problem)) if text.startswith("supports.core.motion: moves at up to 111")
    ]
    assert len(said) == 1, "the corners are 0.1118 m from the centre"


def test_what_cannot_turn_is_refused() -> None:
    turn = {"times": [0.0, 0.1], "angle": [0.0, 1.0], "center": [0.1, 0.05]}
    for more, said in (
        ({"motion": turn, "fix": ["x"]}, "held in all components"),
        ({"motion": turn, "since": 0.1}, "starts from the rest shape"),
        ({"motion": {**turn, "axis": [0.0, 0.0, 1.0]}}, "is for 3D"),
        ({"motion": {**turn, "center": []}}, "`angle` and `center`"),
        ({"motion": {**turn, "angle": [0.0]}}, "one for each time"),
    ):
        with pytest.raises(RheotwinError, match=said):
            scene_from_data(block(supports={"core": {**side("left"), **more}}))
