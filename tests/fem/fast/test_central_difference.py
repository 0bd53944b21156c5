"""The stepper of central differences on the state every stepper shares."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem.model import Model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State, kinetic_energy, stored_energy
from rheotwin.fem.steppers import make_stepper
from rheotwin.fem.steppers.central_difference import CentralDifference
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import EQUAL_RATIO, FLOOR, RHEOLOGICAL, Data, box_scene, problem_of, side
from rheotwin.validation.checks.scenes import press_scene

TWO_RATIOS = RHEOLOGICAL | {"viscous_poisson": 0.2}
RUBBER = EQUAL_RATIO["voigt"] | {"viscosity": 15.0}


def pressed(law: Data) -> Problem:
    return problem_of(press_scene(law, mass=30.0))


def midpoint(model: Model, h: float, steps: int) -> State:
    stepper, state = make_stepper(model, h, FemOptions()), State.at_rest(model)
    for step in range(steps):
        stepper.step(state, step * h, (step + 1) * h)
    return state


@pytest.mark.parametrize(
    "law",
    [TWO_RATIOS, *(pytest.param(law, marks=pytest.mark.exhaustive) for law in (RUBBER, RHEOLOGICAL))],
    ids=["two ratios", "rubber", "three-element"],
)
def test_tends_to_the_midpoint_solution_as_the_step_shrinks(law: Data, model_of: Any) -> None:
    """First order, by the lag of eta; the midpoint rule's own error (h^2) at 5e-4 is far below."""
    model = model_of(pressed(law))
    time = 1.0
    reference, off = midpoint(model, 5e-4, 2000), []
    for h in (1e-3, 5e-4):
        state = State.at_rest(model)
        CentralDifference(model, h).advance(state, 0, round(time / h))
        off.append(np.abs(state.u - reference.u).max())
    assert off[0] < 1e-4 * np.abs(reference.u).max() and off[0] / off[1] == pytest.approx(2.0, rel=0.15)
    np.testing.assert_allclose(state.v, reference.v, atol=1e-3)
    np.testing.assert_array_equal(np.sort(state.contacts.node), np.sort(reference.contacts.node))


CUBE: Data = {"cells": [2, 2, 2], "size": [1.0] * 3, "cell": "tet", "supports": FLOOR}
RING: Data = {"cells": [3, 3], "size": [1.0] * 2, "plane": "axisymmetric"}


@pytest.mark.parametrize(
    ("scene", "total", "order"),
    [(CUBE, [0.3, 0.0, -0.5], 2), (RING | {"supports": {"floor": side("bottom", fix=["y"])}}, [0.0, 5.0], 1)],
    ids=["quadratic elements in space", "a full cylinder pulled along its axis"],
)
def test_follows_the_midpoint_rule(scene: Data, total: list[float], order: int, model_of: Any) -> None:
    """Symmetry holds the radial components on the axis of the ring, no support does."""
    data = box_scene(EQUAL_RATIO["maxwell"], density=20.0, forces={"pull": side("top", total=total)}, **scene)
    model = model_of(problem_of(data), order=order)
    state, steps = State.at_rest(model), 2000
    CentralDifference(model, 0.5 / steps).advance(state, 0, steps)
    reference = midpoint(model, 0.5 / 500, 500)
    np.testing.assert_allclose(state.u, reference.u, rtol=0.0, atol=2e-4 * np.abs(reference.u).max())
    if "plane" in scene:
        assert np.all(state.u.reshape(-1, 2)[model.points[:, 0] == 0.0, 0] == 0.0)


@pytest.mark.parametrize("law", [TWO_RATIOS, EQUAL_RATIO["generalized-maxwell"]], ids=["two ratios", "two arms"])
def test_restart_and_chunks_change_no_bit(law: Data, model_of: Any) -> None:
    model = model_of(pressed(law))
    stepper, h = CentralDifference(model, 1e-3), 1e-3
    through = State.at_rest(model)
    stepper.advance(through, 0, 300)
    single = State.at_rest(model)
    for step in range(150):
        stepper.step(single, step * h, (step + 1) * h)
    again, resumed = CentralDifference(model, h), State.restored(model, single.save())
    again.restore(stepper.save())
    again.advance(resumed, 150, 150)
    first, second = through.save(), resumed.save()
    work, other = first.pop("work"), second.pop("work")
    assert first.keys() == second.keys() - {"work"}
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert work[0] == other[0]
    np.testing.assert_allclose(work, other, rtol=1e-12)


def test_the_full_step_state_is_in_balance(model_of: Any) -> None:
    """M a + f_int - f_ext vanishes on what neither floor nor bar holds; the account closes; the bar pushes down."""
    model = model_of(pressed(RHEOLOGICAL))
    state = State.at_rest(model)
    CentralDifference(model, 1e-3).advance(state, 0, 2000)
    residual = model.mass @ state.acceleration + state.internal_force(model) - model.applied(2.0)
    touched = np.zeros(model.size, dtype=bool)
    touched[state.contacts.node * 2 + 1] = True
    assert np.abs(residual[~touched & ~model.held]).max() < 1e-10 * np.abs(residual).max()
    np.testing.assert_allclose(residual.reshape(-1, 2)[state.contacts.node, 1], -state.contacts.multiplier, rtol=1e-9)
    assert np.all(state.contacts.multiplier > 0.0)
    energy = kinetic_energy(model, state.v) + stored_energy(model, state) + state.ledger.dissipated
    assert energy == pytest.approx(state.ledger.external, rel=1e-10)
    assert 0.0 < state.ledger.dissipated < state.ledger.external


@pytest.mark.parametrize(
    ("law", "plane", "choice", "words"),
    [
        (RHEOLOGICAL, "strain", {"mass": "consistent"}, "lumped"),
        (RHEOLOGICAL, "strain", {"history": "quadrature"}, "nodal"),
        (TWO_RATIOS, "stress", {}, "mass"),  # strains out of the plane have none
    ],
)
def test_what_central_differences_refuse(law: Data, plane: str, choice: Data, words: str, model_of: Any) -> None:
    model = model_of(problem_of(press_scene(law, mass=30.0, plane=plane)), **choice)
    with pytest.raises(RheotwinError, match=words):
        CentralDifference(model, 1e-4)
