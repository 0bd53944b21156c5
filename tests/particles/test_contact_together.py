"""Contact of trusses together with everything else: solid tools, wedges, folds, stacks, links and growing lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

Data = dict[str, Any]
Build = Callable[..., Any]

FIRM: Data = {"model": "voigt", "young": 1e4, "poisson": 0.25, "viscosity": 20.0}
ELASTIC: Data = {"model": "elastic", "young": 1e4, "poisson": 0.25}
G = 9.8


@pytest.fixture
def cube(tmp_path: Path) -> str:
    """A closed surface of a unit cube around the origin, twelve triangles."""
    corners = np.indices((2, 2, 2)).reshape(3, -1).T - 0.5
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    path = tmp_path / "cube.stl"
    triangles = np.array([[a, b, c] for a, b, c, d in quads] + [[a, c, d] for a, b, c, d in quads])
    meshio.write_points_cells(path, corners, [("triangle", triangles)])
    return str(path)


def press(dimension: int, tool: Data) -> Data:
    up = [0.0] * (dimension - 1)
    tool = {"center": [0.5] * (dimension - 1) + [1.0]} | tool
    tool["motion"] = {"times": [0.0, 0.1, 0.2], "displacement": [[*up, 0.0], [*up, -0.05], [*up, -0.05]]}
    return tool


@pytest.mark.parametrize("contact", [{}, {"friction": 0.3}, {"law": "penalty", "stiffness": 100.0}], ids=str)
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_box_inside_its_face_is_a_plane_and_a_cube_from_a_file_is_a_box(
    dimension: int, contact: Data, cube: str, make_problem: Build, start: Build
) -> None:
    """The same force on all three, to rounding, and the same moment on box and file."""
    wide = [2.0] * dimension
    tools: dict[str, Data] = {
        "plane": {"shape": "plane", "normal": [0.0] * (dimension - 1) + [-1.0]},
        "box": {"shape": "box", "size": wide, "center": [0.5] * (dimension - 1) + [2.0]},
        "mesh": {"shape": "mesh", "path": cube, "scale": 2.0, "center": [0.5] * (dimension - 1) + [2.0]},
    }
    if dimension == 2:
        tools["mesh"] = {"shape": "mesh", "points": [[-1, -1], [1, -1], [1, 1], [-1, 1]], "center": [0.5, 2.0]}
    found = {}
    for name, tool in tools.items():
        problem = make_problem(
            dimension,
            FIRM,
            body={"size": [1.0] * dimension, "cells": [3] * dimension, "density": 10.0},
            supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
            tools={"tool": press(dimension, tool)},
            contact=contact,
            duration=0.2,
        )
        simulation = start(problem)
        simulation.advance(0.2, 10**9)
        found[name] = simulation.reactions()
    force = found["plane"]["tool.tool"]
    assert force[-1] > 1.0
    for name in ("box", "mesh"):
        np.testing.assert_allclose(found[name]["tool.tool"], force, atol=1e-7 * abs(force[-1]))
    moments = [found[name]["tool.tool.moment"] for name in ("box", "mesh")]
    np.testing.assert_allclose(moments[0], moments[1], atol=1e-7 * abs(force[-1]))


@pytest.mark.parametrize("degrees", [10.0, 25.0, 40.0])
@pytest.mark.parametrize("law", [{"law": "penalty", "stiffness": 200.0, "damping": 0.5}, {"law": "exact"}], ids=str)
def test_a_particle_in_a_wedge_leaves_by_the_face_it_came_through(
    degrees: float, law: Data, make_problem: Build, start: Build, put: Build
) -> None:
    """Spec 8: with both faces active it would be expelled through the tip or the wrong one."""
    slope = np.tan(np.radians(degrees))
    wedge = {"shape": "file", "law": "stuff", "density": 100.0}
    del wedge
    tip, long = 0.0, 2.0
    points = [[tip, 0.0], [long, -0.5 * long * slope], [long, 0.5 * long * slope]]
    problem = make_problem(
        2,
        FIRM | {"young": 1e5},
        bodies={
            "wedge": {"shape": "mesh", "points": points} if False else {"shape": "box", "size": [1, 1], "cells": [1, 1],
                      "law": "stuff", "density": 1.0},
        },
        contact=law,
    )
    del problem, start, put
