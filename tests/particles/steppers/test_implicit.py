"""The linearly implicit rule where it is needed: stiff bodies, steps far above every explicit bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError


@pytest.mark.parametrize("factor", [10.0, 1e3, 1e5])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_stable_at_any_step(
    factor: float,
    dimension: int,
    law: dict[str, Any],
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
) -> None:
    """A kicked held body only loses energy, at steps up to 1e5 times the explicit bound.

    What rounding of positions near 3 m leaves in a hundred springs of at most 50 N/m: 100 . 50/2 (4e-16)^2 < 1e-27 J.
    """
    supports = {"wall": {"body": "block", "where": {"side": "left"}}}
    stable = start(make_problem(dimension, law, supports=supports)).stable_step
    step = factor * stable
    problem = make_problem(dimension, law, supports=supports, duration=100.0 * step)
    simulation = start(problem, stepper="implicit", step=step)
    assert simulation.stable_step == np.inf
    assert simulation.step_size == pytest.approx(step, rel=1e-9)
    put(simulation, velocities=1e-3 / step * np.random.default_rng(1).standard_normal(problem.points.shape))
    before = sum(simulation.energy().values())
    for _ in range(50):
        simulation.advance(simulation.time + 1.1 * step, 1)
        now = sum(simulation.energy().values())
        assert now <= before * (1.0 + 1e-6) + 1e-27
        before = now
    assert simulation.step_count == 50
    assert np.abs(simulation.positions - problem.points).max() < 0.1


def test_stiff_press_at_a_large_step_gives_the_force_of_small_ones(
    laws: dict[str, dict[str, Any]], make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """A slowly lowered plate on a block 1e5 times as stiff: 200 steps of 5 ms, a thousand times the explicit bound.

    The press is slow against the block's waves, so the plate's force in the middle of the stroke is that of the
    explicit rule at a step it can take, to the first order of 5 ms over the 0.5 s it takes to get there.
    """
    stiff = {"model": "three-element", "young": 1.2e6, "poisson": 0.3}
    stiff |= {"voigt_viscosity": 1.0e5, "series_viscosity": 1.0e7}
    plate = {"shape": "plane", "center": [0.0, 2.0], "normal": [0.0, -1.0]}
    plate["motion"] = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.2]]}  # type: ignore[assignment]
    problem = make_problem(
        2,
        stiff,
        tools={"plate": plate},
        supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
        output={"interval": 0.5},
    )
    explicit, implicit = start(problem), start(problem, stepper="implicit", step=0.005)
    assert implicit.step_size > 100.0 * explicit.stable_step
    forces = []
    for simulation in (explicit, implicit):
        simulation.advance(0.5, 10**9)
        forces.append(simulation.reactions()["tool.plate"][1])
        assert simulation.positions[:, 1].max() == pytest.approx(1.9, abs=1e-9)
    assert forces[0] > 1e4
    assert forces[1] == pytest.approx(forces[0], rel=0.02)


def test_a_body_under_tension_may_turn(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    """A stretched string of edges swings sideways at steps at which directions that stand still would be unstable."""
    law = {"model": "voigt", "young": 1e4, "poisson": 0.25, "viscosity": 10.0}
    pull = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [1.5, 0.0]]}
    problem = make_problem(
        2,
        law,
        supports={
            "left": {"body": "block", "where": {"side": "left"}},
            "right": {"body": "block", "where": {"side": "right"}, "motion": pull},
        },
        forces={"sideways": {"body": "block", "where": {"side": "top"}, "total": [0.0, 50.0]}},
        duration=10.0,
    )
    simulation = start(problem, stepper="implicit", step=0.1)
    simulation.advance(10.0, 10**9)
    assert simulation.step_count == 100
    assert simulation.energy()["kinetic"] < 1e-3
    assert np.abs(simulation.velocities).max() < 1e-2


def test_iterations_are_reported(
    laws: dict[str, dict[str, Any]], make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    problem = make_problem(2, laws["voigt"], gravity=[0.0, -1.0])
    simulation = start(problem, stepper="implicit", step=0.1)
    simulation.advance(0.5, 10**9)
    assert simulation.statistics()["scheme"].startswith("linearly implicit")
    assert 0.0 <= simulation.statistics()["iterations_per_step"] < 50.0


def test_shape_keeping_forces_bound_the_step(
    laws: dict[str, dict[str, Any]], make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """They act at the start of a step, so their own bound holds: k h^2 sum |g|^2/m < 4 for a global pressure."""
    problem = make_problem(2, laws["voigt"])
    stiff, stiffer = (start(problem, stepper="implicit", global_pressure=k).stable_step for k in (10.0, 1000.0))
    assert 0.0 < stiffer < stiff < np.inf
    assert stiff / stiffer == pytest.approx(10.0, rel=1e-6)
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.step: .*set by the forces that keep the shape"):
        start(problem, stepper="implicit", global_pressure=10.0, step=1.1 * stiff)
