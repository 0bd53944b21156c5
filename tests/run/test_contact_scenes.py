"""The shipped scenes of contact: what is seen, in numbers (spec section 10: D2, D3, D7-D10, D15; R12, R14)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from rheotwin.build import build_problem
from rheotwin.problem import Problem
from rheotwin.scene import ContactSpec, Scene, load_scene
from rheotwin.solver import check_capabilities, checked_options, find_solver, tool_poses

SCENES = Path(__file__).parents[2] / "scenes"
Play = Callable[..., tuple[Problem, Any]]
Array = NDArray[np.float64]


@pytest.fixture
def play() -> Play:
    """Start a shipped scene with the options of its file."""

    def start(
        name: str, solver: str = "truss", *, change: Callable[[Scene], Scene] | None = None
    ) -> tuple[Problem, Any]:
        scene = load_scene(SCENES / f"{name}.toml")
        problem, chosen = build_problem(scene if change is None else change(scene), None), find_solver(solver)
        check_capabilities(chosen, problem)
        return problem, chosen.start(problem, checked_options(chosen, scene.solvers.get(solver, {})))

    return start


@pytest.fixture
def shares() -> Callable[[Problem, Array], Array]:
    """Area or volume of every cell over that at rest."""

    def measure(problem: Problem, positions: Array) -> Array:
        found = []
        for body in problem.bodies:
            cells = body.mesh.t.T + body.first_node
            now, rest = (
                np.linalg.det(x[cells[:, 1:]] - x[cells[:, :1]])
                for x in (positions[:, : problem.dimension], problem.points[:, : problem.dimension])
            )
            found.append(now / rest)
        return np.concatenate(found)

    return measure


@pytest.fixture
def intruders() -> Callable[[Problem, Array], int]:
    """Count the nodes deeper than a hundredth of its height in a triangle that they are no corner of."""

    def count(problem: Problem, positions: Array) -> int:
        x = positions[:, :2]
        cells = np.concatenate([body.mesh.t.T + body.first_node for body in problem.bodies])
        corner, sides = x[cells[:, 0]], np.swapaxes(x[cells[:, 1:]] - x[cells[:, :1]], 1, 2)
        shares = np.linalg.solve(sides, (x[:, None] - corner)[..., None])[..., 0]
        return int((np.minimum(shares.min(axis=2), 1.0 - shares.sum(axis=2)) > 0.01).sum())

    return count


@pytest.mark.parametrize(("name", "solver", "until"), [("resting-2d", "truss", 8.0), ("resting-3d", "truss", 6.0)])
def test_a_plain_penalty_sinks_and_an_integrated_one_does_not(play: Play, name: str, solver: str, until: float) -> None:
    """R12, D15: the nodes below sink m g/(n K) = 10 mm in the mean, or come back to less than a hundredth of it."""
    problem, simulation = play(name, solver)
    simulation.advance(until, 10**9)
    up = problem.dimension - 1
    sunk = {}
    for body in problem.bodies:
        below = problem.points[body.nodes, up] < 1e-9
        sunk[body.name] = -simulation.positions[body.nodes, up][below].mean()
    assert sunk["plain"] == pytest.approx(0.01, rel=1e-4)
    assert abs(sunk["integrated"]) < 1e-4


def test_a_stone_leaves_an_imprint_and_never_passes_through(play: Play, shares: Any, intruders: Any) -> None:
    """D8, its first two seconds: it rests on the dough by its weight, sinks in and is nowhere inside."""
    problem, simulation = play("imprint-2d")
    for time in (1.0, 2.0):
        simulation.advance(time, 10**9)
        assert intruders(problem, simulation.positions) == 0
    assert 0.12 - simulation.positions[problem.probes["stone"], 1] + 0.045 > 0.01
    held = simulation.reactions()["support.floor"][1]
    assert abs(held) == pytest.approx((9.0 + 4.0) * 9.8, rel=0.02)
    assert shares(problem, simulation.positions).min() > 0.3


def test_lobes_touch_without_passing_through(play: Play, shares: Any, intruders: Any) -> None:
    """D7: after 6 s the sides of the fold push on each other, and no node lies in a triangle of the body."""
    problem, simulation = play("lobes-2d")
    simulation.advance(6.0, 10**9)
    x = simulation.positions
    assert intruders(problem, x) == 0
    assert 0.2 - x[problem.probes["middle"], 1] > 0.05
    assert shares(problem, x).min() > 0.0
    assert np.linalg.norm(simulation.fields()["contact_force"], axis=1).max() > 1.0
    assert shares(problem, x).sum() == pytest.approx(len(problem.bodies[0].mesh.t.T), rel=0.01)


def test_friction_shortens_the_slide(play: Play) -> None:
    """R14: slide(0.3) < slide(0)."""
    way = {}
    for friction in (0.3, 0.0):

        def rub(scene: Scene, mu: float = friction) -> Scene:
            assert scene.contact is not None
            return scene.model_copy(update={"contact": scene.contact.model_copy(update={"friction": mu})})

        problem, simulation = play("sliding-2d", change=rub)
        simulation.advance(1.9, 10**9)
        node = problem.probes["rubber"]
        way[friction] = simulation.positions[node, 0] - problem.points[node, 0]
    assert 0.0 < way[0.3] < 0.3 * way[0.0]


def test_six_bodies_pile_up_without_passing_through(play: Play, shares: Any, intruders: Any) -> None:
    """D10: half a second after the first of them landed all lie on the floor or each other, none inside another."""
    problem, simulation = play("pile-2d")
    simulation.advance(0.8, 10**9)
    x = simulation.positions
    assert intruders(problem, x) == 0
    assert x[:, 1].min() > -1e-9
    assert np.abs(x[:, 0]).max() < 0.16 + 1e-9
    assert x[:, 1].max() < 0.3, "all have fallen"
    assert shares(problem, x).min() > 0.0


def test_rolling_starts_on_its_way_to_a_tenth(play: Play, shares: Any) -> None:
    """D2, the first pass: out on the other side, a tenth of the way at least, and no triangle turned over."""
    problem, simulation = play("roller-2d")
    simulation.advance(1.2, 10**9)
    x = simulation.positions
    assert x[:, 0].min() > 0.0
    assert np.ptp(x[:, 0]) > 1.3 * 0.06
    assert x[:, 1].max() < 0.034
    assert shares(problem, x).min() > 0.5


@pytest.mark.slow
def test_dough_is_rolled_out_to_a_tenth(play: Play, shares: Any) -> None:
    """D2, R20: mean thickness (area over length) at most a tenth of 40 mm, no triangle ever inside out, area kept."""
    problem, simulation = play("roller-2d")
    for time in (1.2, 4.0, 7.7, 12.5, 18.8, 22.5):
        simulation.advance(time, 10**9)
        least = shares(problem, simulation.positions)
        assert least.min() > 0.0
        assert simulation.statistics()["inverted_cells"] == 0
    x = simulation.positions
    area = float(np.mean(least)) * 0.06 * 0.04
    assert area == pytest.approx(0.06 * 0.04, rel=0.05)
    assert area / np.ptp(x[:, 0]) < 0.1 * 0.04


@pytest.mark.parametrize("solver", ["fem", "truss"])
def test_a_dropped_brick_rests_on_the_dough(play: Play, solver: str) -> None:
    """The dough carries its weight of 4 kg x 9.8 m/s2; its lower edge lies in the dough, tilted to the nearer side."""
    _, simulation = play("dropped-2d", solver)
    problem, _ = play("dropped-2d", solver)
    simulation.advance(1.5, 10**9)
    assert simulation.reactions()["tool.brick"][1] == pytest.approx(4.0 * 9.8, rel=0.01)
    pose = tool_poses(problem, simulation)[0]
    assert -0.03 < pose[1] < -0.0201
    assert 0.0 < abs(pose[3]) < 0.1


def test_a_finger_pushes_a_block_until_it_slides(play: Play) -> None:
    """D3: friction holds the block up to mu m g = 2.26 N; pushed with 2.6 N it slides, and stops when left alone."""
    problem, simulation = play("pushed-3d")
    node = problem.probes["middle"]
    simulation.advance(0.25, 10**9)
    assert simulation.positions[node, 0] - problem.points[node, 0] < 5e-3, "sticks at 1.6 N"
    simulation.advance(1.5, 10**9)
    assert simulation.positions[node, 0] - problem.points[node, 0] > 0.02
    assert np.abs(simulation.velocities[problem.bodies[0].nodes]).max() < 0.01


def test_the_same_force_from_springs_and_finite_elements(play: Play) -> None:
    """Where springs are the continuum the roller feels the same within 2 %, down and up again."""
    forces = []
    for solver in ("fem", "truss"):
        _, simulation = play("press-match-2d", solver)
        column = []
        for time in (1.0, 2.0, 3.0):
            simulation.advance(time, 10**9)
            column.append(simulation.reactions()["tool.roller"][1])
        forces.append(column)
    assert max(forces[0]) > 1.0
    np.testing.assert_allclose(forces[1], forces[0], rtol=0.0, atol=0.02 * max(forces[0]))


@pytest.mark.parametrize("friction", [0.3, 0.0])
def test_a_struck_block_slides_as_far_as_friction_lets_it(play: Play, friction: float) -> None:
    """R15 between two bodies: at v0 = 0.5 m/s on dough at rest it slides v0^2/(2 mu g), without friction on as before.

    Its corner glides over a node at the dent's end on the way and must not catch there.
    """

    def alone(scene: Scene) -> Scene:
        assert scene.contact is not None
        return scene.model_copy(
            update={"contact": scene.contact.model_copy(update={"friction": friction}), "forces": {}}
        )

    problem, simulation = play("sliding-2d", change=alone)
    simulation.advance(0.2, 10**9)
    nodes = next(body for body in problem.bodies if body.name == "rubber").nodes
    state, mass = simulation.save(), problem.masses[nodes]
    state["velocities"][nodes, 0] += 0.5
    simulation.restore(state)
    begin = np.average(simulation.positions[nodes, 0], weights=mass)
    furthest, stops = 0.0, 0.05 if friction == 0.0 else 0.5 / (friction * 9.8)
    for time in np.linspace(0.0, stops, 6)[1:]:
        simulation.advance(0.2 + float(time), 10**9)
        way = np.average(simulation.positions[nodes, 0], weights=mass) - begin
        speed = np.average(simulation.velocities[nodes, 0], weights=mass)
        assert speed == pytest.approx(0.5 - friction * 9.8 * time, abs=0.02 * 0.5)
        furthest = max(furthest, way)
    expected = 0.025 if friction == 0.0 else 0.5**2 / (2.0 * friction * 9.8)
    assert furthest == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("gravity", [1.0, 0.0])
def test_a_struck_block_keeps_the_balance_of_momentum(play: Play, gravity: float) -> None:
    """Its momentum is what blow, weight and table gave it; without gravity it flies off and keeps that."""

    def rough(scene: Scene) -> Scene:
        return scene.model_copy(update={"contact": ContactSpec(law="exact", friction=0.3), "gravity": (0.0, -gravity)})

    problem, simulation = play("thrown-2d", change=rough)
    h, pushed, heights = simulation.step_size, np.zeros(2), []
    blow = np.array([0.0, -8.0 * 0.35])
    while simulation.time < 2.0 - 1e-9:
        simulation.advance(2.0, 1)
        pushed -= h * simulation.reactions()["tool.table"]
        heights.append(simulation.positions[:, 1].min())
    momentum = problem.masses @ simulation.velocities
    weight = np.array([0.0, -2.25 * gravity * simulation.time])
    # a trapezoid rule over the blow, whose slope of 160 N/s has four kinks
    np.testing.assert_allclose(momentum, blow + weight + pushed, rtol=0.0, atol=80.0 * h * h + 1e-9)
    assert min(heights) > -1e-9
    if gravity == 0.0:
        assert heights[-1] > 0.1
        assert momentum[1] > 0.1
        turn = spin(problem, simulation)
        simulation.advance(3.0, 10**9)
        np.testing.assert_allclose(problem.masses @ simulation.velocities, momentum, rtol=0.0, atol=1e-9)
        assert spin(problem, simulation) == pytest.approx(turn, abs=1e-9)
    else:
        simulation.advance(6.0, 10**9)
        assert simulation.reactions()["tool.table"][1] == pytest.approx(-2.25, rel=0.02)


def spin(problem: Problem, simulation: Any) -> float:
    """Return the angular momentum about the origin [N m s]."""
    x, p = simulation.positions, problem.masses[:, None] * simulation.velocities
    return float(np.sum(x[:, 0] * p[:, 1] - x[:, 1] * p[:, 0]))


@pytest.mark.parametrize("solver", ["fem", "truss"])
def test_a_brick_never_gains_energy_and_the_floor_bears_it_all(play: Play, solver: str) -> None:
    """Kinetic, stored and potential energy of dough and brick only fall, but for the half step between x and v."""
    problem, simulation = play("dropped-2d", solver)
    h, energies = simulation.step_size, []
    inertia = np.array([4.0, 4.0, 0.0, 4.53e-3])
    for time in np.arange(0.02, 1.5, 0.02):
        simulation.advance(float(time), 10**9)
        before = tool_poses(problem, simulation)[0]
        simulation.advance(simulation.time + h, 1)
        pose, found = tool_poses(problem, simulation)[0], simulation.energy()
        speed = (pose - before) / h
        height = problem.masses @ simulation.positions[:, 1] + 4.0 * pose[1]
        energies.append(found["kinetic"] + found["stored"] + 9.8 * height + 0.5 * inertia @ speed**2)
    assert np.diff(energies).max() < 4.0 * 9.8 * np.sqrt(2.0 * 9.8 * 0.03) * h
    assert energies[0] - energies[-1] > 0.5 * 4.0 * 9.8 * 0.02
    weight = 9.8 * (4.0 + problem.masses.sum())
    assert abs(simulation.reactions()["support.floor"][1]) == pytest.approx(weight, rel=0.01)


def test_a_pile_keeps_the_balance_of_momentum_and_loses_energy(play: Play) -> None:
    """D10: weight and walls account for all momentum, contacts between bodies for none; energy only falls."""
    problem, simulation = play("pile-2d")
    h, pushed, energies, mass = simulation.step_size, np.zeros(2), [], problem.masses.sum()
    while simulation.time < 0.4 - 1e-9:
        simulation.advance(0.4, 1)
        pushed -= h * sum(simulation.reactions()[f"tool.{name}"] for name in ("floor", "left", "right"))
        if simulation.step_count % 50 == 0:
            found = simulation.energy()
            height = problem.masses @ simulation.positions[:, 1]
            energies.append(found["kinetic"] + found["stored"] + 9.8 * height)
    momentum = problem.masses @ simulation.velocities
    weight = np.array([0.0, -9.8 * mass * simulation.time])
    np.testing.assert_allclose(momentum, weight + pushed, rtol=0.0, atol=1e-9)
    assert pushed[1] > 1.0
    assert np.diff(energies).max() < 9.8 * mass * np.sqrt(2.0 * 9.8 * 0.42) * h
    assert simulation.statistics()["contacts_loose"] == 0


@pytest.mark.slow
def test_crossing_rollers_make_a_thin_round_cake(play: Play, shares: Any) -> None:
    """D2, R20 in space: mean thickness (volume over outline) below a tenth of 30 mm, sides within 1.3 of each other.

    No tetrahedron is ever inside out, and the volume is kept.
    """
    problem, simulation = play("roller-3d")
    for time in (0.84, 1.71, 2.78, 3.93, 5.45, 6.52, 8.19, 9.2):
        simulation.advance(time, 10**9)
        least = shares(problem, simulation.positions)
        assert least.min() > 0.0
        assert simulation.statistics()["inverted_cells"] == 0
    x = simulation.positions
    volume = np.abs(np.linalg.det(np.diff(x[problem.bodies[0].mesh.t.T], axis=1))).sum() / 6.0
    assert volume == pytest.approx(np.pi * 0.035**2 * 0.03, rel=0.05)
    assert volume / ConvexHull(x[:, :2]).volume < 0.1 * 0.03
    size = np.ptp(x, axis=0)
    assert size[2] < 0.2 * 0.03
    assert size[:2].max() / size[:2].min() < 1.3
