"""The shipped scenes of contact: what is seen, in numbers (spec section 10: D2, D3, D7-D10, D15; R12, R14)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from rheotwin.build import build_problem
from rheotwin.meshing import element_measures
from rheotwin.problem import Problem
from rheotwin.scene import Scene, load_scene
from rheotwin.solver import check_capabilities, checked_options, find_solver, tool_poses

SCENES = Path(__file__).parents[2] / "scenes"
Array = NDArray[np.float64]


def play(
    name: str, solver: str = "truss", *, change: Callable[[Scene], Scene] = lambda scene: scene
) -> tuple[Any, Any]:
    """Start a shipped scene with the options of its file."""
    scene = load_scene(SCENES / f"{name}.toml")
    problem, chosen = build_problem(change(scene), None), find_solver(solver)
    check_capabilities(chosen, problem)
    return problem, chosen.start(problem, checked_options(chosen, scene.solvers.get(solver, {})))


def shares(problem: Problem, positions: Array) -> Array:
    """Return area or volume of every cell over that at rest."""
    found = []
    for body in problem.bodies:
        cells = body.mesh.t.T + body.first_node
        ours = (x[:, : problem.dimension] for x in (positions, problem.points))
        now, rest = (np.linalg.det(x[cells[:, 1:]] - x[cells[:, :1]]) for x in ours)
        found.append(now / rest)
    return np.concatenate(found)


def intruders(problem: Problem, positions: Array) -> int:
    """Count the nodes deeper than a hundredth of its height in a triangle that they are no corner of."""
    x = positions[:, :2]
    cells = np.concatenate([body.mesh.t.T + body.first_node for body in problem.bodies])
    corner, sides = x[cells[:, 0]], np.swapaxes(x[cells[:, 1:]] - x[cells[:, :1]], 1, 2)
    weights = np.linalg.solve(sides, (x[:, None] - corner)[..., None])[..., 0]
    return int((np.minimum(weights.min(axis=2), 1.0 - weights.sum(axis=2)) > 0.01).sum())


@pytest.mark.parametrize(
    ("name", "until"), [pytest.param("resting-2d", 8.0, marks=pytest.mark.exhaustive), ("resting-3d", 6.0)]
)
def test_a_plain_penalty_sinks_and_an_integrated_one_does_not(name: str, until: float) -> None:
    """R12, D15: the nodes below sink m g/(n K) = 10 mm in the mean, or come back to less than a hundredth of it."""
    problem, simulation = play(name)
    simulation.advance(until, 10**9)
    up = problem.dimension - 1
    sunk = {}
    for body in problem.bodies:
        sunk[body.name] = -simulation.positions[body.nodes, up][problem.points[body.nodes, up] < 1e-9].mean()
    assert sunk["plain"] == pytest.approx(0.01, rel=1e-4) and abs(sunk["integrated"]) < 1e-4


def test_a_stone_leaves_an_imprint_and_never_passes_through() -> None:
    """D8, its first two seconds: it rests on the dough by its weight, sinks in and is nowhere inside."""
    problem, simulation = play("imprint-2d")
    for time in (1.0, 2.0):
        simulation.advance(time, 10**9)
        assert intruders(problem, simulation.positions) == 0
    assert 0.12 - simulation.positions[problem.probes["stone"], 1] + 0.045 > 0.01
    assert abs(simulation.reactions()["support.floor"][1]) == pytest.approx((9.0 + 4.0) * 9.8, rel=0.02)
    assert shares(problem, simulation.positions).min() > 0.3


def test_lobes_touch_without_passing_through() -> None:
    """D7: after 6 s the sides of the fold push on each other, and no node lies in a triangle of the body."""
    problem, simulation = play("lobes-2d")
    simulation.advance(6.0, 10**9)
    x = simulation.positions
    assert intruders(problem, x) == 0 and 0.2 - x[problem.probes["middle"], 1] > 0.05
    assert shares(problem, x).min() > 0.0
    assert np.linalg.norm(simulation.fields()["contact_force"], axis=1).max() > 1.0
    assert shares(problem, x).sum() == pytest.approx(len(problem.bodies[0].mesh.t.T), rel=0.01)


@pytest.mark.exhaustive
def test_dough_is_rolled_out_to_a_tenth() -> None:
    """D2, R20: mean thickness (area over length) at most a tenth of 40 mm, no triangle ever inside out, area kept."""
    problem, simulation = play("roller-2d")
    for time in (1.2, 4.0, 7.7, 12.5, 18.8, 22.5):
        simulation.advance(time, 10**9)
        least = shares(problem, simulation.positions)
        assert least.min() > 0.0 and simulation.statistics()["inverted_cells"] == 0
    x = simulation.positions
    area = float(np.mean(least)) * 0.06 * 0.04
    assert area == pytest.approx(0.06 * 0.04, rel=0.05) and area / np.ptp(x[:, 0]) < 0.1 * 0.04


def _outline(problem: Problem, x: Array) -> tuple[float, float]:
    """Return the area of the dough and its length along the conveyor."""
    corners = x[problem.bodies[0].mesh.t.T]
    return 0.5 * float(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum()), float(
        np.ptp(x[problem.bodies[0].nodes, 0])
    )


def test_a_square_prism_dents_the_dough_and_stays_square() -> None:
    """D2, the first pass under an elastic prism turned by 5.66 rad: dough comes out longer, its law keeps its area."""
    problem, simulation = play("square-roller-2d", "shear-volume")
    simulation.advance(1.0, 10**9)
    x = simulation.positions
    area, length = _outline(problem, x)
    assert area == pytest.approx(0.003, rel=0.01)
    assert length > 1.4 * 0.1 and x[problem.bodies[0].nodes, 0].min() > 0.03
    assert shares(problem, x).min() > 0.8
    prism = problem.bodies[1].nodes
    rest, c, s = problem.points[prism] - [0.0, 0.05543], np.cos(5.66), np.sin(5.66)
    turned = rest @ np.array([[c, s], [-s, c]]) + [0.0, 0.05543]
    assert np.abs(x[prism] - turned).max() < 0.02 * 0.06, "stiff: within 2 % of its side"


@pytest.mark.exhaustive
def test_a_square_prism_rolls_the_dough_out() -> None:
    """D2 to its end: 30 mm become 12 in the mean and nowhere more than 22, area within 1 %, no triangle turned over."""
    problem, simulation = play("square-roller-2d", "shear-volume")
    simulation.advance(2.3, 10**9)
    area, length = _outline(problem, simulation.positions)
    assert area == pytest.approx(0.003, rel=0.01)
    assert area / length < 0.4 * 0.03
    assert simulation.positions[problem.bodies[0].nodes, 1].max() < 0.022
    assert shares(problem, simulation.positions).min() > 0.7


@pytest.mark.exhaustive
def test_a_square_prism_dents_the_dough_in_space() -> None:
    """D2 in space: dough comes out longer and wider, keeps its volume within 1 %, and the prism is as it was."""
    problem, simulation = play("square-roller-3d", "shear-volume")
    simulation.advance(1.0, 10**9)
    x, (dough, prism) = simulation.positions, problem.bodies
    size = np.ptp(x[dough.nodes], axis=0)
    assert size[0] > 1.3 * 0.1 and size[1] > 1.2 * 0.06 and x[dough.nodes, 0].min() > 0.03
    kept, cells = shares(problem, x), dough.mesh.t.shape[1]
    assert np.average(kept[:cells], weights=element_measures(dough.mesh)) == pytest.approx(1.0, abs=0.01)
    assert kept.min() > 0.8 and np.abs(np.ptp(x[prism.nodes, 1]) - 0.12) < 0.02 * 0.12


def test_a_finger_pushes_a_block_until_it_slides() -> None:
    """D3: friction holds the block up to mu m g = 2.26 N; pushed with 2.6 N it slides, and stops when left alone."""
    problem, simulation = play("pushed-3d")
    node = problem.probes["middle"]
    simulation.advance(0.25, 10**9)
    assert simulation.positions[node, 0] - problem.points[node, 0] < 5e-3, "sticks at 1.6 N"
    simulation.advance(1.5, 10**9)
    assert simulation.positions[node, 0] - problem.points[node, 0] > 0.02
    assert np.abs(simulation.velocities[problem.bodies[0].nodes]).max() < 0.01


def test_the_same_force_from_springs_and_finite_elements() -> None:
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
def test_a_struck_block_slides_as_far_as_friction_lets_it(friction: float) -> None:
    """R15 between two bodies: at v0 = 0.5 m/s on dough at rest it slides v0^2/(2 mu g), without friction on as before.
    Its corner glides over a node at the dent's end on the way and must not catch there."""

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
    assert furthest == pytest.approx(0.025 if friction == 0.0 else 0.5**2 / (2.0 * friction * 9.8), rel=0.02)


@pytest.mark.parametrize("solver", ["fem", "truss"])
def test_a_brick_never_gains_energy_and_the_floor_bears_it_all(solver: str) -> None:
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
    assert simulation.reactions()["tool.brick"][1] == pytest.approx(4.0 * 9.8, rel=0.01)
    assert -0.03 < pose[1] < -0.0201 and 0.0 < abs(pose[3]) < 0.1, "its lower edge lies in the dough, tilted"


def test_a_pile_keeps_the_balance_of_momentum_and_loses_energy() -> None:
    """D10: weight and walls account for all momentum, contacts between bodies for none; energy only falls."""
    problem, simulation = play("pile-2d")
    h, pushed, energies, mass = simulation.step_size, np.zeros(2), [], problem.masses.sum()
    while simulation.time < 0.4 - 1e-9:
        simulation.advance(0.4, 1)
        pushed -= h * sum(simulation.reactions()[f"tool.{name}"] for name in ("floor", "left", "right"))
        if simulation.step_count % 50 == 0:
            found = simulation.energy()
            energies.append(found["kinetic"] + found["stored"] + 9.8 * (problem.masses @ simulation.positions[:, 1]))
    momentum = problem.masses @ simulation.velocities
    np.testing.assert_allclose(momentum, np.array([0.0, -9.8 * mass * simulation.time]) + pushed, rtol=0.0, atol=1e-9)
    assert pushed[1] > 1.0 and np.diff(energies).max() < 9.8 * mass * np.sqrt(2.0 * 9.8 * 0.42) * h
    assert simulation.statistics()["contacts_loose"] == 0 and intruders(problem, simulation.positions) == 0


@pytest.mark.exhaustive
def test_crossing_rollers_make_a_thin_round_cake() -> None:
    """D2, R20 in space: mean thickness (volume over outline) below a tenth of 30 mm, sides within 1.3 of each other.
    No tetrahedron is ever inside out, and the volume is kept."""
    problem, simulation = play("roller-3d")
    for time in (0.84, 1.71, 2.78, 3.93, 5.45, 6.52, 8.19, 9.2):
        simulation.advance(time, 10**9)
        assert shares(problem, simulation.positions).min() > 0.0
        assert simulation.statistics()["inverted_cells"] == 0
    x = simulation.positions
    volume = np.abs(np.linalg.det(np.diff(x[problem.bodies[0].mesh.t.T], axis=1))).sum() / 6.0
    assert volume == pytest.approx(np.pi * 0.035**2 * 0.03, rel=0.05)
    assert volume / ConvexHull(x[:, :2]).volume < 0.1 * 0.03
    size = np.ptp(x, axis=0)
    assert size[2] < 0.2 * 0.03 and size[:2].max() / size[:2].min() < 1.3
