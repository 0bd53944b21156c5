"""The stepper of central differences on the state every stepper shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem.model import Model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State, kinetic_energy, stored_energy
from rheotwin.fem.steppers import make_stepper
from rheotwin.fem.steppers.central_difference import CentralDifference, largest_stable_step
from rheotwin.problem import Problem

Data = dict[str, Any]
Models = Callable[..., Model]

TWO_RATIOS: Data = {
    "model": "three-element",
    "young": 30.0,
    "poisson": 0.35,
    "voigt_viscosity": 20.0,
    "series_viscosity": 500.0,
    "viscous_poisson": 0.2,
}


@pytest.fixture
def pressed(press: Callable[..., Data], problem_of: Callable[[Data], Problem]) -> Callable[[Data], Problem]:
    """The papers' pressing scene with its mass of 30."""
    return lambda law: problem_of(press(law, mass=30.0))


def midpoint(model: Model, h: float, steps: int) -> State:
    """The same model by the implicit midpoint rule."""
    stepper, state = make_stepper(model, h, FemOptions()), State.at_rest(model)
    for step in range(steps):
        stepper.step(state, step * h, (step + 1) * h)
    return state


@pytest.mark.parametrize("name", ["rubber", "two ratios", "three-element"])
def test_tends_to_the_midpoint_solution_as_the_step_shrinks(
    name: str, pressed: Callable[[Data], Problem], laws: dict[str, Data], model_of: Models
) -> None:
    """First order, by the lag of eta; the midpoint rule's own error (h^2) at 5e-4 is far below."""
    rubber = {"model": "voigt", "young": 300.0, "poisson": 0.35, "viscosity": 15.0}
    model = model_of(pressed({"rubber": rubber, "two ratios": TWO_RATIOS}.get(name, laws["three-element"])))
    time = 1.0
    reference, off = midpoint(model, 5e-4, 2000), []
    for h in (1e-3, 5e-4):
        state = State.at_rest(model)
        CentralDifference(model, h).advance(state, 0, round(time / h))
        off.append(np.abs(state.u - reference.u).max())
    assert off[0] < 1e-4 * np.abs(reference.u).max()
    assert off[0] / off[1] == pytest.approx(2.0, rel=0.15)
    np.testing.assert_allclose(state.v, reference.v, atol=1e-3)
    np.testing.assert_array_equal(np.sort(state.contacts.node), np.sort(reference.contacts.node))


def test_quadratic_elements_and_three_dimensions(
    scene: Callable[..., Data], problem_of: Callable[..., Problem], laws: dict[str, Data], model_of: Models
) -> None:
    floor = {"floor": {"body": "block", "where": {"side": "bottom"}}}
    pull = {"pull": {"body": "block", "where": {"side": "top"}, "total": [0.3, 0.0, -0.5]}}
    data = scene(
        laws["maxwell"],
        size=[1.0, 1.0, 1.0],
        cells=[2, 2, 2],
        cell="tet",
        density=20.0,
        supports=floor,
        forces=pull,
    )
    model = model_of(problem_of(data), order=2)
    state, steps = State.at_rest(model), 2000
    CentralDifference(model, 0.5 / steps).advance(state, 0, steps)
    reference = midpoint(model, 0.5 / 500, 500)
    np.testing.assert_allclose(state.u, reference.u, rtol=0.0, atol=2e-4 * np.abs(reference.u).max())


def test_the_axis_of_a_ring_stays_where_it_is(
    scene: Callable[..., Data], problem_of: Callable[..., Problem], laws: dict[str, Data], model_of: Models
) -> None:
    """A full cylinder pulled along its axis: symmetry holds the radial components there, no support does."""
    data = scene(
        laws["maxwell"],
        size=[1.0, 1.0],
        cells=[3, 3],
        density=20.0,
        plane="axisymmetric",
        supports={"floor": {"body": "block", "where": {"side": "bottom"}, "fix": ["y"]}},
        forces={"pull": {"body": "block", "where": {"side": "top"}, "total": [0.0, 5.0]}},
    )
    model = model_of(problem_of(data))
    state, steps = State.at_rest(model), 2000
    CentralDifference(model, 0.5 / steps).advance(state, 0, steps)
    axis = model.points[:, 0] == 0.0
    assert np.all(state.u.reshape(-1, 2)[axis, 0] == 0.0)
    reference = midpoint(model, 0.5 / 500, 500)
    np.testing.assert_allclose(state.u, reference.u, rtol=0.0, atol=2e-4 * np.abs(reference.u).max())


@pytest.mark.parametrize("law", ["two ratios", "generalized-maxwell"])
def test_restart_and_chunks_change_no_bit(
    law: str, pressed: Callable[[Data], Problem], laws: dict[str, Data], model_of: Models
) -> None:
    model = model_of(pressed(TWO_RATIOS if law == "two ratios" else laws[law]))
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


def test_the_full_step_state_is_in_balance(
    pressed: Callable[[Data], Problem], laws: dict[str, Data], model_of: Models
) -> None:
    """M a + f_int - f_ext vanishes on what neither floor nor bar holds; the account closes; the bar pushes down."""
    model = model_of(pressed(laws["three-element"]))
    state = State.at_rest(model)
    CentralDifference(model, 1e-3).advance(state, 0, 2000)
    residual = model.mass @ state.acceleration + state.internal_force(model) - model.applied(2.0)
    touched = np.zeros(model.size, dtype=bool)
    touched[state.contacts.node * 2 + 1] = True
    scale = np.abs(residual).max()
    assert np.abs(residual[~touched & ~model.held]).max() < 1e-10 * scale
    found = residual.reshape(-1, 2)[state.contacts.node, 1]
    np.testing.assert_allclose(found, -state.contacts.multiplier, rtol=1e-9)
    assert np.all(state.contacts.multiplier > 0.0)
    energy = kinetic_energy(model, state.v) + stored_energy(model, state) + state.ledger.dissipated
    assert energy == pytest.approx(state.ledger.external, rel=1e-10)
    assert 0.0 < state.ledger.dissipated < state.ledger.external


def test_what_central_differences_refuse(
    pressed: Callable[[Data], Problem], laws: dict[str, Data], model_of: Models
) -> None:
    problem = pressed(laws["three-element"])
    model = model_of(problem)
    stable = largest_stable_step(model)
    assert CentralDifference(model, 0.9 * stable).stable_step == pytest.approx(stable, rel=1e-12)
    with pytest.raises(RheotwinError, match=r"solvers\.fem\.step: .* above the stable step"):
        CentralDifference(model, 1.01 * stable)
    with pytest.raises(RheotwinError, match="lumped"):
        CentralDifference(model_of(problem, mass="consistent"), 1e-4)
    with pytest.raises(RheotwinError, match="nodal"):
        CentralDifference(model_of(problem, history="quadrature"), 1e-4)


def test_plane_stress_with_unequal_ratios_is_refused(
    press: Callable[..., Data], problem_of: Callable[..., Problem], model_of: Models
) -> None:
    """Its out-of-plane strains have no mass."""
    model = model_of(problem_of(press(TWO_RATIOS, mass=30.0) | {"plane": "stress"}))
    with pytest.raises(RheotwinError, match="mass"):
        CentralDifference(model, 1e-4)
