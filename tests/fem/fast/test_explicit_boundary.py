"""What acts from outside on explicit steps: tools, driven supports, loads, and the account of their work."""

from typing import Any

import numpy as np
import pytest

from rheotwin.constraints import RigidTool, at_rest, tool_gaps
from rheotwin.constraints.tools import PLANE, pack_geometry
from rheotwin.fem.fast.explicit_boundary import no_outside, pack_boundary, tool_forces, touch_stages
from rheotwin.fem.fast.explicit_loop import ExplicitModel, ExplicitState
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.program import Clock, Program
from rheotwin.problem import Problem
from rheotwin.tensors import padded
from rheotwin.validation.checks.running import FLOOR, Data, box_scene, path, problem_of, side

Array = np.ndarray

SOFT: Data = {"model": "voigt", "young": 300.0, "poisson": 0.35, "viscosity": 1.0}
TIMES = [0.0, 1.0, 2.0, 2.5, 3.5]
DIPS = [0.0, 0.15, 0.15, -0.2, -0.2]


TOOLS: dict[str, Data] = {
    "bar": {"shape": "bar", "center": [1.0, 1.0], "normal": [0.0, -1.0], "width": 1.0},
    "disc": {"shape": "sphere", "center": [0.97, 1.6], "radius": 0.6},
    "turning triangle": {"shape": "prism", "center": [0.97, 1.4], "radius": 0.6, "sides": 3, "angle": 0.52},
    "ball": {"shape": "sphere", "center": [0.6, 0.45, 1.5], "radius": 0.5},
}
TURNING = {"angle": [0.0, 0.5, 1.0, 0.0, 0.0]}


def touching(dimension: int = 2, **more: Any) -> Problem:
    size, cells = ([2.0, 1.0], [8, 4]) if dimension == 2 else ([1.2, 1.0, 1.0], [4, 3, 3])
    return problem_of(
        box_scene(SOFT, size=size, cells=cells, density=10.0, duration=TIMES[-1], **({"supports": FLOOR} | more))
    )


def under(name: str, **more: Any) -> Problem:
    between = [0.0] if name == "ball" else []
    motion = path(TIMES, [[0.3 * dip, *between, -dip] for dip in DIPS]) | (TURNING if "turning" in name else {})
    return touching(2 + len(between), tools={"tool": TOOLS[name] | {"motion": motion}}, **more)


def positions(model: ExplicitModel, state: ExplicitState) -> Array:
    nodes = model.boundary.nodes
    return padded((nodes.rest + state.motion.displacement).reshape(-1, nodes.dimension))


@pytest.mark.parametrize("name", TOOLS)
def test_pressing_and_lifting(name: str, explicit: Any) -> None:
    """Nothing inside the tool at any look, no pull, forces along its normal; contact ends when the tool is away."""
    problem = under(name)
    model, rigid = explicit(problem, 1e-3), problem.tools[0]
    state, pressed = model.start(), []
    for step in range(0, 3500, 50):
        assert model.advance(state, step, 50) == 50
        gaps, normals = tool_gaps(rigid, (step + 50) * 1e-3, positions(model, state)[rigid.candidates])
        assert gaps.min() > -1e-12
        forces = tool_forces(state.outside.touching.contact)
        along = np.sum(forces * normals, axis=1)
        assert along.min() >= 0.0
        off = np.abs(forces - along[:, None] * normals).max()
        assert off <= 1e-3 * max(along.max(), 1e-12)  # a curved tool turns by h v/r within the step
        assert np.all(gaps[along > 0.0] < 1e-9)
        pressed.append(along.sum() > 0.0)
    assert all(pressed[10:38]) and not any(pressed[52:])


@pytest.mark.parametrize("tilt", [-0.3, 0.35], ids=["wedge", "one before the other"])
def test_a_node_between_two_tools_and_a_roller_support(tilt: float, explicit: Any) -> None:
    """Two planes press a corner whose side is held: the supports and tools share the force, none is entered."""
    motion = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.4]])
    planes = {
        "one": {"shape": "plane", "center": [1.0, 1.3], "normal": [0.2, -1.0], "motion": motion},
        "two": {"shape": "plane", "center": [1.0, 1.3], "normal": [tilt, -1.0], "motion": motion},
    }
    problem = touching(tools=planes, supports=FLOOR | {"wall": side("left", fix=["x"])})
    model = explicit(problem, 1e-3)
    state = model.start()
    model.advance(state, 0, 1000)
    points = positions(model, state)
    forces = np.split(tool_forces(state.outside.touching.contact), model.boundary.contact.tools.offset[1:-1])
    for tool, force in zip(problem.tools, forces, strict=True):
        gaps, normals = tool_gaps(tool, 1.0, points[tool.candidates])
        assert gaps.min() > -1e-12 and np.sum(force * normals, axis=1).min() >= 0.0
    assert np.all(np.abs(points[(problem.points[:, 0] == 0.0), 0]) < 1e-15)
    assert tool_forces(state.outside.touching.contact)[:, 1].sum() < -1.0
    pushes = tool_forces(state.outside.touching.contact).sum(axis=0)[:2]
    exerted = pushes + state.outside.reaction.reshape(-1, 2).sum(axis=0)
    np.testing.assert_allclose(state.outside.exerted.reshape(-1, 2).sum(axis=0), exerted, atol=1e-9)


def test_driven_support_and_load_follow_their_tables(explicit: Any) -> None:
    """A shaken floor is where its table says at every step; loads are those of the step's start; gravity adds."""
    shake = path([0.0, 0.5, 1.0], [[0.0, 0.0], [0.1, 0.05], [0.0, 0.0]]) | {"interpolation": "smooth"}
    pull = {"pull": side("top", total=[3.0, 0.0], times=[0.0, 1.0], factor=[0.0, 2.0])}
    problem = touching(supports={"floor": side("bottom", motion=shake)}, forces=pull, gravity=[0.0, -9.81])
    model = explicit(problem, 1e-3)
    state = model.start()
    for step in (0, 100, 250, 600):
        model.advance(state, step, 1)
        target = problem.prescribed[0].motion.at((step + 1) * 1e-3)
        floor = problem.prescribed[0].nodes
        np.testing.assert_allclose(state.motion.displacement.reshape(-1, 2)[floor], [target] * len(floor), atol=1e-15)
        total = state.outside.external.reshape(-1, 2).sum(axis=0)
        factor = problem.loads[0].factor.at(step * 1e-3)[0]
        np.testing.assert_allclose(total, [3.0 * factor, -9.81 * problem.masses.sum()], rtol=1e-12)


@pytest.mark.parametrize("name", ["disc", "ball"])
def test_the_account_of_work_closes(name: str, explicit: Any) -> None:
    """Work of loads, supports and tools = kinetic energy + work into the body, at every full step, to rounding."""
    away = [0.0] * (2 if name == "ball" else 1)
    shake = path([0.0, 0.5, 1.0], [[*away, 0.0], [*away, 0.05], [*away, 0.0]])
    model = explicit(under(name, supports={"floor": side("bottom", motion=shake)}, gravity=[*away, -9.81]), 1e-3)
    state = model.start()
    mass, first = model.boundary.nodes.mass, 0
    for count in (1, 99, 900, 1500):
        model.advance(state, first, count, account=True)
        first += count
        full = model.at_full_step(state, first).motion
        kinetic = 0.5 * full.velocity @ (mass * full.velocity)
        assert full.work[0] == pytest.approx(kinetic + full.work[1], abs=1e-12 * np.abs(full.work).max())
    assert np.abs(full.work).max() > 0.1


def test_full_step_forces_balance_the_motion(explicit: Any) -> None:
    """Total momentum changes by exactly what weight, floor and tool exert: sum m (v+ - v-) = h sum (f + exerted)."""
    model = explicit(under("disc", gravity=[0.0, -9.81]), 1e-3)
    state = model.start()
    model.advance(state, 0, 400)
    before, full = state.motion.velocity.copy(), model.at_full_step(state, 400)
    model.advance(state, 400, 1)
    gained = (model.boundary.nodes.mass * (state.motion.velocity - before)).reshape(-1, 2).sum(axis=0)
    forces = (full.outside.external + full.outside.exerted).reshape(-1, 2).sum(axis=0)
    np.testing.assert_allclose(gained, 1e-3 * forces, atol=1e-14)
    np.testing.assert_allclose(full.motion.velocity, 0.5 * (before + state.motion.velocity), rtol=0, atol=1e-15)


def test_a_tool_that_another_one_overtakes_lets_go() -> None:
    """A node inside two planes whose way out of the second leads out of the first as well: the first does not pull."""
    normals = [np.array([0.2, -1.0]), np.array([0.35, -1.0])]
    planes = [pack_geometry(center=np.array([0.0, -0.5 * k]), reference=n) for k, n in enumerate(normals)]
    tools = [RigidTool(str(k), PLANE, plane, at_rest(4), np.array([0])) for k, plane in enumerate(planes)]
    boundary = pack_boundary(
        points=np.array([[0.0, 0.1]]),
        masses=np.full(2, 2.0),
        weight=np.zeros(2),
        owners=np.full((1, 2), -1),
        motions=[],
        loads=[],
        tools=tools,
        runaway=100.0,
        extent=1.0,
    )
    outside, v = no_outside(boundary), np.zeros(2)
    clock = Clock()
    stages = touch_stages(boundary.nodes, outside, np.zeros(2), v, clock.end, Now(np.full(1, 0.1)))
    Program(stages, 0.1, clock).run(0, 1)
    n = normals[1] / np.linalg.norm(normals[1])
    depth = -float(n @ [0.0, 0.6])  # how far inside the second plane
    np.testing.assert_allclose(tool_forces(outside.touching.contact)[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(v, depth / 0.1 * n, rtol=1e-12)
    np.testing.assert_allclose(tool_forces(outside.touching.contact)[1, :2], 2.0 * depth / 0.1**2 * n, rtol=1e-12)
