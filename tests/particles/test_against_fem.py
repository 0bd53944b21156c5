"""Where springs are exactly the continuum, the truss and linear finite elements are the same model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import block, run_to, side, start, truss

LOAD = 1e-5
"""Scale of the loads: strains of 1e-6 to 1e-5, well above rounding."""


def settled(simulation: Simulation, until: float) -> dict[str, np.ndarray]:
    run_to(simulation, until)
    return {**simulation.fields(), **simulation.reactions()}


def compare(build: Callable[[float], Problem], until: float) -> dict[str, np.ndarray]:
    """Half the difference of the answers to a load and its opposite: even orders of the truss's turning cancel."""
    pull, push = (settled(truss(build(sign)), until) for sign in (1.0, -1.0))
    found = {name: 0.5 * (pull[name] - push[name]) for name in pull}
    fem = settled(start(build(1.0), step=0.01), until)
    assert np.abs(fem["velocity"]).max() < 1e-8 * np.abs(fem["displacement"]).max()
    for name in ("displacement", "stress", "support.foot"):
        scale = np.abs(fem[name]).max()
        assert scale > 0.0
        np.testing.assert_allclose(found[name], fem[name], rtol=0.0, atol=1e-6 * scale, err_msg=name)
    return found


@pytest.mark.parametrize(
    ("poisson", "plane"),
    [
        pytest.param(0.25, "strain", marks=pytest.mark.exhaustive),
        pytest.param(0.4, "strain", marks=pytest.mark.exhaustive),
        (0.4, "stress"),
    ],
)
def test_equilateral_triangles_under_load(poisson: float, plane: str, equilateral: dict[str, Any]) -> None:
    """Springs match C exactly; for linear triangles an energy that agrees for uniform strain agrees altogether."""

    def build(sign: float) -> Problem:
        return block(
            2,
            {"model": "voigt", "young": 100.0, "poisson": poisson, "viscosity": 50.0},
            body=equilateral,
            plane=plane,
            thickness=0.5,
            gravity=[sign * LOAD, -2.0 * sign * LOAD],
            supports={"foot": side("bottom")},
            duration=80.0,
        )

    volume_term = plane == "stress" or poisson != 0.25
    simulation = truss(build(1.0))
    assert (simulation.statistics()["volume_cells"] > 0) == volume_term
    assert simulation.statistics()["material_match"]["block"]["stiffness_misfit"] < 1e-8
    compare(build, 80.0)
