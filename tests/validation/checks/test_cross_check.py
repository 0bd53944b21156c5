"""The contract between particles and finite elements (spec section 4): one mesh, one lumped mass, the same channels.

Elements of shear and area (volume) differ from linear finite elements by what is of second order in the strain, and by
nothing else. `central-difference` and the loop of the particles take the same steps, so this holds step by step, in
motion and with memory. Half the difference of the answers to a motion and its opposite has no second order; from
two sizes the third goes too, and what remains is rounding.

"""

from dataclasses import replace

import numpy as np
import pytest

from rheotwin.arrays import Array
from rheotwin.constraints import Motion
from rheotwin.constraints.motion import at_rest
from rheotwin.problem import Prescribed, Problem
from rheotwin.validation.checks.continuum_particles import pushes
from rheotwin.validation.checks.running import ELASTIC, Data, box_scene, path, problem_of, run_to, side, start
from rheotwin.validation.checks.scenes import bar_forces
from rheotwin.validation.checks.seed_shear import finite_pushes

END, STEP = 0.5, 2e-3
"""Duration of the runs in motion, some periods of the body; their step [s]."""
LOOKS = (0.16, 0.48)
"""When they are looked at [s]."""
SIZE = 1e-3
"""Strain of the smaller runs: 4th order leaves 1e-12, and rounding 1e-16/SIZE per step."""
UNEQUAL: Data = {
    "model": "three-element",
    "young": 30.0,
    "poisson": 0.35,
    "voigt_viscosity": 0.05,
    "series_viscosity": 4.0,
    "viscous_poisson": 0.1,
}
"""Spring and dashpots differ in their Poisson ratio: lambda and mu relax at different times."""


def shaken_block(dimension: int, law: Data, **more: object) -> Problem:
    """Return a unit block with inner nodes moved at random, its left held; triangles without obtuse angles."""
    cell = "triangle" if dimension == 2 else "tet"
    size, cells = [1.0] * dimension, [3] * dimension
    problem = problem_of(box_scene(law, size=size, cells=cells, cell=cell, mass=1.0, duration=END, **more))
    mesh, points = problem.bodies[0].mesh, problem.points.copy()
    inner = np.setdiff1d(np.arange(len(points)), mesh.boundary_nodes())
    points[inner] += 0.06 * np.random.default_rng(3).uniform(-1.0, 1.0, (len(inner), dimension))
    body = replace(problem.bodies[0], mesh=replace(mesh, doflocs=np.ascontiguousarray(points.T)))
    return replace(problem, points=points, bodies=(body,))


def driven(dimension: int, size: float) -> Problem:
    """Return the block whose right side is pulled and sheared by `size` and half way back."""
    way = np.array([0.4, 1.0, -0.6][:dimension]) * size
    motion = path([0.0, 0.3, END], [[0.0] * dimension, way, 0.5 * way])
    sides = {"left": side("left"), "right": side("right", motion=motion)}
    return shaken_block(dimension, UNEQUAL, supports=sides)


def answer(solver: str, problem: Problem, options: Data) -> dict[str, Array]:
    """Return displacements [m] and the force on the held side [N] at two times.

    Particles report the force at the beginning of a step, finite elements that at its end.
    """
    simulation, answers = start(problem, solver, step=STEP, **options), {}
    for time in LOOKS:
        run_to(simulation, time)
        answers[f"displacement at {time:g} s"] = simulation.fields()["displacement"]
        run_to(simulation, time + (STEP if solver == "shear-volume" else 0.0))
        answers[f"force at {time:g} s"] = simulation.reactions()["support.left"]
    return answers


def odd_and_even(dimension: int, size: float, options: Data) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the odd and the even part in `size` of the particles' answer, over `size`."""
    there, back = (answer("shear-volume", driven(dimension, sign * size), options) for sign in (1.0, -1.0))
    odd = {name: (there[name] - back[name]) / (2.0 * size) for name in there}
    return odd, {name: (there[name] + back[name]) / (2.0 * size) for name in there}


@pytest.mark.parametrize(
    ("dimension", "shear", "split"),
    [
        (2, "cotangent", "bulk-shear"),
        (2, "neo-hooke", "lame"),
        (3, "neo-hooke", "bulk-shear"),
        pytest.param(2, "cotangent", "lame", marks=pytest.mark.exhaustive),
        pytest.param(2, "neo-hooke", "bulk-shear", marks=pytest.mark.exhaustive),
        pytest.param(3, "neo-hooke", "lame", marks=pytest.mark.exhaustive),
    ],
)
def test_in_motion_the_difference_is_of_the_order_of_the_strain(dimension: int, shear: str, split: str) -> None:
    options = {"shear": shear, "split": split}
    (odd, even), (odd_twice, even_twice) = (odd_and_even(dimension, size, options) for size in (SIZE, 2.0 * SIZE))
    linear = answer("fem", driven(dimension, 1.0), {"stepper": "central-difference", "split": split})
    for name, expected in linear.items():
        scale = np.abs(expected).max()
        at_zero = (4.0 * odd[name] - odd_twice[name]) / 3.0
        np.testing.assert_allclose(at_zero, expected, rtol=0.0, atol=1e-9 * scale, err_msg=name)
        # The difference is there, and twice as large at twice the size (of the fourth order: SIZE^2).
        assert np.abs(even[name]).max() > 0.01 * SIZE * scale, name
        np.testing.assert_allclose(even_twice[name], 2.0 * even[name], rtol=0.0, atol=1e-4 * SIZE * scale)


@pytest.mark.exhaustive
def test_at_rest_in_the_papers_press() -> None:
    """R6: the force differs by 2.47 % per metre of depth, and at no depth by nothing."""
    (linear,), depths = bar_forces(ELASTIC, (1.0,)), np.array([-0.02, -0.01, 0.01, 0.02])
    difference = np.array(pushes(tuple(depths))) / (linear * depths) - 1.0
    cubic = np.polynomial.Polynomial.fit(depths, difference, 3).convert().coef
    assert abs(cubic[0]) < 1e-9
    assert cubic[1] == pytest.approx(0.0247, abs=5.1e-5)


def test_at_rest_in_space() -> None:
    """One side of a block of tetrahedra is glued, the opposite one pushed and free to slide."""
    problem = shaken_block(3, ELASTIC)
    held, pushed = (np.flatnonzero(problem.points[:, 1] == place) for place in (0.0, 1.0))
    force = start(problem, "shear-volume").method.internal_force  # type: ignore[attr-defined]
    depths = np.array([-2e-3, -1e-3, 1e-3, 2e-3])
    ratios = np.array(finite_pushes(force, problem.points, held, pushed, tuple(depths))) / depths
    at_zero, slope = np.polynomial.Polynomial.fit(depths, ratios, 3).convert().coef[:2]
    down = Motion(np.array([0.0, END]), np.array([[0.0] * 3, [0.0, -1.0, 0.0]]))
    floor, lid = Prescribed("floor", held, (0, 1, 2), at_rest(3)), Prescribed("lid", pushed, (1,), down)
    linear = start(replace(problem, prescribed=(floor, lid)), stepper="static", step=END)
    run_to(linear, END)
    expected = linear.reactions()["support.lid"][1]
    assert at_zero == pytest.approx(expected, rel=1e-9)
    assert 0.1 < abs(slope / at_zero) < 10.0, "the block is 1 m high: depth is strain, and the difference is as large"
