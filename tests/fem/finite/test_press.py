"""The papers' pressing scene at its full depth, 10 of 30, and contact with tools of other shapes."""

from typing import Any

import numpy as np
import pytest

from rheotwin.constraints import tool_gaps
from rheotwin.fem.finite.contact import ToolContact
from rheotwin.tensors import padded
from rheotwin.validation.checks.running import (
    ELASTIC,
    EQUAL_RATIO,
    FLOOR,
    Data,
    box_scene,
    path,
    problem_of,
    run_to,
    start,
)
from rheotwin.validation.checks.scenes import press_scene

FORCES = {
    ("elastic", "corotational"): (2145.821517, 3876.586032),
    ("elastic", "total-lagrangian"): (2564.775545, 5429.888358),
    ("three-element", "corotational"): (199.79, 301.21),
    ("three-element", "total-lagrangian"): (244.39, 449.35),
}
"""Force on the bar at depth 5 and 10 without inertia, from steps of 0.05 s; linear: 2348, 4696 and 218.7, 360.0."""


EXHAUSTIVE = pytest.mark.exhaustive


@pytest.mark.parametrize(
    ("name", "inertia"),
    [
        ("elastic", False),
        ("three-element", True),
        *(pytest.param(*case, marks=EXHAUSTIVE) for case in (("elastic", True), ("three-element", False))),
    ],
)
def test_pressed_by_a_third_of_its_height(name: str, inertia: bool, description: str, begin: Any) -> None:
    """Down, up and away in 40 steps: no node inside the bar, no pull, and the forces are those of short steps.
    Without inertia the elastic block does not depend on the steps taken; the viscous one does, in first order. With
    inertia the block rings by a share of (stroke rate/wave speed)^2 of its energy, some per cent."""
    problem = problem_of(press_scene(EQUAL_RATIO[name], mass=30.0))
    simulation, bar = begin(problem, description, step=0.5, inertia=inertia), problem.tools[0]
    found = {}
    while simulation.time < 20.0:
        simulation.advance(20.0, 1)
        gaps, _ = tool_gaps(bar, simulation.time, padded(simulation.positions)[bar.candidates])
        assert gaps.min() > -1e-9
        force = simulation.reactions()
        assert force["tool.bar"][1] >= 0.0
        if not inertia:
            scale = max(1.0, force["tool.bar"][1])
            np.testing.assert_allclose(force["tool.bar"] + force["support.floor"], 0.0, atol=1e-7 * scale)
        found[simulation.time] = force["tool.bar"][1]
    tolerance = 2e-2 if inertia else {"elastic": 1e-8, "three-element": 5e-3}[name]
    np.testing.assert_allclose([found[5.0], found[10.0]], FORCES[name, description], rtol=tolerance)
    rest = simulation.fields()
    if name == "elastic" and not inertia:
        np.testing.assert_allclose(rest["displacement"], 0.0, atol=1e-9)
    if name == "three-element":
        assert rest["displacement"][bar.candidates, 1].min() < -1.0
    assert found[20.0] == 0.0 or name == "elastic"


DIP = path([0.0, 1.0, 2.0, 3.0], [[0.0, 0.0], [0.1, -0.3], [0.1, -0.3], [0.0, 0.3]])
TOOLS: dict[str, Data] = {
    "disc": {"shape": "sphere", "center": [0.97, 1.6], "radius": 0.6},
    "tilted plane": {"shape": "plane", "center": [0.0, 1.0], "normal": [0.3, -1.0]},
    "turning square": {"shape": "prism", "center": [0.97, 1.58], "radius": 0.5, "sides": 4, "angle": 0.3},
}


@pytest.mark.parametrize(
    ("tool", "inertia"),
    [
        ("disc", False),
        ("turning square", True),
        *(pytest.param(*case, marks=EXHAUSTIVE) for case in (("disc", True), ("turning square", False))),
        *(pytest.param("tilted plane", inertia, marks=EXHAUSTIVE) for inertia in (False, True)),
    ],
)
def test_pressing_deep_and_leaving(tool: str, inertia: bool, description: str, begin: Any) -> None:
    """At every step nothing is inside the tool, forces push along its normal, and the tool feels their sum."""
    motion = DIP | ({"angle": [0.0, 0.8, 0.8, 0.8]} if "turning" in tool else {})
    more: Data = {
        "cell": "quad",
        "density": 1.0,
        "supports": FLOOR,
        "tools": {"tool": TOOLS[tool] | {"motion": motion}},
    }
    law = EQUAL_RATIO["generalized-maxwell"]
    problem = problem_of(box_scene(law, size=[2.0, 1.0], cells=[8, 4], duration=3.0, **more))
    simulation, rigid, touched = begin(problem, description, step=0.125, inertia=inertia), problem.tools[0], []
    while simulation.time < 3.0:
        simulation.advance(3.0, 1)
        gaps, normals = tool_gaps(rigid, simulation.time, padded(simulation.positions)[rigid.candidates])
        force = simulation.fields()["contact_force"]
        along = np.sum(force[rigid.candidates] * normals, axis=1)
        assert gaps.min() > -1e-9 and along.min() >= 0.0 and np.all(np.abs(gaps[along > 0.0]) < 1e-9)
        np.testing.assert_allclose(force[rigid.candidates], along[:, None] * normals, atol=1e-9 * max(1, along.max()))
        np.testing.assert_allclose(simulation.reactions()["tool.tool"], -force.sum(axis=0)[:2], atol=1e-9)
        touched.append(np.count_nonzero(along))
    assert max(touched) > 1 and touched[-1] == 0


def test_of_two_tools_along_one_direction_the_foremost_carries_the_force(description: str, begin: Any) -> None:
    tools: Data = {"bar": {"shape": "bar", "width": 1.0}, "plane": {"shape": "plane"}}
    for tool, depth in zip(tools.values(), (0.1, 0.2), strict=True):
        tool |= {"center": [1.0, 1.0], "normal": [0.0, -1.0], "motion": path([0.0, 1.0], [[0.0, 0.0], [0.0, -depth]])}
    forces = []
    for chosen in (tools, {"plane": tools["plane"]}):
        data = box_scene(ELASTIC, size=[2.0, 1.0], cells=[4, 2], tools=chosen, supports=FLOOR)
        simulation = run_to(begin(data, description, step=0.5), 1.0)
        forces.append(simulation.reactions())
    both, alone = forces
    np.testing.assert_allclose(both["tool.plane"], alone["tool.plane"], rtol=1e-9)
    np.testing.assert_array_equal(both["tool.bar"], 0.0)
    assert both["tool.plane"][1] > 1.0


ROUND = [
    {"shape": "sphere", "center": [0.5, 0.45, 1.6], "radius": 0.5},
    {"shape": "cylinder", "center": [0.5, 0.5, 1.7], "radius": 0.5, "axis": [0.3, 1.0, 0.2]},
]
FLAT = {"shape": "plane", "center": [0.5, 0.5, 1.1], "normal": [0.1, 0.2, -1.0]}


@pytest.mark.parametrize("tool", [*ROUND, FLAT], ids=["ball", "roller", "plane"])
def test_normals_turn_as_their_derivative_says(tool: Data) -> None:
    """Central differences of the normals of every pair, with a step of 1e-6: good to about 1e-9."""
    problem = problem_of(box_scene(ELASTIC, size=[1.0, 1.0, 1.0], cells=[2, 2, 2], tools={"tool": tool}))
    contact, h = ToolContact(problem.tools, problem.owners < 0), 1e-6
    bending = contact.pairs(problem.points, 0.0).bending
    for axis in range(3):
        shift = h * np.eye(3)[axis]
        ahead, behind = (contact.pairs(problem.points + s * shift, 0.0).normal for s in (1.0, -1.0))
        np.testing.assert_allclose(bending[:, :, axis], (ahead - behind) / (2 * h), atol=1e-8)
    assert np.any(bending != 0.0) == (tool["shape"] != "plane")


class DenseTangent:
    """Any matrix on the components (N, d) of nodes that are free."""

    def __init__(self, matrix: np.ndarray, free: np.ndarray) -> None:
        self.matrix, self.free = matrix, free.ravel()

    def product(self, step: np.ndarray) -> np.ndarray:
        return (self.matrix @ step.ravel()).reshape(step.shape)

    def solve(self, right: np.ndarray, within: np.ndarray) -> np.ndarray:
        free, d = self.free, right.shape[1]
        wide = (np.eye(len(within))[:, None, :, None] * within[:, :, None, :]).reshape(len(free), len(free))
        across, out = np.eye(len(free)) - wide, np.zeros(len(free))
        whole = (across @ self.matrix @ across + 3.0 * wide)[np.ix_(free, free)]
        out[free] = np.linalg.solve(whole, (across @ right.ravel())[free])
        return (across @ out).reshape(-1, d)


@pytest.mark.parametrize("seed", range(6))
def test_a_step_closes_what_presses_and_nothing_else(seed: int) -> None:
    """K du = r + N lambda, g + N'du >= 0, lambda >= 0, lambda (g + N'du) = 0 with a K that is not symmetric, whichever
    pairs are supposed to touch, where nodes touch two tools and some are held along an axis."""
    tools: Data = {"wall": {"shape": "plane", "center": [1.1, 0.5, 0.5], "normal": [-1.0, -0.3, 0.1]}, "ball": ROUND[0]}
    problem = problem_of(box_scene(ELASTIC, size=[1.0, 1.0, 1.0], cells=[2, 2, 2], tools=tools))
    rng, count = np.random.default_rng(seed), len(problem.points)
    free = np.ones((count, 3), dtype=bool)
    free[np.arange(0, count, 2), rng.integers(3, size=count)[::2]] = False
    contact, random = ToolContact(problem.tools, free), rng.standard_normal((2, free.size, free.size))
    tangent = DenseTangent(random[0] @ random[0].T + random[1] - random[1].T + np.eye(free.size), free)
    pairs, right = contact.pairs(problem.points, 0.0), 300.0 * rng.standard_normal(free.shape)
    held = np.where(free, 0.0, 0.01 * rng.standard_normal(free.shape))
    touching = rng.uniform(size=len(pairs.gap)) > 0.5
    step, force = contact.step(pairs, tangent, right, held, touching, 1e-12)
    gap = pairs.gap + pairs.along(step)
    left = tangent.product(step) - right - pairs.forces(force, free.shape)
    np.testing.assert_allclose(left[free], 0.0, atol=1e-9)
    np.testing.assert_array_equal(step[~free], held[~free])
    assert gap.min() > -1e-11 and force.min() == 0.0 and np.count_nonzero(force) > 3
    assert np.abs(gap[force > 0.0]).max() < 1e-11
    assert np.bincount(pairs.node[force > 0.0]).max() == 2


DEPTHS = np.array([1.0, 0.1, 0.01])


@pytest.mark.parametrize("name", ["three-element", pytest.param("generalized-maxwell", marks=pytest.mark.exhaustive)])
def test_pressing_less_and_less_deep(name: str, description: str, begin: Any) -> None:
    """Force on the bar and nodal stress half way up again, relative to the linear solver: order 1 +- 0.1 in depth."""
    forces, stresses = [], []
    for depth in DEPTHS:
        data = press_scene(EQUAL_RATIO[name])
        data["tools"]["bar"]["motion"]["displacement"] = [[0.0, 0.0], [0.0, -depth], [0.0, -0.5 * depth]]
        linear, finite = start(data, step=1.0), begin(data, description, step=1.0, newton_tolerance=1e-11)
        for simulation in (linear, finite):
            run_to(simulation, 10.0)
        expected, found = (s.reactions()["tool.bar"][1] for s in (linear, finite))
        forces.append(abs(found / expected - 1.0))
        expected, found = (s.fields()["stress"] for s in (linear, finite))
        stresses.append(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    for deviations in (forces, stresses):
        assert np.polyfit(np.log(DEPTHS), np.log(deviations), 1)[0] == pytest.approx(1.0, abs=0.1)
        assert deviations[-1] < 1e-3
