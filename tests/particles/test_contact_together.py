"""Contact of trusses with solid tools, in wedges, on themselves, with links, and with lists of neighbours that grow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

Data = dict[str, Any]
Build = Callable[..., Any]

FIRM: Data = {"model": "voigt", "young": 1e3, "poisson": 0.25, "viscosity": 5.0}
FLOOR: Data = {"floor": {"body": "block", "where": {"side": "bottom"}}}


@pytest.fixture
def cube(tmp_path: Path) -> str:
    """A closed surface of a unit cube around the origin, twelve triangles."""
    corners = np.indices((2, 2, 2)).reshape(3, -1).T - 0.5
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = np.array([[a, b, c] for a, b, c, _ in quads] + [[a, c, d] for a, _, c, d in quads])
    path = tmp_path / "cube.stl"
    meshio.write_points_cells(path, corners, [("triangle", triangles)])
    return str(path)


@pytest.mark.parametrize("contact", [{"friction": 0.3}, {"law": "penalty", "stiffness": 100.0}], ids=["rough", "soft"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_box_inside_its_face_is_a_plane_and_a_cube_from_a_file_is_a_box(
    dimension: int, contact: Data, cube: str, make_problem: Build, start: Build
) -> None:
    """The same force on all three, and the same moment on box and file, to what exact contact settles to."""
    side, middle = [0.0] * (dimension - 1), [0.5] * (dimension - 1)
    above = [*middle, 2.0]
    mesh: Data = {"shape": "mesh", "center": above}
    mesh |= {"path": cube, "scale": 2.0} if dimension == 3 else {"points": [[-1, -1], [1, -1], [1, 1], [-1, 1]]}
    tools: dict[str, Data] = {
        "plane": {"shape": "plane", "center": [*middle, 1.0], "normal": [*side, -1.0]},
        "box": {"shape": "box", "size": [2.0] * dimension, "center": above},
        "mesh": mesh,
    }
    down = {"times": [0.0, 0.1, 0.2], "displacement": [[*side, 0.0], [*side, -0.05], [*side, -0.05]]}
    found = {}
    for name, tool in tools.items():
        problem = make_problem(
            dimension,
            FIRM,
            body={"size": [1.0] * dimension, "cells": [3] * dimension, "density": 10.0},
            supports=FLOOR,
            tools={"tool": tool | {"motion": down}},
            contact=contact,
            duration=0.2,
        )
        simulation = start(problem)
        simulation.advance(0.2, 10**9)
        found[name] = simulation.reactions()
    force = found["plane"]["tool.tool"]
    assert force[-1] > 1.0
    for name in ("box", "mesh"):
        np.testing.assert_allclose(found[name]["tool.tool"], force, atol=1e-6 * force[-1])
    moments = [found[name]["tool.tool.moment"] for name in ("box", "mesh")]
    np.testing.assert_allclose(moments[0], moments[1], atol=1e-6 * force[-1])


@pytest.mark.parametrize("degrees", [10.0, 25.0, 40.0])
def test_what_enters_a_wedge_leaves_by_the_face_it_came_through(
    degrees: float, make_problem: Build, start: Build, put: Build
) -> None:
    """Spec 8: with both faces active it would be expelled through the tip or the wrong face."""
    height = np.tan(np.radians(degrees))
    long = 2.0
    blade = {"shape": "mesh", "center": [0.0, 0.0], "points": [[0.0, 0.0], [long, -0.5 * long * height],
                                                              [long, 0.5 * long * height]]}  # fmt: skip
    problem = make_problem(
        2,
        FIRM,
        body={"size": [0.05, 0.05], "cells": [1, 1], "density": 400.0, "origin": [0.3, 0.3 * height + 0.05]},
        tools={"blade": blade},
        contact={"law": "penalty", "stiffness": 200.0, "damping": 0.5},
        duration=1.0,
    )
    simulation = start(problem)
    put(simulation, velocities=np.tile([0.0, -0.5], (len(problem.points), 1)))
    while simulation.time < 1.0 - 1e-9:
        simulation.advance(1.0, 50)
        x, y = simulation.positions.T
        assert np.all((y > 0.0) | (x < 0.0))
    assert simulation.velocities[:, 1].mean() > 0.1


def test_contact_and_links_act_together(make_problem: Build, start: Build) -> None:
    """Two blocks on a rod fall on a rough floor: it bears both, and the rod is off by what it cannot foresee.

    Contact is settled after the rod: what friction accelerates its ends by, a, it gives way to by a/w^2.
    """
    box = {"shape": "box", "size": [0.5, 0.5], "cells": [2, 2], "law": "stuff", "density": 4.0}
    places = [[0.5, 0.01], [0.8, 0.01]]
    ends = [{"body": body, "at": place} for body, place in zip(("block", "other"), places, strict=True)]
    problem = make_problem(
        2,
        FIRM,
        tools={"floor": {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}},
        gravity=[0.0, -9.8],
        contact={"friction": 0.3},
        bodies={"block": box | {"origin": [0.0, 0.01]}, "other": box | {"origin": [0.8, 0.01]}},
        links={"rod": {"between": ends}},
        duration=4.0,
    )
    first, last = (int(np.argmin(np.linalg.norm(problem.points - place, axis=1))) for place in places)
    simulation = start(problem, constraint_frequency=100.0)
    simulation.advance(4.0, 10**9)
    x = simulation.positions
    drag = simulation.fields()["contact_force"][:, 0] / problem.masses
    assert drag[last] - drag[first] > 1.0
    away = np.linalg.norm(x[last] - x[first]) - 0.3
    assert away == pytest.approx((drag[last] - drag[first]) / 100.0**2, rel=0.01)
    assert x[:, 1].min() > -1e-7
    np.testing.assert_allclose(simulation.reactions()["tool.floor"][1], -2.0 * 9.8, rtol=2e-3)
