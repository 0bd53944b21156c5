"""Blocks of equal footprint on each other in 3D, all edges and corners in one place: squeezed, bounced, and missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.problem import Problem
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]

RUBBER: Data = {"model": "voigt", "young": 2.0e4, "poisson": 0.25, "viscosity": 200.0}
SIDE, DURATION = 0.1, 0.2


def stack(blocks: int, cell: str, cells: int, friction: float, share: float) -> Data:
    """Cubes on a held bottom, pressed by a plane by a share of their height; which of them touch is for contact."""
    height, duration = blocks * SIDE, DURATION
    box = {"shape": "box", "law": "stuff", "size": [SIDE] * 3, "cells": [cells] * 3, "cell": cell, "density": 300.0}
    down = {"times": [0.0, duration], "displacement": [[0.0] * 3, [0.0, 0.0, -share * height]]}
    plane = {"shape": "plane", "center": [0.0, 0.0, height], "normal": [0.0, 0.0, -1.0], "motion": down}
    return {
        "schema": 1,
        "dimension": 3,
        "duration": duration,
        "gravity": [0.0, 0.0, -9.8],
        "laws": {"stuff": RUBBER},
        "bodies": {f"block-{k}": box | {"origin": [0.0, 0.0, k * SIDE]} for k in range(blocks)},
        "supports": {"floor": {"body": "block-0", "where": {"side": "bottom"}}},
        "tools": {"press": plane},
        "contact": {"law": "exact", "friction": friction},
        "output": {"interval": duration},
    }


@pytest.mark.parametrize(
    ("blocks", "cell", "cells", "friction", "share"),
    [
        (2, "tet", 3, 0.0, 0.15),
        (2, "hex", 3, 0.0, 0.15),
        (3, "tet", 3, 0.0, 0.1),
        (3, "hex", 2, 0.0, 0.15),
        (2, "tet", 1, 0.3, 0.15),
        (2, "hex", 1, 0.3, 0.15),
        (3, "hex", 1, 0.3, 0.1),
    ],
)
def test_an_aligned_stack_is_squeezed_to_the_end(
    blocks: int,
    cell: str,
    cells: int,
    friction: float,
    share: float,
    problem_of: Callable[[Data], Problem],
    start: Start,
) -> None:
    """Vertices that miss an edge by 1e-6 of its length turn no normal; each step settles where it was linearised."""
    problem = problem_of(stack(blocks, cell, cells, friction, share))
    simulation = start(problem, step=0.05 if friction else 0.02)
    simulation.advance(DURATION, 10)
    found = simulation.statistics()
    assert simulation.time == pytest.approx(DURATION)
    assert found["contacts_missed"] < 1e-9 * problem.extent
    assert found["contacts_closed"] < 1e-9 * problem.extent
    assert found["contacts_loose"] == 0
    force = simulation.fields()["contact_force"]
    push = np.abs(force[:, 2]).sum()
    assert simulation.reactions()["tool.press"][2] > 10.0
    middle = problem.bodies[1].nodes
    np.testing.assert_allclose(force[problem.bodies[0].nodes].sum(axis=0)[:2], 0.0, atol=1e-3 * push)
    assert force[middle, 2].max() > 0.0
