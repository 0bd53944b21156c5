"""Observed orders of all rules on the four-particle chain of the papers (R6), against the matrix exponential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

STEPS = {
    "semi-implicit": (1, (0.002, 0.001, 0.0005)),
    "euler": (1, (0.002, 0.001, 0.0005)),
    "rk4": (4, (0.1, 0.05, 0.025)),
    "implicit": (1, (0.002, 0.001, 0.0005)),
}


@pytest.mark.parametrize("stepper", STEPS)
def test_order_on_the_chain(stepper: str, case: Any, chain: Callable[..., Any], exact: Callable[..., Any]) -> None:
    """The observed order of the last halving is the order to 10 %, and the error itself is small at t = 10 s."""
    order, steps = STEPS[stepper]
    reference = exact(case, 10.0)
    errors = []
    for step in steps:
        simulation = chain(case, stepper=stepper, step=step)
        simulation.advance(10.0, 10**9)
        assert simulation.time == pytest.approx(10.0, rel=1e-12)
        errors.append(np.linalg.norm(simulation.fields()["displacement"][1:, 0] - reference))
    observed = np.log2(errors[-2] / errors[-1])
    assert observed == pytest.approx(order, rel=0.1)
    assert errors[-1] < (1e-6 if order == 4 else 1e-2) * np.linalg.norm(reference)


@pytest.mark.parametrize("kind", ["triangle", "quad"])
def test_order_four_with_every_internal_variable(
    kind: str, make_problem: Callable[..., Any], start: Callable[..., Any], put: Callable[..., None]
) -> None:
    """Arms of edges and volume springs (triangles) or of half elements (quads), with pressures, large motions.

    Against a run with a quarter of the smallest step, whose own error is 256 times smaller.
    """
    law = {"model": "three-element", "young": 12.0, "poisson": 0.4, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
    problem = make_problem(2, law, body={"cell": kind})
    extras = {"local_volume": True} if kind == "quad" else {"element_pressure": 3.0, "element_pressure_damping": 0.1}
    kicks = 0.5 * np.random.default_rng(3).standard_normal(problem.points.shape)

    def run(step: float) -> Any:
        simulation = start(problem, stepper="rk4", step=step, global_pressure=2.0, **extras)
        assert (simulation.save()["centre_arms"].size > 0) == (kind == "quad")
        assert (simulation.save()["cell_arms"].size > 0) == (kind == "triangle")
        put(simulation, velocities=kicks)
        simulation.advance(0.5, 10**9)
        return simulation.positions

    best = run(0.00125)
    assert np.abs(best - problem.points).max() > 0.1
    errors = [np.abs(run(step) - best).max() for step in (0.01, 0.005)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)
