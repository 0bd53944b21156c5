"""What every rule in time keeps: momentum, angular momentum where the rule has it, checkpoints, supports, tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

STEPPERS = ("euler", "rk4", "implicit")
SPEED = 0.05


def momenta(simulation: Any, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    state = simulation.save()
    x, v = state["positions"], state["velocities"]
    return (masses[:, None] * v).sum(axis=0), np.cross(x, masses[:, None] * v).sum(axis=0)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("stepper", STEPPERS)
def test_free_body_keeps_momentum(
    stepper: str,
    dimension: int,
    laws: dict[str, dict[str, Any]],
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
) -> None:
    """To rounding: linear momentum always; angular momentum as the rule moves x with a mean velocity.

    Linearly implicit Euler keeps x v = 0 within a step exactly. Runge's rule moves x with velocities at other times
    than its forces, an error of fifth order a step: it falls by 2^4 when the step is halved. Euler's is of first order.
    """
    problem = make_problem(dimension, laws["three-element"])
    kicks = SPEED * np.random.default_rng(0).standard_normal(problem.points.shape)
    turned = []
    for step in (0.004, 0.002):
        simulation = start(problem, stepper=stepper, step=step)
        put(simulation, velocities=kicks)
        linear, angular = momenta(simulation, problem.masses)
        simulation.advance(0.4, 10**9)
        later, now = momenta(simulation, problem.masses)
        scale = SPEED * problem.masses.sum()
        np.testing.assert_allclose(later, linear, atol=1e-12 * scale)
        turned.append(np.abs(now - angular).max() / (scale * np.abs(simulation.positions).max()))
    assert np.abs(simulation.positions - problem.points).max() > 0.01
    if stepper == "implicit":
        assert max(turned) < 1e-12
    else:
        order = np.log2(turned[0] / turned[1])
        assert order > (0.9 if stepper == "euler" else 3.8)


@pytest.fixture
def pressed(make_problem: Callable[..., Any]) -> Callable[..., Any]:
    """Return a block on a driven support, pressed by a ball."""

    def build(dimension: int, law: dict[str, Any]) -> Any:
        zero, size = [0.0] * dimension, [3.0, 2.0, 2.0][:dimension]
        up = np.eye(dimension)[-1]
        centre = [1.4, *size[1:]]
        centre[-1] += 0.9
        stroke = {"times": [0.0, 0.6, 1.0], "displacement": [zero, list(-0.5 * up), zero]}
        drive = {"times": [0.0, 1.0], "displacement": [zero, list(0.1 * np.eye(dimension)[0])]}
        return make_problem(
            dimension,
            law,
            tools={"ball": {"shape": "sphere", "center": centre, "radius": 0.9, "motion": stroke}},
            supports={"floor": {"body": "block", "where": {"side": "bottom"}, "motion": drive}},
            forces={"pull": {"body": "block", "where": {"side": "right"}, "total": list(0.5 * np.eye(dimension)[0])}},
        )

    return build


@pytest.mark.parametrize("stepper", STEPPERS)
def test_two_halves_are_the_whole(
    stepper: str,
    law: dict[str, Any],
    pressed: Callable[..., Any],
    start: Callable[..., Any],
    advance_by: Callable[..., None],
) -> None:
    if stepper == "euler" and law["model"] == "elastic":
        pytest.skip("explicit Euler has no stable step without viscosity")
    problem = pressed(2, law)
    step = min(0.004, 0.9 * start(problem, stepper=stepper).stable_step)
    whole, first, second = (start(problem, step=step, stepper=stepper) for _ in range(3))
    advance_by(whole, 200)
    advance_by(first, 100)
    saved = first.save()
    assert np.abs(saved["contact.exerted.tool_force"]).max() > 0.0
    second.restore(saved)
    np.testing.assert_equal(second.save(), saved)
    for _ in range(10):
        advance_by(second, 10)
    np.testing.assert_equal(second.save(), whole.save())


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("stepper", STEPPERS)
def test_supports_and_tools_agree_with_the_semi_implicit_rule(
    stepper: str,
    dimension: int,
    laws: dict[str, dict[str, Any]],
    pressed: Callable[..., Any],
    start: Callable[..., Any],
) -> None:
    """Displacements and reactions differ by first-order terms only: half the step, about half the difference."""
    problem = pressed(dimension, laws["three-element"])
    differences = []
    for step in (0.002, 0.001):
        ours, theirs = (start(problem, step=step, stepper=name) for name in (stepper, "semi-implicit"))
        for simulation in (ours, theirs):
            simulation.advance(0.5, 10**9)
        moved = np.abs(theirs.positions - problem.points).max()
        differences.append(np.abs(ours.positions - theirs.positions).max() / moved)
        for name, force in theirs.reactions().items():
            scale = np.abs(theirs.reactions()["tool.ball"]).max()
            np.testing.assert_allclose(ours.reactions()[name], force, atol=0.1 * scale)
        gaps = np.linalg.norm(ours.positions - ball_centre(dimension, 0.5), axis=1) - 0.9
        assert gaps.min() > -1e-12
    assert differences[1] < 0.6 * differences[0]
    assert differences[1] < 0.01


def ball_centre(dimension: int, time: float) -> np.ndarray:
    centre = np.array([1.4, 2.0, 2.0][:dimension])
    centre[-1] += 0.9 - 0.5 * time / 0.6
    return centre


@pytest.mark.parametrize("stepper", STEPPERS)
def test_forces_balance_in_every_step(
    stepper: str,
    laws: dict[str, dict[str, Any]],
    pressed: Callable[..., Any],
    start: Callable[..., Any],
    advance_by: Callable[..., None],
) -> None:
    """The change of momentum in a step is h times load plus reactions of support and tool, with their signs."""
    problem = pressed(3, laws["three-element"])
    simulation = start(problem, step=0.002, stepper=stepper)
    advance_by(simulation, 150)
    for _ in range(20):
        before, _ = momenta(simulation, problem.masses)
        advance_by(simulation, 1)
        after, _ = momenta(simulation, problem.masses)
        total = np.array([0.5, 0.0, 0.0]) - sum(simulation.reactions().values())
        assert np.abs(simulation.reactions()["tool.ball"]).max() > 0.01
        np.testing.assert_allclose((after - before) / simulation.step_size, total, atol=1e-8)
