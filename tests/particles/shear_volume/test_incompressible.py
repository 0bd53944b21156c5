"""Constant volume in `shear-volume`: under presses, against Taylor-Hood, alone in space, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from rheotwin.arrays import Array
from rheotwin.constraints.measure import MeasureConstraints, measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import Diverged, InputFaults, RheotwinError
from rheotwin.fem.simulation import FemSolver
from rheotwin.loop import check_finite
from rheotwin.observers.protocol import Watched
from rheotwin.particles.shear_volume.options import ShearVolumeOptions
from rheotwin.particles.truss import TrussSolver
from rheotwin.problem import Problem
from rheotwin.solver import Simulation, check_capabilities
from rheotwin.validation.checks.running import FLOOR, box_scene, path, problem_of, put, run_to, seen, side, start

Data = dict[str, Any]
VOIGT: Data = {"model": "voigt", "young": 2.98, "viscosity": 2.98, "poisson": 0.49}
"""Shear modulus and shear viscosity of one."""
HALF: Data = {"model": "voigt", "young": 3.0, "viscosity": 1.5, "poisson": 0.5}
"""Shear modulus one, shear viscosity one half."""


def begin(problem: Problem, **options: Any) -> Simulation:
    return start(problem, "shear-volume", **options)


def rows_of(problem: Problem, kind: PatchKind) -> MeasureConstraints:
    return measure_constraints(patches(kind, problem.bodies[0].mesh.t.T, problem.points), problem.points)


def largest_error(problem: Problem, simulation: Simulation, kind: PatchKind) -> float:
    rows = rows_of(problem, kind)
    return float(np.abs(rows.value(np.ascontiguousarray(simulation.positions)) / rows.rest).max())


def barred(stroke: float, *, cells: tuple[int, int] = (16, 6), hold: float = 0.0, width: float = 20.0) -> Problem:
    """Return the papers' block under a bar that comes down in ten seconds and stays (spec 8)."""
    end = [10.0 + hold] if hold else []
    way = path([0.0, 10.0, *end], [[0.0, 0.0], [0.0, -stroke], *([0.0, -stroke] for _ in end)])
    bar = {"shape": "bar", "center": [40.0, 30.0], "normal": [0.0, -1.0], "width": width, "motion": way}
    more: Data = {"supports": FLOOR, "tools": {"bar": bar}, "duration": 10.0 + hold, "mass": 30.0}
    return problem_of(box_scene(VOIGT, cells=list(cells), size=[80.0, 30.0], **more))


@pytest.mark.parametrize(("kind", "width"), [("cell", 20.0), ("node", 20.0), ("cell", 120.0)])
def test_volumes_are_kept_through_the_press(kind: PatchKind, width: float) -> None:
    """The bar starts at full speed, so that the first touch counts too; under a plate steps are divided."""
    problem = barred(10.0, width=width)
    simulation = begin(problem, step=0.01, incompressible=kind, shear="neo-hooke")
    forces = seen(simulation, [*np.arange(991, 1000) * 0.01, 10.0], lambda: simulation.reactions()["tool.bar"][1])
    tolerance = ShearVolumeOptions().volume_tolerance
    assert largest_error(problem, simulation, kind) < tolerance
    assert simulation.statistics()["largest_volume_error"] < tolerance
    assert simulation.statistics()["divided_steps"] > 0 or width == 20.0
    # steps take turns with and without contact when its forces are not solved for together with pressures
    assert np.ptp(forces) < 0.1 * np.mean(forces)


def test_the_force_is_that_of_taylor_hood() -> None:
    """Displacements live on the same points: quadratic ones on 16 x 6 squares, linear ones on 32 x 12.
    At a thousandth of the height both are linear; the bar stops at once, which volumes have to survive. What
    volumes may be off makes forces of single steps scatter, by 1 % of so small a force at the default tolerance."""
    mixed = {"formulation": "taylor-hood", "incompressible": True}
    reference = start(barred(0.03, hold=10.0), "fem", step=10.0, stepper="quasi-static", **mixed)
    pairs = barred(0.03, cells=(32, 12), hold=10.0)
    simulation = begin(pairs, step=0.01, incompressible="pair", volume_tolerance=1e-9)
    for each in (reference, simulation):
        run_to(each, 20.0)
    assert simulation.statistics()["largest_volume_error"] < 1e-8
    assert simulation.reactions()["tool.bar"][1] == pytest.approx(reference.reactions()["tool.bar"][1], rel=0.03)


def test_constraints_per_element_say_that_they_lock_and_stop_where_they_contradict_each_other() -> None:
    """Bar and constraints per element have no common motion (spec 5); the caller of `advance` is told, not left nan."""
    problem = barred(10.0)
    with pytest.warns(UserWarning, match=r"seed mode .* 204 dof, 192 constraints, rank 192, 12 free modes: expect"):
        simulation = begin(problem, step=0.01, incompressible="element")
    assert simulation.statistics()["free_modes"] == 12
    run_to(simulation, 10.0)
    assert simulation.time < 2.0
    with pytest.raises(Diverged, match="the run diverged at t = "):
        check_finite(Watched(problem, simulation, 10.0))


def test_a_run_goes_on_bitwise_from_a_checkpoint() -> None:
    once, twice = (begin(barred(10.0), step=0.01, incompressible="cell") for _ in range(2))
    run_to(once, 0.5)
    twice.restore(once.save())
    for each in (once, twice):
        run_to(each, 0.8)
    for name in ("positions", "multipliers"):
        np.testing.assert_array_equal(once.save()[name], twice.save()[name])


def block(dimension: int, **scene: Any) -> Problem:
    chosen: Data = {"cell": ["triangle", "tet"][dimension - 2], "density": 1.0, "supports": FLOOR} | scene
    return problem_of(box_scene(HALF, cells=chosen.pop("cells", [3, 2, 2][:dimension]), **chosen))


def plate(dimension: int, depth: float) -> Data:
    upright = np.eye(dimension)[-1]
    way = path([0.0, 10.0], [(0.0 * upright).tolist(), (-depth * upright).tolist()])
    where = {"center": (4.0 * upright).tolist(), "normal": (-upright).tolist()}
    return {"plate": {"shape": "plane", **where, "motion": way}}


@pytest.mark.parametrize(("pattern", "kind"), [("six", "cell"), ("five", "cell"), ("six", "node")])
def test_a_cube_keeps_its_volumes_under_a_press(pattern: str, kind: PatchKind) -> None:
    problem = block(3, cells=[4] * 3, pattern=pattern, tools=plate(3, 1.2), duration=10.0)
    simulation = run_to(begin(problem, step=0.02, incompressible=kind), 10.0)
    assert simulation.positions[:, 2].max() == pytest.approx(2.8, abs=1e-3)
    assert largest_error(problem, simulation, kind) < 1e-6
    assert simulation.statistics()["largest_volume_error"] < 1e-6
    reactions = simulation.reactions()
    assert reactions["tool.plate"][2] == pytest.approx(-reactions["support.floor"][2], rel=0.01)


def test_a_tumbling_cube_keeps_its_momenta_and_what_is_off_dies_out_critically() -> None:
    """A cube of six tets without supports, spinning, stretched and breathing, 0.2 % too large.
    R'' + 2 om R' + om^2 R = 0 with the Q of E8: in R and R' there is no trace of how the body tumbles."""
    problem, om = block(3, cells=[1] * 3, pattern="six", supports={}, duration=4.0), 10.0
    simulation = begin(problem, step=0.002, incompressible="cell", constraint_frequency=om, volume_tolerance=1e-13)
    moves = np.array([[0.3, -0.8, 0.2], [0.5, 0.1, -0.4], [-0.6, 0.3, 0.2]])
    x = 1.002 ** (1.0 / 3.0) * problem.points
    put(simulation, positions=x, velocities=x @ moves.T + [0.1, 0.2, -0.1])  # type: ignore[arg-type]
    rows, mass = rows_of(problem, "cell"), problem.masses[:, None]

    def momenta() -> Array:
        v = simulation.velocities
        return np.array([(mass * v).sum(axis=0), np.cross(simulation.positions, mass * v).sum(axis=0)])

    before, first = momenta(), float(rows.value(x)[0])
    rate = float((rows.gradient(x) @ simulation.velocities.ravel())[0])
    for time in (0.1, 0.2, 0.5):
        run_to(simulation, time)
        exact = (first + (rate + om * first) * time) * np.exp(-om * time)
        found = float(rows.value(np.ascontiguousarray(simulation.positions))[0])
        # semi-implicit, order one: om h = 0.02 of what there was
        assert found == pytest.approx(exact, abs=0.02 * max(abs(first), abs(rate) / om))
    run_to(simulation, 4.0)
    np.testing.assert_allclose(momenta(), before, rtol=0, atol=1e-12)
    # half of Q missing would leave Q/(2 om^2), some 1e-3; what is left is of third order, h det(grad v)/om^2
    assert largest_error(problem, simulation, "cell") < 1e-7


def test_one_half_is_the_limit_of_the_law_within_mixed_elements_and_beyond_a_truss() -> None:
    """G = E/3 and G_vis = E_vis/3 (E10): the volume law plays no part."""
    finite = {"model": "voigt", "shear": 1.0, "bulk": 7.0, "viscosity": {"shear": 0.5, "bulk": 2.0}}
    one, other = (block(2, gravity=[0.1, 0.0], laws={"stuff": law}) for law in (HALF, finite))
    runs = [begin(problem, step=0.01, incompressible="cell") for problem in (one, other)]
    for simulation in runs:
        run_to(simulation, 1.0)
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, rtol=0, atol=1e-14)
    assert np.abs(runs[0].positions - one.points).max() > 1e-3
    problem = block(2, gravity=[0.1, 0.0])
    with pytest.raises(InputFaults, match=r"0\.5 keeps the volume, which is beyond this solver; choose less, or the"):
        check_capabilities(TrussSolver(), problem)
    check_capabilities(FemSolver(), problem)
    mixed = {"formulation": "taylor-hood", "incompressible": True}
    simulation = run_to(start(problem, "fem", step=0.1, stepper="quasi-static", **mixed), 1.0)
    assert 1e-3 < np.abs(simulation.positions - problem.points).max() < 1.0


def test_pressures_carry_the_weight() -> None:
    """A column in a rigid groove carries its weight by pressure alone: rho g (H - y), both signs and amount."""
    groove = FLOOR | {name: side(name, fix=["x"]) for name in ("left", "right")}
    problem = block(2, size=[2.0, 4.0], cells=[4, 8], supports=groove, gravity=[0.0, -0.01], duration=60.0)
    density = problem.masses.sum() / 8.0
    simulation = run_to(begin(problem, step=0.02, incompressible="cell"), 60.0)
    stress, height = simulation.fields()["stress"], problem.points[:, 1]
    inside = (height > 0.1) & (height < 3.9) & (np.abs(problem.points[:, 0] - 1.0) < 0.9)
    # the mean of the six triangles around a node is that of the cells left and right, above and below
    expected = np.repeat(-0.01 * density * (4.0 - height[inside])[:, None], 3, axis=1)
    np.testing.assert_allclose(stress[inside][:, :3], expected, atol=0.01 * 0.01 * 4.0)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("shear-volume", {}, "poisson = 0.5 leaves no finite bulk modulus: choose less than 0.5, or options that keep"),
        ("fem", {}, r"0.5 is incompressible, which needs a pressure space: use formulation = \"taylor-hood\""),
        ("fem", {"formulation": "taylor-hood"}, "poisson = 0.5 leaves no finite bulk modulus"),
        ("fem", {"kinematics": "total-lagrangian", "stepper": "quasi-static"}, "incompressible"),
    ],
)
def test_one_half_is_refused_where_nothing_keeps_volumes(name: str, options: Data, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        start(block(2), name, **options)


@pytest.mark.parametrize(
    ("dimension", "scene", "options", "sentence"),
    [
        (2, {"cell": "quad"}, {"incompressible": "pair"}, "constant volumes need triangles"),
        (3, {}, {"incompressible": "pair"}, '"pair" means the two triangles of a square; use "cell" in three dimen'),
        (2, {"plane": "stress"}, {"incompressible": "cell"}, "plane strain only"),
        (2, {}, {"incompressible": "cell", "constraint_frequency": 90.0, "step": 0.01}, "choose at most 50"),
    ],
)
def test_what_cannot_be_kept_is_refused(dimension: int, scene: Data, options: Data, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        begin(block(dimension, **scene), **options)
