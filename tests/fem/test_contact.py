"""Unilateral contact with rigid tools: no penetration, no pull, balance, and the exact active set."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from rheotwin.constraints import tool_gaps
from rheotwin.fem.space import lame_matrix, shear_matrix, vector_basis
from rheotwin.problem import Problem
from rheotwin.solver import Simulation

Data = dict[str, Any]
Array = np.ndarray
Start = Callable[..., Simulation]

SOFT: Data = {"model": "voigt", "young": 300.0, "poisson": 0.3, "viscosity": 15.0}
DIPS = [0.0, 0.15, 0.15, -0.2, -0.2, 0.12]
TIMES = [0.0, 1.0, 2.0, 2.5, 3.5, 4.5]


def dipping(dimension: int, angle: list[float] | None = None, sideways: float = 0.0) -> Data:
    """Down, wait, far up, wait, down again."""
    down = [[sideways * dip, *[0.0] * (dimension - 2), -dip] for dip in DIPS]
    return {"times": TIMES, "displacement": down} | ({"angle": angle} if angle else {})


TOOLS: dict[str, tuple[int, Data]] = {
    "bar": (2, {"shape": "bar", "center": [1.0, 1.0], "normal": [0.0, -1.0], "width": 1.0, "motion": dipping(2)}),
    "tilted plane": (2, {"shape": "plane", "center": [1.0, 1.0], "normal": [0.1, -1.0], "motion": dipping(2)}),
    "turning plane": (
        2,
        {
            "shape": "plane",
            "center": [1.0, 1.0],
            "normal": [0.0, -1.0],
            "motion": dipping(2, [0.0, 0.1, -0.1, 0.0, 0.0, 0.1]),
        },
    ),
    "disc": (2, {"shape": "sphere", "center": [0.97, 1.6], "radius": 0.6, "motion": dipping(2, None, 0.4)}),
    "roller": (2, {"shape": "cylinder", "center": [1.03, 1.6], "radius": 0.6, "motion": dipping(2)}),
    "square": (
        2,
        {"shape": "prism", "center": [0.97, 1.5], "radius": 0.6, "sides": 4, "angle": 0.3, "motion": dipping(2)},
    ),
    "turning triangle": (
        2,
        {
            "shape": "prism",
            "center": [0.97, 1.4],
            "radius": 0.6,
            "sides": 3,
            "angle": 0.52,
            "motion": dipping(2, [0.0, 0.5, 1.0, 0.0, 0.0, -0.5]),
        },
    ),
    "bar 3D": (
        3,
        {"shape": "bar", "center": [0.6, 0.5, 1.0], "normal": [0, 0, -1], "width": [0.9, 0.4], "motion": dipping(3)},
    ),
    "ball": (3, {"shape": "sphere", "center": [0.6, 0.45, 1.5], "radius": 0.5, "motion": dipping(3, None, 0.3)}),
    "roller 3D": (
        3,
        {
            "shape": "cylinder",
            "center": [0.6, 0.5, 1.5],
            "radius": 0.5,
            "axis": [0.3, 1.0, 0.0],
            "motion": dipping(3),
        },
    ),
    "prism 3D": (
        3,
        {
            "shape": "prism",
            "center": [0.62, 0.5, 1.4],
            "radius": 0.5,
            "axis": [0.2, 1.0, 0.0],
            "sides": 5,
            "angle": 0.2,
            "motion": dipping(3, [0.0, 0.3, 0.3, 0.0, 0.0, 0.6]),
        },
    ),
}


@pytest.fixture
def touching(scene: Callable[..., Data], problem_of: Callable[[Data], Problem]) -> Callable[..., Problem]:
    """A block on a floor support with one tool."""

    def build(tool: Data, dimension: int, law: Data = SOFT, density: float = 1.0, **more: Any) -> Problem:
        size, cells = ([2.0, 1.0], [8, 4]) if dimension == 2 else ([1.2, 1.0, 1.0], [4, 3, 3])
        return problem_of(
            scene(
                law,
                size=size,
                cells=cells,
                density=density,
                duration=TIMES[-1],
                supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
                tools={"tool": tool},
                **more,
            )
        )

    return build


def padded(points: Array) -> Array:
    return np.column_stack([points, np.zeros((len(points), 3 - points.shape[1]))])


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
@pytest.mark.parametrize("name", TOOLS)
def test_pressing_lifting_and_pressing_again(
    name: str, mass: str, touching: Callable[..., Problem], start: Start
) -> None:
    """At every step: nothing inside the tool, forces push along its normal, the tool feels their sum."""
    dimension, tool = TOOLS[name]
    problem = touching(tool, dimension)
    simulation, rigid = start(problem, step=0.1, mass=mass), problem.tools[0]
    touched = []
    while simulation.time < TIMES[-1] - 1e-9:
        simulation.advance(simulation.time + 0.1, 1)
        gaps, normals = tool_gaps(rigid, simulation.time, padded(simulation.positions)[rigid.candidates])
        force = simulation.fields()["contact_force"]
        assert gaps.min() > -1e-9
        pushed = np.flatnonzero(np.any(force != 0.0, axis=1))
        assert np.isin(pushed, rigid.candidates).all()
        along = np.sum(force[rigid.candidates] * normals, axis=1)
        assert along.min() >= 0.0
        # a curved tool is linearised until the gap is below 1e-10 of the size: its normal is then good to 1e-5
        off = np.abs(force[rigid.candidates] - along[:, None] * normals).max()
        assert off <= 1e-4 * along.max()
        assert np.all(gaps[along > 0.0] < 1e-9)
        np.testing.assert_allclose(
            simulation.reactions()["tool.tool"], -force.sum(axis=0)[:dimension], rtol=1e-12, atol=1e-12
        )
        touched.append(len(pushed))
    at = [round(time / 0.1) - 1 for time in TIMES]
    assert min(touched[at[1] : at[2]]) > 0
    assert touched[at[3] : at[4]] == [0] * (at[4] - at[3])
    assert touched[-1] > 0


@pytest.mark.parametrize("name", TOOLS)
def test_tool_and_support_balance_at_rest(name: str, touching: Callable[..., Problem], start: Start) -> None:
    """Pressed once and held for thirty relaxation times: both forces cancel but for the weight."""
    dimension, tool = TOOLS[name]
    motion = dipping(dimension) | {"times": [0.0, 1.0, 10.0, 11.0, 12.0, 13.0]}
    problem = touching(tool | {"motion": motion}, dimension, gravity=[*[0.0] * (dimension - 1), -0.5], density=2.0)
    simulation = start(problem, step=0.05)
    simulation.advance(4.5, 10**9)
    forces = simulation.reactions()
    weight = np.array([*[0.0] * (dimension - 1), -0.5 * problem.masses.sum()])
    assert np.linalg.norm(forces["tool.tool"]) > 1.0
    np.testing.assert_allclose(forces["tool.tool"] + forces["support.floor"], weight, atol=2e-4)


def smallest_energy(problem: Problem, moduli: tuple[float, float], time: float) -> Array:
    """Displacement of least elastic energy outside flat tools: min u'Ku/2, gap + n.u >= 0, floor held (SLSQP)."""
    body = problem.bodies[0]
    basis = vector_basis(body.mesh, body.cell)
    stiffness = (moduli[0] * lame_matrix(basis) + moduli[1] * shear_matrix(basis)).toarray()
    d = problem.dimension
    held = (problem.prescribed[0].nodes[:, None] * d + np.arange(d)).ravel()
    free = np.setdiff1d(np.arange(problem.points.size), held)
    rows, gaps = [], []
    for tool in problem.tools:
        gap, normal = tool_gaps(tool, time, padded(problem.points)[tool.candidates])
        block = np.zeros((len(gap), problem.points.size))
        for k, node in enumerate(tool.candidates):
            block[k, node * d : node * d + d] = normal[k, :d]
        rows.append(block[:, free])
        gaps.append(gap)
    inner = stiffness[np.ix_(free, free)]
    movable = np.any(np.vstack(rows) != 0.0, axis=1)
    constraint = LinearConstraint(np.vstack(rows)[movable], -np.concatenate(gaps)[movable], np.inf)
    found = minimize(
        lambda u: 0.5 * u @ inner @ u,
        np.zeros(len(free)),
        jac=lambda u: inner @ u,
        constraints=constraint,
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 500},
    )
    out = np.zeros(problem.points.size)
    out[free] = found.x
    return out.reshape(-1, d)


@pytest.mark.parametrize(
    ("normals", "depth"),
    [([(0.15, -1.0)], -0.02), ([(0.4, -1.0), (-0.35, -1.0)], 0.15)],
    ids=["one plane", "two planes"],
)
def test_active_set_is_that_of_an_independent_quadratic_program(
    normals: list[tuple[float, float]],
    depth: float,
    scene: Callable[..., Data],
    problem_of: Callable[..., Problem],
    start: Start,
) -> None:
    """One step of a body without inertia ends at the constrained minimum of its elastic energy."""
    tools = {
        f"plane-{k}": {
            "shape": "plane",
            "center": [1.0, 1.0],
            "normal": list(normal),
            "motion": {"times": [0.0, 1.0], "displacement": [[0.0, 0.3], [0.0, depth]]},
        }
        for k, normal in enumerate(normals)
    }
    law = {"model": "elastic", "young": 250.0, "poisson": 0.25}
    floor = {"floor": {"body": "block", "where": {"side": "bottom"}}}
    data = scene(law, size=[2.0, 1.0], cells=[5, 3], duration=1.0, supports=floor, tools=tools)
    problem = problem_of(data)
    expected = smallest_energy(problem, (100.0, 100.0), 1.0)
    simulation = start(problem, step=1.0)
    simulation.advance(1.0, 1)
    found = simulation.fields()["displacement"][:, :2]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    touched = set()
    for tool in problem.tools:
        moved = padded(problem.points + expected)[tool.candidates]
        touched |= set(tool.candidates[np.abs(tool_gaps(tool, 1.0, moved)[0]) < 1e-7])
    pushed = set(np.flatnonzero(simulation.fields()["contact_force"][:, 1] < 0.0))
    assert pushed <= touched
    assert 1 < len(pushed) < 6


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_a_falling_block_comes_to_rest_on_a_plane(
    mass: str, scene: Callable[..., Data], problem_of: Callable[..., Problem], start: Start
) -> None:
    """Height 0.05, g = 10: lands after 0.1 s, energy never grows, ends at height 0 with its weight on the plane."""
    plane = {"shape": "plane", "center": [0.0, -0.05], "normal": [0.0, 1.0]}
    law = SOFT | {"young": 3e4, "viscosity": 600.0}
    data = scene(
        law, size=[1.0, 0.5], cells=[4, 2], density=20.0, duration=2.0, gravity=[0.0, -10.0], tools={"ground": plane}
    )
    problem = problem_of(data)
    simulation = start(problem, step=0.005, mass=mass)
    lowest, before = [], np.inf
    for k in range(1, 401):
        simulation.advance(0.005 * k, 1)
        lowest.append(simulation.positions[:, 1].min() + 0.05)
        energy = simulation.energy()
        total = energy["kinetic"] + energy["stored"] + 10.0 * problem.masses @ simulation.positions[:, 1]
        assert total < before + 1e-10
        before = total
    fall = 0.05 - 5.0 * (0.005 * np.arange(1, 20)) ** 2
    np.testing.assert_allclose(lowest[:19], fall, atol=1e-10)
    assert min(lowest) > -1e-10
    assert max(lowest[20:]) < 0.02
    assert lowest[-1] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(simulation.reactions()["tool.ground"], [0.0, -20.0 * 0.5 * 10.0], atol=1e-6 * 100)
    assert np.abs(simulation.velocities).max() < 1e-9


def test_impulse_of_the_tool_is_the_change_of_momentum(
    scene: Callable[..., Data], start: Start, with_state: Callable[..., None]
) -> None:
    """A bar of one cell flies at a wall and stops with it, node by node: force times step = - change of m v."""
    soft = {"model": "elastic", "young": 1e-9, "poisson": 0.3}
    wall = {"shape": "plane", "center": [-0.25], "normal": [1.0]}
    data = scene(soft, size=[1.0], cells=[1], mass=6.0, duration=1.0, tools={"wall": wall})
    simulation = start(data, step=0.1)
    with_state(simulation, v=[-1.0, -1.0])
    impulse = 0.0
    for _ in range(6):
        simulation.advance(1.0, 1)
        impulse += 0.1 * simulation.reactions()["tool.wall"][0]
    np.testing.assert_allclose(simulation.velocities[:, 0], [0.0, -1.0], atol=1e-8)
    assert simulation.positions[0, 0] == pytest.approx(-0.25, abs=1e-12)
    assert impulse == pytest.approx(-3.0, rel=1e-8)


def test_supports_win_over_tools(touching: Callable[..., Problem], start: Start) -> None:
    """A plane that runs into the held floor nodes moves nothing there and stops no run."""
    rising = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, 0.1]]}
    tool = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0], "motion": rising}
    problem = touching(tool, 2)
    simulation = start(problem, step=0.25)
    simulation.advance(1.0, 10**9)
    floor = problem.prescribed[0].nodes
    np.testing.assert_array_equal(simulation.fields()["displacement"][floor], 0.0)
    free = np.setdiff1d(problem.tools[0].candidates, floor)
    assert simulation.positions[free, 1].min() >= 0.1 - 1e-9


def test_roller_nodes_share_load_between_tool_and_support(
    scene: Callable[..., Data], problem_of: Callable[..., Problem], start: Start
) -> None:
    """A tilted plane on nodes held sideways: at rest, weight + both reactions balance in x and y."""
    plane = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.3, 1.0]}
    rail = {"rail": {"body": "block", "where": {"side": "left"}, "fix": ["x"]}}
    law = SOFT | {"viscosity": 60.0}
    data = scene(
        law,
        size=[1.0, 1.0],
        cells=[3, 3],
        density=1.0,
        duration=20.0,
        gravity=[0.0, -10.0],
        supports=rail,
        tools={"slope": plane},
    )
    problem = problem_of(data)
    simulation = start(problem, step=0.02)
    simulation.advance(20.0, 10**9)
    forces, normal = simulation.reactions(), np.array([0.3, 1.0]) / np.hypot(0.3, 1.0)
    np.testing.assert_allclose(forces["tool.slope"] + forces["support.rail"], [0.0, -10.0], atol=1e-5)
    assert np.cross([*forces["tool.slope"], 0.0], [*normal, 0.0])[2] == pytest.approx(0.0, abs=1e-9)
    assert forces["tool.slope"] @ -normal > 1.0
    pushed = np.flatnonzero(simulation.fields()["contact_force"].any(axis=1))
    assert np.isin(pushed, problem.prescribed[0].nodes).all()


def test_no_tool_no_force(scene: Callable[..., Data], problem_of: Callable[..., Problem], start: Start) -> None:
    problem = problem_of(scene(SOFT, size=[1.0, 1.0], cells=[2, 2], density=1.0, gravity=[0.0, -1.0], duration=1.0))
    simulation = start(replace(problem, tools=()), step=0.1)
    simulation.advance(1.0, 10**9)
    assert simulation.reactions() == {}
    assert not simulation.fields()["contact_force"].any()


@pytest.mark.parametrize(("dimension", "angle", "moved"), [(3, 1.0, 0.0), (2, 0.1, 2.0 * np.sin(0.1))])
def test_a_plane_turns_about_its_normal_in_3d_and_tilts_in_2d(
    dimension: int, angle: float, moved: float, touching: Callable[..., Problem]
) -> None:
    """The scene's words: in 3D a turn changes nothing; in 2D a point 2 to the right comes 2 sin(angle) nearer."""
    motion = {"times": [0.0, 1.0], "displacement": [[0.0] * dimension] * 2, "angle": [0.0, angle]}
    normal = [0.6, 0.0, -0.8] if dimension == 3 else [0.0, -1.0]
    plane = {"shape": "plane", "center": [0.0] * dimension, "normal": normal, "motion": motion}
    rigid = touching(plane, dimension).tools[0]
    point = np.array([[2.0, 0.0, 0.0]])
    before, after = (tool_gaps(rigid, time, point)[0][0] for time in (0.0, 1.0))
    assert after - before == pytest.approx(moved, abs=1e-14)


def test_of_two_tools_along_one_direction_the_foremost_carries_the_force(
    scene: Callable[..., Data], start: Start, run_to: Callable[[Simulation, float], None]
) -> None:
    """A bar and a plane that press the same nodes downwards: one force, on the deeper tool, as with it alone."""
    bar = {"shape": "bar", "center": [1.0, 1.0], "normal": [0.0, -1.0], "width": 1.0}
    plane = {"shape": "plane", "center": [1.0, 1.0], "normal": [0.0, -1.0]}
    deep = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.2]]}
    shallow = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.1]]}
    support = {"floor": {"body": "block", "where": {"side": "bottom"}}}

    def force(tools: Data) -> dict[str, Array]:
        simulation = start(
            scene(SOFT, size=[2.0, 1.0], cells=[4, 2], tools=tools, supports=support, duration=1.0), step=0.1
        )
        run_to(simulation, 1.0)
        return simulation.reactions()

    both = force({"bar": bar | {"motion": shallow}, "plane": plane | {"motion": deep}})
    alone = force({"plane": plane | {"motion": deep}})
    np.testing.assert_allclose(both["tool.plane"], alone["tool.plane"], rtol=1e-9)
    np.testing.assert_array_equal(both["tool.bar"], 0.0)
    assert both["tool.plane"][1] > 1.0


def test_nodes_of_two_supports_count_once(
    scene: Callable[..., Data], start: Start, run_to: Callable[[Simulation, float], None]
) -> None:
    """Under gravity the reactions of overlapping fixed supports add up to the weight."""
    supports = {
        "floor": {"body": "block", "where": {"side": "bottom"}},
        "corner": {"body": "block", "where": {"box": {"x": [0.0, 1.0], "y": [0.0, 0.0]}}},
    }
    data = scene(SOFT, size=[2.0, 1.0], cells=[4, 2], supports=supports, gravity=[0.0, -9.81], density=1.0)
    simulation = start(data, step=0.05)
    run_to(simulation, 10.0)
    reactions = simulation.reactions()
    assert reactions["support.floor"][1] + reactions["support.corner"][1] == pytest.approx(-9.81 * 2.0, rel=1e-6)
    np.testing.assert_array_equal(reactions["support.corner"], 0.0)
