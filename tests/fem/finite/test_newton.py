"""Newton's method: quadratic convergence, halving, and a stop that keeps the last good state and names the place."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import Diverged, RheotwinError
from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers.newton import NewtonStepper
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import EQUAL_RATIO, FLOOR, Data, box_scene, path, problem_of, run_to, side

ELASTIC = EQUAL_RATIO["elastic"]


def pulled(law: Data, stretch: float, **more: Any) -> Data:
    lid = {"lid": side("top", motion=path([0.0, 1.0], [[0.0, 0.0], [0.5 * stretch, stretch]]))}
    return box_scene(law, size=[2.0, 1.0], cells=[4, 3], supports=FLOOR | lid, **more)


@pytest.mark.parametrize("inertia", [False, True])
@pytest.mark.parametrize("name", ["elastic", "three-element"])
def test_convergence_is_quadratic(name: str, inertia: bool, description: str) -> None:
    """Residuals r of one large step without contact: r_(k+1) r_0 <= C r_k^2 with C of order one, down to rounding."""
    problem = problem_of(pulled(EQUAL_RATIO[name], 0.4, density=1.0))
    rule = "midpoint" if inertia else "quasi-static"
    options = FemOptions(kinematics=description, stepper=rule, newton_tolerance=1e-13, newton_iterations=20)
    model = build_model(problem, options)
    residuals = np.array(NewtonStepper(model, options).solve(State.at_rest(model), 0.0, 1.0)[1][1:])
    assert len(residuals) <= 8 and residuals[-1] < 1e-10 * residuals[0]
    falling = residuals[residuals > 1e-9 * residuals[0]]
    assert len(falling) >= 3 and (falling[1:] * residuals[0] / falling[:-1] ** 2).max() < 10.0


def test_convergence_is_quadratic_under_a_ball(description: str, begin: Any) -> None:
    """A small ball goes deep: the turning of its normals is part of the tangent.
    Without that term residuals fall by a constant factor, and a step takes tens of iterations."""
    motion = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.2]])
    ball = {"shape": "sphere", "center": [1.0, 1.2], "radius": 0.2, "motion": motion}
    data = box_scene(ELASTIC, size=[2.0, 1.0], cells=[20, 10], supports=FLOOR, tools={"ball": ball})
    simulation = run_to(begin(data, description, step=0.1, newton_tolerance=1e-12), 1.0)
    assert simulation.statistics()["halved_steps"] == 0 and simulation.statistics()["newton_iterations"] <= 45


def test_a_step_without_solution_is_halved(description: str, begin: Any) -> None:
    """Few iterations allowed: the run still arrives, at the result of short steps, and reports its halvings."""
    data = pulled(ELASTIC, 0.5)
    patient, hasty = begin(data, description, step=1.0), begin(data, description, step=1.0, newton_iterations=3)
    for simulation in (patient, hasty):
        run_to(simulation, 1.0)
    assert patient.statistics()["halved_steps"] == 0 and hasty.statistics()["halved_steps"] > 0
    assert hasty.step_count == 1
    np.testing.assert_allclose(hasty.positions, patient.positions, atol=1e-8)


def everything(simulation: Simulation) -> dict[str, np.ndarray]:
    return {**simulation.save(), **simulation.fields(), **simulation.reactions()}


def test_a_stop_keeps_the_last_good_state(description: str, begin: Any) -> None:
    """The lid is driven through the floor: the run stops on its way, in words, and nothing has changed since."""
    data = pulled(EQUAL_RATIO["three-element"], -0.4, duration=2.0)
    data["supports"]["lid"]["motion"] = path([0.0, 1.0, 2.0], [[0.0, 0.0], [0.0, -0.4], [0.0, -3.0]])
    simulation = run_to(begin(data, description, step=1.0), 1.0)
    before = everything(simulation)
    with pytest.raises(Diverged, match=r"diverged at t = 1 s in body 'block' at node \d+ .*halved 6 times; reduce"):
        run_to(simulation, 2.0)
    assert simulation.time == 1.0
    after = everything(simulation)
    assert all(after[name].tobytes() == array.tobytes() for name, array in before.items())


def test_bodies_held_all_over_or_nowhere(description: str, begin: Any) -> None:
    lid = {"lid": side("top", motion=path([0.0, 1.0], [[0.0, 0.0], [0.0, 0.1]]))}
    simulation = run_to(begin(box_scene(ELASTIC, cells=[1, 1], supports=FLOOR | lid), description, step=0.5), 1.0)
    assert simulation.statistics()["unknowns"] == 0 and simulation.fields()["stress"][:, 1].min() > 1.0
    # Without inertia its free motions are named; with inertia it falls: u = g t^2/2, exact for the midpoint rule.
    data = box_scene(ELASTIC, size=[1.0, 1.0], cells=[2, 2], density=1.0, gravity=[0.0, -2.0])
    with pytest.raises(RheotwinError, match="'block' can still move along x, move along y and rotate"):
        begin(data, description)
    falling = run_to(begin(data, description, step=0.25, inertia=True), 1.0)
    np.testing.assert_allclose(falling.fields()["displacement"][:, :2], [[0.0, -1.0]] * 9, atol=1e-12)


def test_what_is_out_of_reach_is_said(description: str, begin: Any) -> None:
    with pytest.raises(
        RheotwinError, match=rf"solvers.fem.kinematics: \"{description}\" needs two or three dimensions"
    ):
        begin(box_scene(ELASTIC, cells=[2]), description)
    with pytest.raises(RheotwinError, match='"corotational" knows plane = "strain" only, not "stress"'):
        begin(box_scene(ELASTIC, cells=[2, 2], plane="stress"), "corotational")
