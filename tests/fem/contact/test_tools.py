"""Tools that turn, that have a mass, and that are felt: against closed forms and against particles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.particles import TrussSolver
from rheotwin.problem import Problem
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options

Data = dict[str, Any]
Scene = Callable[..., Data]
Start = Callable[..., Simulation]
RunTo = Callable[[Simulation, float], None]

G = 9.8
DAMPED: Data = {"model": "voigt", "young": 1e5, "poisson": 0.3, "viscosity": 2e3}
FLOOR: Data = {"floor": {"body": "block", "where": {"side": "bottom"}}}


@pytest.mark.parametrize("stepper", ["midpoint", "generalized-alpha", "quasi-static"])
def test_a_mass_put_on_a_block_comes_to_rest_on_it(stepper: str, scene: Scene, start: Start, run_to: RunTo) -> None:
    """The block bears the weight of 3 kg, and the tool stands where the block gives way to it."""
    brick = {"shape": "plane", "center": [0.5, 0.5], "normal": [0.0, -1.0], "drive": {"mass": 3.0, "free": ["y"]}}
    data = scene(DAMPED, size=[1.0, 0.5], cells=[4, 2], density=1.0, gravity=[0.0, -G], supports=FLOOR,
                 tools={"brick": brick}, duration=4.0)  # fmt: skip
    simulation = start(data, step=0.01, stepper=stepper)
    run_to(simulation, 4.0)
    force = simulation.reactions()
    np.testing.assert_allclose(force["tool.brick"], [0.0, 3.0 * G], rtol=1e-4, atol=1e-6)
    assert force["support.floor"][1] == pytest.approx(-(3.0 + 0.5) * G, rel=1e-4)
    sunk = simulation.tool_poses()[0, 1]  # type: ignore[attr-defined]
    assert sunk == pytest.approx(simulation.positions[:, 1].max() - 0.5, abs=1e-9)
    assert sunk < -1e-4


def test_a_tool_and_a_body_exchange_momentum(scene: Scene, start: Start) -> None:
    """A plane of 2 kg flies at a free bar of 6 kg: what one loses the other gains."""
    hammer = {"shape": "plane", "center": [-0.1], "normal": [1.0], "drive": {"mass": 2.0, "velocity": [3.0]}}
    law = {"model": "voigt", "young": 1e4, "poisson": 0.3, "viscosity": 50.0}
    simulation = start(scene(law, size=[1.0], cells=[5], mass=6.0, tools={"hammer": hammer}), step=0.002)
    masses = np.array([0.6, 1.2, 1.2, 1.2, 1.2, 0.6])
    poses = [0.0]
    for k in range(1, 301):
        simulation.advance(0.002 * k, 1)
        poses.append(float(simulation.tool_poses()[0, 0]))  # type: ignore[attr-defined]
    rate = (poses[-1] - poses[-2]) / 0.002
    assert rate < 2.0
    assert masses @ simulation.velocities[:, 0] + 2.0 * rate == pytest.approx(6.0, rel=1e-9)


def test_a_conveyor_takes_a_block_along(scene: Scene, start: Start, run_to: RunTo) -> None:
    """A belt at 0.5 m/s under a block at rest: mu g until both are as fast, v^2/(2 mu g) behind it."""
    belt = {"times": [0.0, 2.0], "displacement": [[0.0, 0.0], [1.0, 0.0]]}
    plane = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0], "motion": belt}
    data = scene(DAMPED | {"viscosity": 1e4}, size=[1.0, 0.5], cells=[4, 2], density=2.0, gravity=[0.0, -G],
                 tools={"belt": plane}, contact={"friction": 0.3}, duration=2.0)  # fmt: skip
    simulation = start(data, step=0.005)
    before = simulation.positions[:, 0].mean()
    run_to(simulation, 0.1)
    assert simulation.velocities[:, 0].mean() == pytest.approx(0.3 * G * 0.1, rel=0.02)
    run_to(simulation, 1.0)
    np.testing.assert_allclose(simulation.velocities[:, 0], 0.5, atol=1e-4)
    behind = 0.5 * 1.0 - (simulation.positions[:, 0].mean() - before)
    assert behind == pytest.approx(0.5**2 / (2 * 0.3 * G), rel=5e-3)
    energy = simulation.energy()
    assert energy["friction"] == pytest.approx(0.5 * 1.0 * 0.5**2, rel=0.02)
    assert energy["external"] == pytest.approx(energy["kinetic"] + energy["friction"], rel=0.02)
    assert abs(energy["defect"]) < 1e-9


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_turning_roller_drags_the_surface_along(dimension: int, scene: Scene, start: Start, run_to: RunTo) -> None:
    """Pressed by 0.03 and turned: all contact slides, so the drag is mu N, and mu N R is the moment about its axis."""
    turn = {"times": [0.0, 0.5, 1.0], "displacement": [[0.0] * dimension, *[[*[0.0] * (dimension - 1), -0.03]] * 2]}
    turn |= {"angle": [0.0, 0.0, -2.0]}
    size, cells = ([2.0, 0.5], [16, 4]) if dimension == 2 else ([2.0, 0.5, 0.5], [12, 2, 3])
    center = [1.0, 0.9] if dimension == 2 else [1.0, 0.25, 0.9]
    roller: Data = {"shape": "cylinder", "center": center, "radius": 0.4, "motion": turn}
    if dimension == 3:
        roller["axis"] = [0.0, 1.0, 0.0]
    data = scene(DAMPED, size=size, cells=cells, density=1e-6, supports=FLOOR, tools={"roller": roller},
                 contact={"friction": 0.2})  # fmt: skip
    simulation = start(data, step=0.025, stepper="quasi-static")
    run_to(simulation, 1.0)
    force, moment = simulation.reactions()["tool.roller"], simulation.reactions()["tool.roller.moment"]
    pushes = simulation.fields()["contact_force"]
    touched = np.flatnonzero(pushes.any(axis=1))
    pose = np.append(center, [0.0] * (3 - dimension))
    pose[dimension - 1] -= 0.03
    places = np.pad(simulation.positions, ((0, 0), (0, 3 - dimension)))[touched]
    arm = places - pose
    expected = -np.cross(arm, pushes[touched]).sum(axis=0)
    about = moment[0] if dimension == 2 else moment[1]
    assert about == pytest.approx(expected[2 if dimension == 2 else 1], rel=1e-6)
    flat = arm[:, [0, dimension - 1]]
    normal = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    pressed = np.sum(pushes[touched][:, [0, dimension - 1]] * normal, axis=1)
    # Gaps settle to 1e-10 of the size, normals to the root of it; 3D also slips along the axis where the block widens.
    assert abs(about) == pytest.approx(0.2 * 0.4 * pressed.sum(), rel=2e-4 if dimension == 2 else 1e-3)
    # it turns clockwise seen along z, and its lower side moves to the left
    assert force[0] > 0.0 if dimension == 2 else force[0] < 0.0
    assert len(touched) >= 2


def test_a_cylinder_on_a_half_space_is_that_of_hertz(scene: Scene, start: Start, run_to: RunTo) -> None:
    """Contact half width b of the load P per length: b^2 = 4 P R (1 - nu^2)/(pi E), peak pressure 2 P/(pi b)."""
    radius, young, poisson = 1.0, 1e5, 0.3
    fine = np.linspace(-0.16, 0.16, 33)
    out = 0.16 * 1.25 ** np.arange(1, 13)
    x = np.concatenate([-out[::-1], fine, out])
    y = -np.concatenate([0.01 * np.arange(13), 0.12 * 1.25 ** np.arange(1, 13)])[::-1]
    grid = {"shape": "grid", "coordinates": [x.tolist(), y.tolist()], "law": "stuff", "density": 1e-6}
    push = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.01]]}
    roller = {"shape": "cylinder", "center": [0.0, radius], "radius": radius, "motion": push}
    data = scene({"model": "elastic", "young": young, "poisson": poisson}, size=[1.0, 1.0], cells=[1, 1],
                 supports=FLOOR, tools={"roller": roller}, contact={})  # fmt: skip
    data["bodies"]["block"] = grid
    simulation = start(data, step=0.5, stepper="quasi-static")
    run_to(simulation, 1.0)
    load = simulation.reactions()["tool.roller"][1]
    half = np.sqrt(4.0 * load * radius * (1.0 - poisson**2) / (np.pi * young))
    force = simulation.fields()["contact_force"][:, 1]
    touched = np.flatnonzero(force)
    place = simulation.positions[touched, 0]
    assert abs(np.abs(place).max() - half) < 0.012
    pressure, expected = (
        -force[touched] / 0.01,
        2.0 * load / (np.pi * half) * np.sqrt(np.maximum(1 - (place / half) ** 2, 0)),
    )
    inner = np.abs(place) < 0.8 * half
    np.testing.assert_allclose(pressure[inner], expected[inner], rtol=0.01)


@pytest.fixture
def equilateral(tmp_path: Path) -> Path:
    """A parallelogram of 8 x 4 cells of two equilateral triangles each, sides 1."""
    row, column = np.indices((5, 9)).reshape(2, -1)
    points = np.stack([column + 0.5 * row, 0.5 * np.sqrt(3.0) * row, 0.0 * row], axis=1)
    corner = np.flatnonzero((row < 4) & (column < 8))
    lower, upper = corner[:, None] + [0, 1, 9], corner[:, None] + [1, 10, 9]
    path = tmp_path / "equilateral.vtu"
    meshio.write_points_cells(path, points, [("triangle", np.concatenate([lower, upper]))])
    return path


@pytest.mark.parametrize("contact", [None, {"friction": 0.0}, {"friction": 0.3},
                                     {"law": "penalty", "stiffness": 3e3}],
                         ids=["tools", "exact", "rough", "penalty"])  # fmt: skip
def test_pressing_takes_the_same_force_in_both_models(
    contact: Data | None, equilateral: Path, scene: Scene, problem_of: Callable[[Data], Problem], start: Start
) -> None:
    """Plane stress, nu = 1/3, equilateral triangles: springs are the continuum, so the tool feels the same (2 %)."""
    law = {"model": "voigt", "young": 100.0, "poisson": 1.0 / 3.0, "viscosity": 20.0}
    height = 2.0 * np.sqrt(3.0)
    press = {"times": [0.0, 2.0], "displacement": [[0.0, 0.0], [0.0, -0.02]]}
    roller = {"shape": "cylinder", "center": [6.0, height + 3.0], "radius": 3.0, "motion": press}
    more = {} if contact is None else {"contact": contact}
    data = scene(law, size=[1.0, 1.0], cells=[1, 1], plane="stress", supports=FLOOR, tools={"roller": roller},
                 duration=2.0, **more)  # fmt: skip
    data["bodies"]["block"] = {"shape": "file", "path": str(equilateral), "law": "stuff", "density": 0.05}
    problem = problem_of(data)
    fem = start(problem, step=0.01)
    truss = TrussSolver().start(problem, checked_options(TrussSolver, {}))
    for simulation in (fem, truss):
        simulation.advance(2.0, 10**9)
    expected = fem.reactions()["tool.roller"]
    assert expected[1] > 0.5
    np.testing.assert_allclose(truss.reactions()["tool.roller"][1], expected[1], rtol=0.02)


@pytest.mark.parametrize("step", [1e-4, 5e-5])
@pytest.mark.parametrize("center", [0.1, 0.12, -0.02])
def test_a_light_tool_never_bounces_higher(center: float, step: float, scene: Scene, start: Start) -> None:
    """0.1 g falls 0.1 mm on springs at held nodes, the last of them right under its edge except in the first place.

    Of a node at an edge the face beside it is the nearest while the tool is low, and nothing is stored in its spring;
    seen along the normal at the end of the step in which the tool leaves, it was as deep as the others. It gave back
    what it had not taken, up to a rise of 10 mm.
    """
    everything = {"all": {"body": "block", "where": {"box": {"y": [-1.0, 1.0]}}}}
    brick = {"shape": "box", "center": [center, 0.1301], "size": [0.14, 0.06], "drive": {"mass": 1e-4, "free": ["y"]}}
    data = scene(DAMPED, size=[0.2, 0.1], cells=[4, 2], density=1000.0, gravity=[0.0, -G], supports=everything,
                 contact={"law": "penalty", "stiffness": 1e5}, tools={"brick": brick}, duration=0.1)  # fmt: skip
    simulation, heights = start(data, step=step), []
    for k in range(1, round(0.1 / step) + 1):
        simulation.advance(k * step, 1)
        heights.append(float(simulation.tool_poses()[0, 1]))  # type: ignore[attr-defined]
    # It is seen at steps only, within which it falls g h^2/8 from a turning point.
    assert -1e-7 < max(heights[round(0.007 / step) :]) < 1e-9
    assert min(heights) > -1.1e-4


@pytest.mark.parametrize("who", ["midpoint", "quasi-static", "central-difference", "truss"])
def test_moments_on_tools_are_those_of_forces_at_nodes(who: str, scene: Scene, start: Start) -> None:
    """A roller turns 5 % of its radius deep in soft springs: its moment is -sum (x - c) x f of the nodes' forces.

    With the arms of its surface it would be up to a twentieth larger.
    """
    roller = {
        "shape": "cylinder",
        "center": [0.5, 0.61],
        "radius": 0.1,
        "motion": {"times": [0.0, 0.4], "displacement": [[0.0, 0.0], [0.0, -0.04]], "angle": [0.0, -1.0]},
    }
    law = {"law": "penalty", "stiffness": 2e5, "friction": 0.4, "bodies": False}
    data = scene(DAMPED, size=[1.0, 0.5], cells=[10, 5], density=1000.0, supports=FLOOR, tools={"roller": roller},
                 contact=law, duration=0.4)  # fmt: skip
    if who == "truss":
        solver = TrussSolver()
        problem = build_problem(scene_from_data(data, base=None))
        simulation: Any = solver.start(problem, checked_options(solver, {}))
    else:
        simulation = start(data, stepper=who, **({} if who == "central-difference" else {"step": 0.01}))
    simulation.advance(0.4, 10**9)
    force, x = simulation.fields()["contact_force"][:, :2], simulation.positions
    touched = np.flatnonzero(np.any(force != 0.0, axis=1))
    center = np.array([0.5, 0.57])
    depth = 0.1 - np.linalg.norm(x[touched] - center, axis=1)
    assert 0.002 < depth.max() < 0.01
    arm = x[touched] - center
    moment = -np.sum(arm[:, 0] * force[touched, 1] - arm[:, 1] * force[touched, 0])
    assert abs(moment) > 0.1
    # between the middle of a step, whose forces these are, and its end nodes move a little
    assert simulation.reactions()["tool.roller.moment"][0] == pytest.approx(moment, rel=5e-3)
