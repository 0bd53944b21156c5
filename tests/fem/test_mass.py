"""Lumped and consistent mass: totals, rigid motions, weight, impulses."""

import numpy as np
import pytest

from rheotwin.fem.space import mass_matrix
from rheotwin.meshing import BoxShape, make_shape
from rheotwin.validation.checks.running import ELASTIC, EQUAL_RATIO, box_scene, path, put, run_to, side, start

SIZES: dict[str, tuple[list[float], list[int]]] = {
    "line": ([2.0], [5]),
    "triangle": ([2.0, 1.0], [4, 2]),
    "quad": ([2.0, 1.0], [4, 2]),
    "tet": ([2.0, 1.0, 0.5], [2, 2, 2]),
    "hex": ([2.0, 1.0, 0.5], [2, 2, 2]),
}
MASSES = ["lumped", "consistent"]
SOFT = ELASTIC | {"young": 1e-9}


@pytest.mark.parametrize("mass", MASSES)
@pytest.mark.parametrize("cell", SIZES)
def test_kinetic_energy_of_a_translation(cell: str, mass: str) -> None:
    """m v^2/2 with m = density x volume; a thickness or section counts."""
    size, cells = SIZES[cell]
    factor = {1: {"section": 0.3}, 2: {"thickness": 0.3}}.get(len(size), {})
    data = box_scene(ELASTIC, size=size, cells=cells, cell=cell, density=700.0, **factor)
    simulation = start(data, step=1.0, mass=mass)
    velocity = np.array([3.0, -2.0, 1.0][: len(size)])
    put(simulation, v=np.tile(velocity, len(simulation.positions)))
    total = 700.0 * np.prod(size) * (0.3 if factor else 1.0)
    assert simulation.energy()["kinetic"] == pytest.approx(0.5 * total * velocity @ velocity, rel=1e-12)


@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_kinetic_energy_of_a_rotation(cell: str) -> None:
    """Consistent: the rectangle's own inertia m (a^2 + b^2)/12; lumped: the sum of m_i r_i^2 of its points."""
    size, cells = SIZES[cell]
    data = box_scene(ELASTIC, size=size, cells=cells, cell=cell, equal_mass=6.0)
    found = {}
    for mass in MASSES:
        simulation = start(data, step=1.0, mass=mass)
        arms = simulation.positions - [1.0, 0.5]
        put(simulation, v=(arms @ [[0.0, 2.0], [-2.0, 0.0]]).ravel())
        found[mass] = simulation.energy()["kinetic"]
    assert found["consistent"] == pytest.approx(0.5 * 4.0 * 6.0 * (2.0**2 + 1.0**2) / 12, rel=1e-12)
    assert found["lumped"] == pytest.approx(0.5 * 4.0 * 6.0 / len(arms) * np.sum(arms**2), rel=1e-12)


@pytest.mark.parametrize("mass", MASSES)
@pytest.mark.parametrize("sharing", ["equal", "volume"])
def test_free_fall_is_rigid(mass: str, sharing: str) -> None:
    """Weight is the mass matrix times gravity, so nothing deforms: u = g t^2/2 exactly."""
    kilograms = {"equal_mass": 6.0} if sharing == "equal" else {"mass": 6.0}
    data = box_scene(EQUAL_RATIO["voigt"], size=[2.0, 1.0], cells=[4, 2], gravity=[1.0, -9.81], **kilograms)
    fields = run_to(start(data, step=0.1, mass=mass), 1.0).fields()
    np.testing.assert_allclose(fields["displacement"], np.tile([0.5, -4.905, 0], (15, 1)), rtol=1e-11)
    np.testing.assert_allclose(fields["velocity"], np.tile([1.0, -9.81, 0], (15, 1)), rtol=1e-11)
    np.testing.assert_allclose(fields["stress"], 0, atol=1e-9)


@pytest.mark.parametrize("mass", MASSES)
def test_momentum_of_a_driven_body_is_the_support_impulse(mass: str) -> None:
    """Force on the body times step = change of 1' M v at every step: at the jerk of the start, the turn, the stop."""
    motion = path([0.0, 0.5, 1.0, 2.0], [[0.0, 0.0], [1.0, 0.5], [0.5, 0.5], [0.5, 0.5]])
    grip = {"grip": side("left", motion=motion)}
    data = box_scene(SOFT, size=[2.0, 1.0], cells=[4, 2], density=3.0, duration=2.0, supports=grip)
    simulation, before = start(data, step=0.1, mass=mass), np.zeros(2)
    matrix = 3.0 * mass_matrix(make_shape(BoxShape((2.0, 1.0), (4, 2))), "triangle")
    if mass == "lumped":
        matrix = np.diag(np.asarray(matrix.sum(axis=1)).ravel())
    for _ in range(20):
        simulation.advance(2.0, 1)
        momentum = (matrix @ simulation.velocities.ravel()).reshape(-1, 2).sum(axis=0)
        np.testing.assert_allclose(-0.1 * simulation.reactions()["support.grip"], momentum - before, atol=1e-8)
        before = momentum


@pytest.mark.parametrize("mass", MASSES)
def test_a_side_that_starts_suddenly(mass: str) -> None:
    """Soft bar, left end at speed 1 from t = 0: free nodes change by -M_ff^-1 M_fh (lumped: not at all)."""
    grip = {"grip": side("left", motion=path([0.0, 10.0], [[0.0], [10.0]]))}
    simulation = start(box_scene(SOFT, cells=[4], density=6.0, duration=10.0, supports=grip), step=0.1, mass=mass)
    matrix = np.diag([2.0, 4.0, 4.0, 4.0, 2.0]) + np.eye(5, k=1) + np.eye(5, k=-1)
    jump = -np.linalg.solve(matrix[1:, 1:], matrix[1:, 0]) if mass == "consistent" else np.zeros(4)
    for _ in range(3):
        simulation.advance(10.0, 1)
        np.testing.assert_allclose(simulation.velocities[:, 0], [1.0, *jump], atol=1e-8)
