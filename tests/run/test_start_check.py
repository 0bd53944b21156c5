"""Tools that start where they cannot do what they are for are named before the run."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

from rheotwin.build import build_problem
from rheotwin.constraints.tools import tool_gaps
from rheotwin.registry import find_solver
from rheotwin.run import RunRequest, run_scene
from rheotwin.scene import parse_scene, scene_from_data
from rheotwin.solver import checked_options
from rheotwin.start_check import MOST_PARTS, divided_for_fast_tools, warn_of_fast_tools
from rheotwin.tensors import padded

SCENE = """
schema = 1
dimension = 2
duration = 1.0
[laws.dough]
model = "elastic"
young = 1000.0
poisson = 0.3
[bodies.block]
shape = "box"
size = [1.0, 1.0]
cells = [4, 4]
law = "dough"
density = 1000.0
[tools.it]
"""

BLOCK: dict[str, Any] = {"shape": "box", "center": [0.5, 1.5], "size": [0.3, 0.4]}
BURIED = {
    "ball inside": 'shape = "sphere"\ncenter = [0.5, 0.5]\nradius = 0.05',
    "bar at mid-height": 'shape = "bar"\ncenter = [0.5, 0.6]\nnormal = [0.0, -1.0]\nwidth = 0.5',
    "plane through": 'shape = "plane"\ncenter = [0.5, 0.9]\nnormal = [0.0, -1.0]',
}
OUTSIDE = {
    "ball above": 'shape = "sphere"\ncenter = [0.5, 1.05]\nradius = 0.05',
    "bar touching": 'shape = "bar"\ncenter = [0.5, 1.0]\nnormal = [0.0, -1.0]\nwidth = 0.5',
    "floor": 'shape = "plane"\ncenter = [0.5, 0.0]\nnormal = [0.0, 1.0]',
}


@pytest.mark.parametrize("tool", BURIED.values(), ids=BURIED)
def test_a_buried_tool_is_named(tool: str) -> None:
    with pytest.warns(UserWarning, match=r"tools\.it: .* start"):
        build_problem(parse_scene(SCENE + tool, base=Path()))


@pytest.mark.parametrize("tool", OUTSIDE.values(), ids=OUTSIDE)
def test_a_tool_outside_is_fine(tool: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_problem(parse_scene(SCENE + tool, base=Path()))


@pytest.mark.parametrize(
    ("motion", "travel"),
    [
        # smallest surface edge 0.25 m; a step of 0.1 s
        ({"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -2.6]]}, 0.26),
        ({"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -1.8]], "interpolation": "smooth"}, 0.27),
        ({"times": [0.0], "velocity": [[3.0, 0.0]]}, 0.3),
        ({"times": [0.0], "angular_velocity": [12.0]}, 0.1 * 12.0 * 0.25),
    ],
    ids=["linear", "eased", "velocity", "turning"],
)
def test_a_tool_that_jumps_over_nodes_is_named(motion: dict[str, Any], travel: float) -> None:
    scene = scene_from_data({**tomllib.loads(SCENE), "tools": {"it": {**BLOCK, "motion": motion}}})
    problem = build_problem(scene)
    with pytest.warns(UserWarning, match=rf"tools\.it: it moves up to {travel:.4g} m in a step of 0\.1 s"):
        warn_of_fast_tools(problem, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fast_tools(problem, 0.1 * 0.25 / travel * 0.999)


def test_a_turning_roller_stays_where_it_is() -> None:
    tool = {"shape": "cylinder", "center": [0.5, 1.5], "radius": 0.3}
    spin = {"motion": {"times": [0.0], "angular_velocity": [100.0]}}
    problem = build_problem(scene_from_data({**tomllib.loads(SCENE), "tools": {"it": {**tool, **spin}}}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fast_tools(problem, 0.1)


def test_a_thrown_block_is_as_fast_as_it_starts() -> None:
    tool = {**BLOCK, "drive": {"mass": 1.0, "velocity": [0.0, -4.0]}}
    problem = build_problem(scene_from_data({**tomllib.loads(SCENE), "tools": {"it": tool}}))
    with pytest.warns(UserWarning, match=r"moves up to 0\.4 m"):
        warn_of_fast_tools(problem, 0.1)


def test_a_block_is_as_fast_as_its_force_makes_it() -> None:
    """It needs sqrt(2 M way/F) to be through gap and body, and is at sqrt(2 way F/M) then; samples are 3 % apart."""
    push = 4000.0
    tool = {**BLOCK, "drive": {"mass": 1.0, "force": [[0.0, -push]]}}
    problem = build_problem(scene_from_data({**tomllib.loads(SCENE), "tools": {"it": tool}}))
    gaps, _ = tool_gaps(problem.tools[0], 0.0, padded(problem.points)[problem.tools[0].candidates])
    speed = (2.0 * push * (gaps.min() + problem.extent)) ** 0.5
    with pytest.warns(UserWarning, match="can jump over nodes"):
        warn_of_fast_tools(problem, 0.25 / speed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fast_tools(problem, 0.25 / speed / 1.05)


def test_a_weight_that_rests_on_a_body_is_not_fast() -> None:
    """In all of a long run it would fall at 98 m/s, but the body is in the way."""
    tool = {**BLOCK, "drive": {"mass": 1.0}}
    data = {**tomllib.loads(SCENE), "gravity": [0.0, -9.8], "duration": 10.0, "tools": {"it": tool}}
    problem = build_problem(scene_from_data(data))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fast_tools(problem, 0.01)


def test_a_run_warns_of_fast_tools(tmp_path: Path) -> None:
    tool = {"shape": "plane", "center": [0.5, 1.5], "normal": [0.0, -1.0]}
    motion = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, 10.0]]}
    short = {"duration": 0.1, "output": {"interval": 0.1}}
    scene = scene_from_data({**tomllib.loads(SCENE), **short, "tools": {"it": {**tool, "motion": motion}}})
    request = RunRequest(scene=scene, solver="fem", folder=tmp_path / "run", options={"step": 0.05})
    with pytest.warns(UserWarning, match="can jump over nodes"):
        run_scene(request)


@pytest.mark.parametrize("solver", ["fem", "truss", "shear-volume"])
def test_default_steps_are_so_short_that_no_tool_passes_a_feature(solver: str) -> None:
    """A plane that sweeps 100 m in a second leaves the smallest edge of 0.25 m within 2.5 ms."""
    tool = {"shape": "plane", "center": [0.5, 1.5], "normal": [0.0, -1.0]}
    motion = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, 100.0]]}
    still, fast = (
        build_problem(scene_from_data({**tomllib.loads(SCENE), "tools": {"it": {**tool, **more}}}))
        for more in ({}, {"motion": motion})
    )
    chosen = find_solver(solver)
    steps = [chosen.start(problem, checked_options(chosen, {})).step_size for problem in (still, fast)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fast_tools(fast, steps[1])
    assert steps[1] <= steps[0]
    assert divided_for_fast_tools(fast, 0.1) == pytest.approx(0.9 * 0.25 / 100.0)
    assert divided_for_fast_tools(fast, 1e-3) == 1e-3
    assert divided_for_fast_tools(fast, 10.0) == 10.0 / MOST_PARTS
