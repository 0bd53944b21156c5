"""Tools that start where they cannot do what they are for, or are too fast, are named before the run."""

import warnings
from pathlib import Path
from typing import Any

import pytest

from rheotwin.constraints.tools import tool_gaps
from rheotwin.plausibility import MOST_PARTS, divided_for_fast_tools, warn_of_fast_tools
from rheotwin.running import RunRequest, run_scene
from rheotwin.tensors import padded
from rheotwin.validation.checks.running import Data, box_scene, path, problem_of, start

BLOCK: Data = {"shape": "box", "center": [0.5, 1.5], "size": [0.3, 0.4]}
PLANE: Data = {"shape": "plane", "center": [0.5, 1.5], "normal": [0.0, -1.0]}
BAR: Data = {"shape": "bar", "normal": [0.0, -1.0], "width": 0.5}
BALL: Data = {"shape": "sphere", "radius": 0.05}


def with_tool(tool: Data, duration: float = 1.0, **more: Any) -> Any:
    law = {"model": "elastic", "young": 1000.0, "poisson": 0.3}
    scene = box_scene(law, cells=[4, 4], size=[1.0, 1.0], density=1000.0, duration=duration)
    return problem_of(scene | {"tools": {"it": tool}, **more})


def require_quiet(problem: Any, step: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fast_tools(problem, step)


@pytest.mark.parametrize(("tool", "height"), [(BALL, 0.5), (BAR, 0.6), (PLANE, 0.9)])
def test_a_buried_tool_is_named(tool: Data, height: float) -> None:
    with pytest.warns(UserWarning, match=r"tools\.it: .* start"):
        with_tool(tool | {"center": [0.5, height]})


@pytest.mark.parametrize(("tool", "height"), [(BALL, 1.05), (BAR, 1.0), (PLANE | {"normal": [0.0, 1.0]}, 0.0)])
def test_a_tool_outside_is_fine(tool: Data, height: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with_tool(tool | {"center": [0.5, height]})


@pytest.mark.parametrize(
    ("motion", "travel"),
    [
        # smallest surface edge 0.25 m; a step of 0.1 s
        ({"motion": path([0.0, 1.0], [[0.0, 0.0], [0.0, -2.6]])}, 0.26),
        ({"motion": path([0.0, 1.0], [[0.0, 0.0], [0.0, -1.8]]) | {"interpolation": "smooth"}}, 0.27),
        ({"motion": {"times": [0.0], "velocity": [[3.0, 0.0]]}}, 0.3),
        ({"motion": {"times": [0.0], "angular_velocity": [12.0]}}, 0.1 * 12.0 * 0.25),
        ({"drive": {"mass": 1.0, "velocity": [0.0, -4.0]}}, 0.4),
    ],
    ids=["linear", "eased", "velocity", "turning", "thrown"],
)
def test_a_tool_that_jumps_over_nodes_is_named(motion: Data, travel: float) -> None:
    problem = with_tool({**BLOCK, **motion})
    with pytest.warns(UserWarning, match=rf"tools\.it: it moves up to {travel:.4g} m in a step of 0\.1 s"):
        warn_of_fast_tools(problem, 0.1)
    require_quiet(problem, 0.1 * 0.25 / travel * 0.999)


ROLLER: Data = {"shape": "cylinder", "center": [0.5, 1.5], "radius": 0.3}
SPIN: Data = {"motion": {"times": [0.0], "angular_velocity": [100.0]}}


# in all of a long run the weight would fall at 98 m/s, but the body is in the way
@pytest.mark.parametrize(("tool", "step"), [(ROLLER | SPIN, 0.1), (BLOCK | {"drive": {"mass": 1.0}}, 0.01)])
def test_a_tool_that_stays_where_it_is_is_not_fast(tool: Data, step: float) -> None:
    require_quiet(with_tool(tool, 10.0, gravity=[0.0, -9.8]), step)


def test_a_block_is_as_fast_as_its_force_makes_it_and_a_run_warns() -> None:
    """It needs sqrt(2 M way/F) to be through gap and body, and is at sqrt(2 way F/M) then; samples are 3 % apart."""
    push = 4000.0
    problem = with_tool({**BLOCK, "drive": {"mass": 1.0, "force": [[0.0, -push]]}})
    gaps, _ = tool_gaps(problem.tools[0], 0.0, padded(problem.points)[problem.tools[0].candidates])
    speed = (2.0 * push * (gaps.min() + problem.extent)) ** 0.5
    with pytest.warns(UserWarning, match="can jump over nodes"):
        warn_of_fast_tools(problem, 0.25 / speed)
    require_quiet(problem, 0.25 / speed / 1.05)
    fast = PLANE | {"motion": path([0.0, 1.0], [[0.0, 0.0], [0.0, 10.0]])}
    scene = with_tool(fast, 0.1).scene
    with pytest.warns(UserWarning, match="can jump over nodes"):
        run_scene(RunRequest(scene=scene, solver="fem", folder=Path("run"), options={"step": 0.05}))


@pytest.mark.parametrize("solver", ["fem", "truss", "shear-volume"])
def test_default_steps_are_so_short_that_no_tool_passes_a_feature(solver: str) -> None:
    """A plane that sweeps 100 m in a second leaves the smallest edge of 0.25 m within 2.5 ms."""
    still, fast = with_tool(PLANE), with_tool(PLANE | {"motion": path([0.0, 1.0], [[0.0, 0.0], [0.0, 100.0]])})
    steps = [start(problem, solver).step_size for problem in (still, fast)]
    require_quiet(fast, steps[1])
    assert steps[1] <= steps[0] and divided_for_fast_tools(fast, 0.1) == pytest.approx(0.9 * 0.25 / 100.0)
    assert divided_for_fast_tools(fast, 1e-3) == 1e-3
    assert divided_for_fast_tools(fast, 10.0) == 10.0 / MOST_PARTS
