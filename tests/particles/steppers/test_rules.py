"""All rules in time: orders (R6), momenta, checkpoints, supports, tools; the implicit one above every bound."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from rheotwin.errors import RheotwinError
from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import (
    FLOOR,
    HELD,
    LAWS,
    begin,
    box_scene,
    path,
    problem_of,
    pull,
    put,
    row,
    run_to,
    side,
)
from rheotwin.validation.checks.running import start as start_any
from tests.conftest import problem_with

Array = np.ndarray
Data = dict[str, Any]
STEPPERS = ("euler", "rk4", "implicit")
SPEED = 0.05
SOFT: dict[str, Data] = {
    "elastic": {"model": "elastic", "young": 12.0},
    "voigt": {"model": "voigt", "young": 12.0, "viscosity": 0.6},
    "maxwell": {"model": "maxwell", "young": 12.0, "viscosity": 4.0},
    "three-element": {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0},
    "generalized-maxwell": {
        "model": "generalized-maxwell",
        "units": [{"young": 5.0, "viscosity": 1.0}, {"young": 3.0, "viscosity": 9.0}],
        "equilibrium": 4.0,
        "viscosity": 0.2,
    },
}
ALL_LAWS = [pytest.param(law, marks=() if law == "three-element" else pytest.mark.exhaustive) for law in SOFT]


def block(dimension: int, law: str | Data, **scene: Any) -> Problem:
    chosen = {"poisson": 0.35, **(SOFT[law] if isinstance(law, str) else law)}
    return problem_of(box_scene(chosen, cells=[3, 2, 2][:dimension], density=1.0, **scene))


def start(problem: Problem, **options: Any) -> Any:
    return start_any(problem, "truss", **options)


def advance_by(simulation: TrussSimulation, steps: int) -> None:
    wanted = simulation.step_count + steps
    simulation.advance(wanted * simulation.step_size, steps)
    assert simulation.step_count == wanted


def exact(k: float, b: float, series: float | None, time: float) -> Array:
    """Return displacements (3,) of u'' = forces of f = B (k d + b ldot), d' = -A d + B ldot, the last pulled by 1 N."""
    gain = 1.0 if series is None else series / (b + series)
    decay = 0.0 if series is None else k / (b + series)
    zero, unit, between = np.zeros((3, 3)), np.eye(3), np.eye(3) - np.eye(3, k=-1)
    force = -between.T * gain
    matrix = np.zeros((10, 10))
    matrix[:-1, :-1] = np.block(
        [[zero, unit, zero], [zero, force @ between * b, force * k], [zero, gain * between, -decay * unit]]
    )
    matrix[5, -1] = 1.0
    return np.asarray(expm(matrix * time)[:3, -1])


@pytest.mark.parametrize(
    ("stepper", "order", "steps"),
    [
        ("semi-implicit", 1, (0.001, 0.0005)),
        ("euler", 1, (0.001, 0.0005)),
        ("rk4", 4, (0.05, 0.025)),
        ("implicit", 1, (0.001, 0.0005)),
    ],
)
@pytest.mark.parametrize(
    ("curve", "constants"), [("2.5a", (2.0, 6.0, None)), ("2.7b", (10.0, 0.0, 40.0)), ("2.10b", (2.0, 2.0, 40.0))]
)
def test_order_on_the_chain(curve: str, constants: Any, stepper: str, order: int, steps: tuple[float, float]) -> None:
    """The observed order of the last halving is the order to 10 %, and the error itself is small at t = 10 s."""
    reference, errors = exact(*constants, 10.0), []
    for step in steps:
        simulation = begin(
            row(LAWS["chain"][curve], edges=3, duration=20.0, forces=pull(1.0)), stepper=stepper, step=step
        )
        run_to(simulation, 10.0)
        assert simulation.time == pytest.approx(10.0, rel=1e-12)
        errors.append(np.linalg.norm(simulation.fields()["displacement"][1:, 0] - reference))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, rel=0.1)
    assert errors[1] < (1e-6 if order == 4 else 1e-2) * np.linalg.norm(reference)


@pytest.mark.parametrize("kind", ["triangle", "quad"])
def test_order_four_with_every_internal_variable(kind: str) -> None:
    """Arms of edges and volume springs (triangles) or of half elements (quads), with pressures, large motions.
    Against a run with a quarter of the smallest step, whose own error is 256 times smaller."""
    problem = block(2, SOFT["three-element"] | {"poisson": 0.4}, cell=kind)
    extras = {"local_volume": True} if kind == "quad" else {"element_pressure": 3.0, "element_pressure_damping": 0.1}
    kicks = 0.5 * np.random.default_rng(3).standard_normal(problem.points.shape)

    def run(step: float) -> Array:
        simulation = start(problem, stepper="rk4", step=step, global_pressure=2.0, **extras)
        assert (simulation.save()["centre_arms"].size > 0) == (kind == "quad")
        assert (simulation.save()["cell_arms"].size > 0) == (kind == "triangle")
        put(simulation, velocities=kicks)
        run_to(simulation, 0.5)
        return simulation.positions

    best = run(0.00125)
    assert np.abs(best - problem.points).max() > 0.1
    errors = [np.abs(run(step) - best).max() for step in (0.01, 0.005)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


def momenta(simulation: TrussSimulation, masses: Array) -> tuple[Array, Array]:
    state = simulation.save()
    x, v = state["positions"], state["velocities"]
    return (masses[:, None] * v).sum(axis=0), np.cross(x, masses[:, None] * v).sum(axis=0)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("stepper", STEPPERS)
def test_free_body_keeps_momentum(stepper: str, dimension: int) -> None:
    """To rounding: linear momentum always; angular momentum as the rule moves x with a mean velocity.
    Linearly implicit Euler keeps x v = 0 within a step exactly. Runge's rule moves x with velocities at other times
    than its forces, an error of fifth order a step: it falls by 2^4 when the step is halved. Euler's is of first
    order."""
    problem, turned = block(dimension, "three-element"), []
    kicks = SPEED * np.random.default_rng(0).standard_normal(problem.points.shape)
    for step in (0.004, 0.002):
        simulation = put(start(problem, stepper=stepper, step=step), velocities=kicks)
        linear, angular = momenta(simulation, problem.masses)
        run_to(simulation, 0.4)
        later, now = momenta(simulation, problem.masses)
        scale = SPEED * problem.masses.sum()
        np.testing.assert_allclose(later, linear, atol=1e-12 * scale)
        turned.append(np.abs(now - angular).max() / (scale * np.abs(simulation.positions).max()))
    assert np.abs(simulation.positions - problem.points).max() > 0.01
    if stepper == "implicit":
        assert max(turned) < 1e-12
    else:
        assert np.log2(turned[0] / turned[1]) > (0.9 if stepper == "euler" else 3.8)


def pressed(dimension: int, law: str) -> Problem:
    """Return a block on a driven support, pressed by a ball."""
    zero, along, up = [0.0] * dimension, np.eye(dimension)[0], np.eye(dimension)[-1]
    centre = np.array([1.4, 2.0, 2.0][:dimension]) + 0.9 * up
    stroke = path([0.0, 0.6, 1.0], [zero, list(-0.5 * up), zero])
    return block(
        dimension,
        law,
        tools={"ball": {"shape": "sphere", "center": centre.tolist(), "radius": 0.9, "motion": stroke}},
        supports={"floor": side("bottom", motion=path([0.0, 1.0], [zero, list(0.1 * along)]))},
        forces={"pull": side("right", total=list(0.5 * along))},
    )


@pytest.mark.parametrize("law", ALL_LAWS)
@pytest.mark.parametrize("stepper", STEPPERS)
def test_two_halves_are_the_whole(stepper: str, law: str) -> None:
    if stepper == "euler" and law == "elastic":
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
def test_supports_and_tools_agree_with_the_semi_implicit_rule(stepper: str, dimension: int) -> None:
    """Displacements and reactions differ by first-order terms only: half the step, about half the difference."""
    problem, differences = pressed(dimension, "three-element"), []
    centre = np.array([1.4, 2.0, 2.0][:dimension])
    centre[-1] += 0.9 - 0.5 * 0.5 / 0.6
    for step in (0.002, 0.001):
        ours, theirs = (start(problem, step=step, stepper=name) for name in (stepper, "semi-implicit"))
        for simulation in (ours, theirs):
            run_to(simulation, 0.5)
        moved = np.abs(theirs.positions - problem.points).max()
        differences.append(np.abs(ours.positions - theirs.positions).max() / moved)
        scale = np.abs(theirs.reactions()["tool.ball"]).max()
        for name, force in theirs.reactions().items():
            np.testing.assert_allclose(ours.reactions()[name], force, atol=0.1 * scale)
        assert np.linalg.norm(ours.positions - centre, axis=1).min() > 0.9 - 1e-12
    assert differences[1] < 0.6 * differences[0] and differences[1] < 0.01


@pytest.mark.parametrize("stepper", ["euler", "rk4"])
def test_a_press_at_the_advised_step_has_the_force_of_small_steps(stepper: str) -> None:
    """Viscous forces of a touching node are those of the speed of its tool, whatever force presses it there."""
    problem = problem_with()
    simulations = start(problem, stepper=stepper), start(problem, step=1e-5)
    ours, theirs = (run_to(simulation, 0.2).reactions()["tool.bar"] for simulation in simulations)
    assert simulations[0].step_size > 100.0 * simulations[1].step_size
    assert np.linalg.norm(ours - theirs) < 0.02 * np.linalg.norm(theirs)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_forces_balance_in_every_step(stepper: str) -> None:
    """The change of momentum in a step is h times load plus reactions of support and tool, with their signs."""
    problem = pressed(3, "three-element")
    simulation = start(problem, step=0.002, stepper=stepper)
    advance_by(simulation, 150)
    for _ in range(20):
        before, _ = momenta(simulation, problem.masses)
        advance_by(simulation, 1)
        after, _ = momenta(simulation, problem.masses)
        total = np.array([0.5, 0.0, 0.0]) - sum(simulation.reactions().values())
        assert np.abs(simulation.reactions()["tool.ball"]).max() > 0.01
        np.testing.assert_allclose((after - before) / simulation.step_size, total, atol=1e-8)


@pytest.mark.parametrize("factor", [10.0, pytest.param(1e3, marks=pytest.mark.exhaustive), 1e5])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("law", ALL_LAWS)
def test_the_implicit_rule_is_stable_at_any_step(factor: float, dimension: int, law: str) -> None:
    """A kicked held body only loses energy, at steps up to 1e5 times the explicit bound.
    What rounding of positions near 3 m leaves in a hundred springs of at most 50 N/m: 100 . 50/2 (4e-16)^2 < 1e-27
    J."""
    step = factor * start(block(dimension, law, supports=HELD)).stable_step
    problem = block(dimension, law, supports=HELD, duration=100.0 * step)
    simulation = start(problem, stepper="implicit", step=step)
    assert simulation.stable_step == np.inf and simulation.step_size == pytest.approx(step, rel=1e-9)
    put(simulation, velocities=1e-3 / step * np.random.default_rng(1).standard_normal(problem.points.shape))
    energy = [sum(simulation.energy().values())]
    for _ in range(50):
        simulation.advance(simulation.time + 1.1 * step, 1)
        energy.append(sum(simulation.energy().values()))
    assert np.all(np.array(energy[1:]) <= np.array(energy[:-1]) * (1.0 + 1e-6) + 1e-27)
    assert simulation.step_count == 50 and np.abs(simulation.positions - problem.points).max() < 0.1


def test_stiff_press_at_a_large_step_gives_the_force_of_small_ones() -> None:
    """A slowly lowered plate on a block 1e5 times as stiff: 200 steps of 5 ms, a thousand times the explicit bound.
    The press is slow against the block's waves, so the plate's force in the middle of the stroke is that of the
    explicit rule at a step it can take, to the first order of 5 ms over the 0.5 s it takes to get there."""
    stiff = {"model": "three-element", "young": 1.2e6, "voigt_viscosity": 1.0e5, "series_viscosity": 1.0e7}
    down = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.2]])
    plate = {"shape": "plane", "center": [0.0, 2.0], "normal": [0.0, -1.0], "motion": down}
    problem = block(2, stiff | {"poisson": 0.3}, tools={"plate": plate}, supports=FLOOR, output={"interval": 0.5})
    explicit, implicit = start(problem), start(problem, stepper="implicit", step=0.005)
    assert implicit.step_size > 100.0 * explicit.stable_step
    forces = []
    for simulation in (explicit, implicit):
        run_to(simulation, 0.5)
        forces.append(simulation.reactions()["tool.plate"][1])
        assert simulation.positions[:, 1].max() == pytest.approx(1.9, abs=1e-9)
    assert forces[0] > 1e4 and forces[1] == pytest.approx(forces[0], rel=0.02)


def test_bodies_under_tension_may_turn_and_shape_keeping_bounds_the_step() -> None:
    """A stretched string of edges swings sideways at steps at which directions that stand still would be unstable."""
    law = {"model": "voigt", "young": 1e4, "poisson": 0.25, "viscosity": 10.0}
    apart = {"right": side("right", motion=path([0.0, 1.0], [[0.0, 0.0], [1.5, 0.0]]))}
    sideways = {"sideways": side("top", total=[0.0, 50.0])}
    simulation = start(
        block(2, law, supports=HELD | apart, forces=sideways, duration=10.0), stepper="implicit", step=0.1
    )
    run_to(simulation, 10.0)
    assert simulation.step_count == 100 and simulation.energy()["kinetic"] < 1e-3
    assert np.abs(simulation.velocities).max() < 1e-2
    assert simulation.statistics()["scheme"].startswith("linearly implicit")
    assert 0.0 < simulation.statistics()["iterations_per_step"] < 50.0
    # They act at the start of a step, so their own bound holds: k h^2 sum |g|^2/m < 4 for a global pressure.
    problem = block(2, "voigt")
    stiff, stiffer = (start(problem, stepper="implicit", global_pressure=k).stable_step for k in (10.0, 1000.0))
    assert 0.0 < stiffer < stiff < np.inf and stiff / stiffer == pytest.approx(10.0, rel=1e-6)
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.step: .*set by the forces that keep the shape"):
        start(problem, stepper="implicit", global_pressure=10.0, step=1.1 * stiff)
