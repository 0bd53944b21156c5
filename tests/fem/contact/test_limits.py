"""Where exact contact ends: what has no room stops the run, and curved tools do work that falls with the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import Stopped
from rheotwin.fem.contact.quality import Quality
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]
RUBBER: Data = {"model": "voigt", "young": 2.0e4, "poisson": 0.25, "viscosity": 200.0}


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
    with pytest.raises(Stopped, match=r"give what tools\.left and tools\.right press more room"):
        simulation.advance(0.1, 1000)


def test_without_tools_only_the_step_is_named() -> None:
    with pytest.raises(Stopped, match=r"reduce solvers\.fem\.step$"):
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
