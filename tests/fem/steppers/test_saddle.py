"""Supports, links and volumes as rows of the saddle-point system: reactions, motions, stabilisation, energy."""

from itertools import pairwise

import numpy as np
import pytest

from rheotwin.constraints.links import LinkConstraints
from rheotwin.constraints.measure import soft_measure
from rheotwin.constraints.patches import patches
from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers.explicit_stepper import ExplicitStepper
from rheotwin.fem.steppers.first_order import Touching
from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import EQUAL_RATIO, Data, box_scene, path, problem_of, put, run_to, side, start

MASSES = ["lumped", "consistent"]


VOIGT = EQUAL_RATIO["voigt"]


def shaken(law: Data, interpolation: str = "smooth") -> Data:
    drive = path([0.0, 0.5, 1.0], [[0.0, 0.0], [0.2, -0.1], [0.1, 0.0]]) | {"interpolation": interpolation}
    supports = {"floor": side("bottom")} | {"top": side("top", motion=drive)}
    return box_scene(law, size=[2.0, 1.0], cells=[4, 2], density=30.0, supports=supports)


def take(stepper: ExplicitStepper, state: State, steps: int, h: float) -> None:
    for k in range(steps):
        stepper.step(state, k * h, (k + 1) * h)


@pytest.mark.parametrize("mass", MASSES)
def test_multipliers_are_the_reactions(mass: str, any_law: Data) -> None:
    """L of the supports = M a + internal forces - loads on their components, to round-off."""
    options = FemOptions(stepper="rk4", mass=mass)
    model = build_model(problem_of(shaken(any_law) | {"gravity": [0.0, -2.0]}), options)
    stepper, state = ExplicitStepper(model, 0.005, options), State.at_rest(model)
    take(stepper, state, 20, 0.005)
    system = stepper._system
    answer = system.respond_to(system.packed(state), 0.1, Touching.none(), after=False, unilateral=True)
    residual = model.mass @ state.acceleration + state.internal_force(model) - model.applied(0.1)
    scale = np.abs(residual).max()
    assert scale > 1.0
    np.testing.assert_allclose(answer.support, residual[system.held], atol=1e-11 * scale)
    np.testing.assert_allclose(residual[model.free], 0.0, atol=1e-11 * scale)


@pytest.mark.parametrize("mass", MASSES)
def test_supports_follow_their_motion(mass: str) -> None:
    """A linear motion with kinks is followed to round-off, a smooth one to the rule's order; floor and top balance."""
    for interpolation, tolerance in (("linear", 1e-12), ("smooth", 1e-6)):
        data = shaken(VOIGT, interpolation)
        simulation = start(data, stepper="rk4", step=0.005, mass=mass, constraint_frequency=20.0)
        top = np.flatnonzero(simulation.positions[:, 1] == 1.0)
        rest = simulation.positions[top].copy()
        for time, share in ((0.25, [0.1, -0.05]), (0.5, [0.2, -0.1]), (0.75, [0.15, -0.05]), (1.0, [0.1, 0.0])):
            run_to(simulation, time)
            moved = simulation.positions[top] - rest
            np.testing.assert_allclose(moved, np.tile(share, (len(top), 1)), atol=tolerance)
        speed = [-0.2, 0.2] if interpolation == "linear" else [0.0, 0.0]
        np.testing.assert_allclose(simulation.velocities[top], np.tile(speed, (len(top), 1)), atol=100 * tolerance)


def test_order_four_under_a_smooth_support() -> None:
    """With a fixed frequency; kinks of the acceleration lie on the grid and are seen from their right side."""
    found = []
    for step in (0.005, 0.0025, 0.00125):
        simulation = start(shaken(EQUAL_RATIO["maxwell"]), stepper="rk4", step=step, constraint_frequency=20.0)
        run_to(simulation, 1.0)
        found.append(simulation.positions)
    differences = [np.abs(a - b).max() for a, b in pairwise(found)]
    assert np.log2(differences[0] / differences[1]) == pytest.approx(4.0, abs=0.3)


def test_energy_balance(any_law: Data) -> None:
    """Work from outside = kinetic + stored + dissipated; the accounts are integrated by the rule, with its order."""
    data, defects = shaken(any_law), []
    mass = "consistent" if any_law["model"] == "three-element" else "lumped"
    for step in (0.004, 0.002):
        energy = run_to(start(data, stepper="rk4", step=step, mass=mass, constraint_frequency=20.0), 1.0).energy()
        assert energy["impact"] == 0.0
        defects.append(abs(energy["defect"]) / energy["external"])
    assert defects[1] < 1e-5
    assert defects[1] < defects[0] / 8 or defects[1] < 1e-12


def test_sudden_supports_are_impacts_and_wrong_starts_die_out() -> None:
    """A wall that starts at speed V does the work m V^2 on its node: half of it moves on, half is lost."""
    drive = path([0.0, 1.0], [[0.0], [0.5]])
    supports = {"wall": side("left", motion=drive)}
    data = box_scene(VOIGT, size=[2.0], cells=[4], density=30.0, duration=1.0, supports=supports)
    simulation = run_to(start(data, stepper="rk4", step=0.002), 1.0)
    energy = simulation.energy()
    assert energy["impact"] == pytest.approx(0.5 * (30.0 * 0.5 / 2) * 0.5**2, rel=1e-12)
    assert abs(energy["defect"]) < 1e-6 * energy["external"]
    # u(0) = 0.1 on a fixed node: u = 0.1 (1 + om t) exp(-om t), whatever the body does (5.4).
    data = box_scene(EQUAL_RATIO["three-element"], size=[2.0], cells=[4], density=30.0, supports={"left": side("left")})
    simulation = put(start(data, stepper="rk4", step=0.005, constraint_frequency=8.0), u=[0.1, 0.0, 0.0, 0.0, 0.0])
    for time in (0.25, 0.5, 1.0):
        run_to(simulation, time)
        assert simulation.positions[0, 0] == pytest.approx(0.1 * (1 + 8 * time) * np.exp(-8 * time), abs=1e-7)


@pytest.mark.parametrize("mass", MASSES)
def test_rigid_link_in_a_body(mass: str) -> None:
    """A further constraint between two free nodes holds while the body is shaken; without it the nodes part."""
    options = FemOptions(stepper="rk4", mass=mass)
    model = build_model(problem_of(shaken(VOIGT)), options)
    middle = np.flatnonzero(np.isclose(model.points[:, 1], 0.5))
    distance = np.linalg.norm(model.points[middle[-1]] - model.points[middle[0]])
    link = LinkConstraints(middle[None, [0, -1]], np.array([distance]), model.size)
    lengths = []
    for constraints in ((link,), ()):
        state = State.at_rest(model)
        take(ExplicitStepper(model, 0.004, options, extra=constraints), state, 100, 0.004)
        lengths.append(abs(link.value(model.points + state.u.reshape(-1, 2))[0]))
    assert lengths[0] < 1e-6 and lengths[1] > 1e-3


def squeezed() -> Data:
    drive = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.1]]) | {"interpolation": "smooth"}
    supports = {"floor": side("bottom")} | {"top": side("top", motion=drive)}
    return box_scene(VOIGT, size=[2.0, 1.0], cells=[8, 4], density=30.0, duration=2.5, supports=supports)


def area(simulation: Simulation, problem: Problem) -> float:
    corners = simulation.positions[problem.bodies[0].mesh.t.T]
    return float(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 2.0)


@pytest.mark.filterwarnings("ignore:solvers.fem.formulation")
@pytest.mark.parametrize("kind", ["node", "cell"])
def test_volume_is_kept(kind: str) -> None:
    """Plates 10 % closer: a body of nu = 0.35 shrinks by percents, a constrained one keeps its area to 1e-4.
    Held still, both plates carry the same force, which is larger than that of the compressible body."""
    problem = problem_of(squeezed())
    changes, forces = {}, {}
    for incompressible in (True, False):
        rule = {"step": 0.05} if kind == "cell" and not incompressible else {"stepper": "rk4", "step": 0.004}
        simulation = run_to(start(problem, formulation=kind, incompressible=incompressible, **rule), 1.0)
        changes[incompressible] = abs(area(simulation, problem) / 2.0 - 1.0)
        if kind == "cell":
            run_to(simulation, 2.5)
            forces[incompressible] = simulation.reactions()["support.floor"][1]
            assert simulation.reactions()["support.top"][1] == pytest.approx(-forces[incompressible], rel=1e-4)
    assert changes[True] < 1e-4 and changes[False] > 0.02
    assert kind == "node" or abs(forces[True]) > 1.2 * abs(forces[False])


def test_soft_cells_stay_near_their_patch_and_constraints_report_their_rank() -> None:
    """The drift of single triangles from their node patches falls as far as the patches' constraints let it."""
    problem, drifts = problem_of(squeezed()), []
    mesh = problem.bodies[0].mesh
    soft = soft_measure(patches("node", mesh.t.T, mesh.p.T), mesh.p.T, 1.0)
    for modulus in (0.0, 5.0, 50.0):
        options = {"formulation": "node", "incompressible": True, "soft_volume": modulus}
        simulation = run_to(start(problem, step=0.05, **options), 1.0)
        drifts.append(soft.energy(simulation.positions))
    assert drifts[2] < 0.95 * drifts[1] < 0.95 * 0.96 * drifts[0]
    stable = [
        start(problem, stepper="rk4", **options).stable_step for options in ({**options, "soft_volume": 0.0}, options)
    ]
    assert stable[1] < 0.5 * stable[0]  # the constrained stepper has the soft cells too
    simulation = start(squeezed(), stepper="rk4", step=0.004, formulation="cell", incompressible=True)
    assert simulation.statistics()["constraints"][0].startswith("constraints per cell: 54 dof, 32 constraints, rank")
    with pytest.warns(UserWarning, match=r"solvers\.fem\.formulation: seed mode .* expect locking"):
        start(squeezed(), stepper="rk4", step=0.004, formulation="element", incompressible=True)
