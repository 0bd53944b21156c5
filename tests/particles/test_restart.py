"""Save and restore: N + N steps through a saved state equal 2 N steps, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError


@pytest.fixture
def pressed(make_problem: Callable[..., Any]) -> Callable[..., Any]:
    """Return a block on a support, pulled aside and pressed by a round tool that moves and a wall."""

    def build(dimension: int, law: dict[str, Any]) -> Any:
        zero, size = [0.0] * dimension, [3.0, 2.0, 2.0][:dimension]
        up = np.eye(dimension)[-1]
        stroke = {"times": [0.0, 0.6, 1.0], "displacement": [zero, list(-0.5 * up), zero]}
        centre = [1.4, *size[1:]]
        centre[-1] += 0.9
        tools = {"wall": {"shape": "plane", "center": size, "normal": list(-np.eye(dimension)[0])}}
        if dimension == 1:
            tools["wall"]["motion"] = {"times": [0.0, 0.6], "displacement": [[0.0], [-0.3]]}
        else:
            tools["ball"] = {"shape": "sphere", "center": centre, "radius": 0.9, "motion": stroke}
        side = "left" if dimension == 1 else "bottom"
        return make_problem(
            dimension,
            law,
            tools=tools,
            supports={"floor": {"body": "block", "where": {"side": side}}},
            forces={"pull": {"body": "block", "where": {"side": "right"}, "total": list(0.5 * np.eye(dimension)[0])}},
        )

    return build


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_two_halves_are_the_whole(
    dimension: int,
    law: dict[str, Any],
    pressed: Callable[..., Any],
    start: Callable[..., Any],
    advance_by: Callable[..., None],
) -> None:
    problem = pressed(dimension, law)
    whole, first, second = (start(problem, step=0.004) for _ in range(3))
    advance_by(whole, 240)
    advance_by(first, 120)
    saved = first.save()
    assert np.abs(saved["contact.exerted.tool_force"]).max() > 0.0
    advance_by(first, 50)
    second.restore(saved)
    np.testing.assert_equal(second.save(), saved)
    assert second.time == 120 * second.step_size
    advance_by(second, 120)
    np.testing.assert_equal(second.save(), whole.save())
    for ours, theirs in ((second.fields(), whole.fields()), (second.reactions(), whole.reactions())):
        np.testing.assert_equal(ours, theirs)
    assert second.energy() == whole.energy()


def test_saved_state_is_a_copy(
    laws: dict[str, dict[str, Any]],
    pressed: Callable[..., Any],
    start: Callable[..., Any],
    advance_by: Callable[..., None],
) -> None:
    simulation = start(pressed(2, laws["three-element"]), step=0.004)
    advance_by(simulation, 100)
    saved = simulation.save()
    kept = {name: array.copy() for name, array in saved.items()}
    advance_by(simulation, 50)
    np.testing.assert_equal(saved, kept)
    simulation.restore(saved)
    advance_by(simulation, 50)
    np.testing.assert_equal(saved, kept)


def test_size_of_chunks_does_not_matter(
    laws: dict[str, dict[str, Any]], pressed: Callable[..., Any], start: Callable[..., Any]
) -> None:
    problem = pressed(2, laws["generalized-maxwell"])
    one, many = start(problem, step=0.004), start(problem, step=0.004)
    one.advance(1.0, 10**9)
    while many.step_count < one.step_count:
        many.advance(1.0, 7)
    np.testing.assert_equal(many.save(), one.save())


def test_another_step_is_refused(
    laws: dict[str, dict[str, Any]], pressed: Callable[..., Any], start: Callable[..., Any]
) -> None:
    problem = pressed(2, laws["elastic"])
    saved = start(problem, step=0.004).save()
    with pytest.raises(RheotwinError, match=r"written with a step of 0\.004 s"):
        start(problem, step=0.002).restore(saved)


@pytest.mark.parametrize("options", [{}, {"kernel": "general"}, {"stepper": "rk4"}])
def test_what_was_near_before_a_restore_is_forgotten(
    options: dict[str, Any], make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """A body that was far from a tool when somebody put it back on it does not go through."""
    law = {"model": "voigt", "young": 12.0, "poisson": 0.3, "viscosity": 0.5}
    floor = {"floor": {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}}
    problem = make_problem(2, law, tools=floor, supports={})
    reused, fresh = start(problem, **options), start(problem, **options)
    state = fresh.save()
    state["velocities"][:, 1] = -1.0
    far = {name: array.copy() for name, array in state.items()}
    far["positions"][:, 1] += 5.0
    reused.restore(far)
    reused.advance(1e9, 3)
    for simulation in (reused, fresh):
        simulation.restore(state)
        simulation.advance(1e9, 40)
    np.testing.assert_equal(reused.save(), fresh.save())
    assert reused.positions[:, 1].min() > -1e-9
