"""As the motion becomes small, large-strain results become those of the linear solver, in first order."""

from typing import Any

import numpy as np
import pytest

from rheotwin.validation.checks.running import EQUAL_RATIO, run_to, start
from rheotwin.validation.checks.scenes import press_scene

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
