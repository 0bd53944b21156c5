"""Where faces end at another side of their body: aligned blocks, whose vertices are on the edges of each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem.contact.quality import Quality
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]
RUBBER: Data = {"model": "voigt", "young": 2.0e4, "poisson": 0.25, "viscosity": 200.0}


def aligned(two_blocks: Callable[..., Data], shape: Data, friction: float) -> Data:
    """Two blocks of one footprint, all vertices, edges and corners at each other, pressed by a tenth and sideways."""
    box = {"size": [0.1, 0.1, 0.05], "cells": [2, 2, 1], "density": 300.0}
    press = shape | {
        "center": [0.05, 0.05, 0.122],
        "motion": {"times": [0.0, 0.5], "displacement": [[0.0, 0.0, 0.0], [0.002, 0.0, -0.012]]},
    }
    return two_blocks(
        RUBBER,
        {"law": "exact", "friction": friction},
        lower=box,
        upper=box | {"origin": [0.0, 0.0, 0.05]},
        supports={"floor": {"body": "lower", "where": {"side": "bottom"}}},
        tools={"press": press},
        duration=0.5,
    )


@pytest.fixture
def shapes(tmp_path: Path) -> dict[str, Data]:
    """The press as a box and as the triangles of one."""
    corners = np.array([[x, y, z] for x in (-0.06, 0.06) for y in (-0.06, 0.06) for z in (-0.02, 0.02)])
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])]
    path = tmp_path / "box.stl"
    meshio.write_points_cells(path, corners, [("triangle", np.array(triangles))])
    return {"box": {"shape": "box", "size": [0.12, 0.12, 0.04]}, "mesh": {"shape": "mesh", "path": str(path)}}


@pytest.mark.parametrize("friction", [0.3, 0.6])
def test_aligned_blocks_in_3d_are_squeezed(
    friction: float, two_blocks: Callable[..., Data], shapes: dict[str, Data], start: Start
) -> None:
    """Their contacts settle to the accuracy asked for in all steps, and two descriptions of one press agree."""
    forces = []
    for shape in shapes.values():
        simulation = start(aligned(two_blocks, shape, friction), step=0.02)
        simulation.advance(0.5, 25)
        found, energy = simulation.statistics(), simulation.energy()
        assert max(found["contacts_missed"], found["contacts_closed"]) < 1e-9 * 0.1
        assert abs(energy["defect"]) < 1e-12 * energy["external"]
        assert energy["friction"] > -1e-9 * energy["external"]
        assert energy["impact"] > 0.0
        forces.append(simulation.reactions()["tool.press"])
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-6, atol=1e-6)


def test_what_has_no_room_names_the_tools(two_blocks: Callable[..., Data], start: Start) -> None:
    """Two planes that pass through each other: the run stops in time and says which they are."""
    closing = {"times": [0.0, 0.1], "displacement": [[0.0, 0.0], [-0.12, 0.0]]}
    box = {"size": [0.1, 0.01], "cells": [6, 1], "density": 300.0}
    data = two_blocks(
        RUBBER,
        {"law": "exact"},
        lower=box,
        upper=box | {"origin": [0.0, 1.0]},
        tools={
            "left": {"shape": "plane", "center": [0.0, 0.0], "normal": [1.0, 0.0]},
            "right": {"shape": "plane", "center": [0.1, 0.0], "normal": [-1.0, 0.0], "motion": closing},
        },
    )
    simulation = start(data, step=2e-3)
    with pytest.raises(RheotwinError, match=r"give what tools\.left and tools\.right press more room"):
        simulation.advance(0.1, 1000)


def test_without_tools_only_the_step_is_named() -> None:
    with pytest.raises(RheotwinError, match=r"reduce solvers\.fem\.step$"):
        Quality(1.0).enter(0.0, 2e-4, 0.1)


def test_a_curved_tool_does_work_that_falls_with_the_step(two_blocks: Callable[..., Data], start: Start) -> None:
    """Nodes slide off the balls that pinch the end of a strip.

    The normal is that of the end of a step, so a slide c around a radius R takes -lambda c^2/(2 R), of order h in all.
    """
    strip = {"size": [0.1, 0.05], "cells": [6, 3], "density": 300.0}
    balls = {
        name: {
            "shape": "sphere",
            "radius": 0.02,
            "center": [0.1, y],
            "motion": {"times": [0.0, 0.1], "displacement": [[0.0, 0.0], [0.0, way]]},
        }
        for name, y, way in (("above", 0.0701, -0.03), ("below", -0.0201, 0.03))
    }
    data = two_blocks(
        RUBBER | {"viscosity": 30.0},
        {"law": "exact", "bodies": False},
        lower=strip,
        upper=strip | {"origin": [1.0, 1.0]},
        tools=balls,
    )
    given = []
    for step in (1e-3, 5e-4, 2.5e-4):
        simulation, before, total = start(data, step=step), 0.0, 0.0
        for k in range(1, round(0.07 / step) + 1):
            simulation.advance(k * step, 1)
            now = simulation.energy()["impact"]
            before, total = now, total + min(now - before, 0.0)
        given.append(-total)
        assert abs(simulation.energy()["defect"]) < 1e-9 * simulation.energy()["external"]
    assert given[0] > 0.0
    # Halved by half the step, to a tenth: second order of c is first order of the sum.
    np.testing.assert_allclose(given[1:], [0.5 * given[0], 0.25 * given[0]], rtol=0.1)
