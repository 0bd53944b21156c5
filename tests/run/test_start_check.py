"""Tools that start where they cannot do what they are for are named before the run."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from rheotwin.build import build_problem
from rheotwin.scene import parse_scene

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
