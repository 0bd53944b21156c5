"""Global and element pressure: forces are p dV/dx, momentum and work are exact, and what they do to bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.meshing import (
    boundary_faces,
    build_mesh,
    cell_kind,
    element_measures,
    hex_grid,
    quad_grid,
    tet_grid,
    triangle_grid,
)
from rheotwin.particles.forces.cells import linear_cells
from rheotwin.particles.forces.element_pressure import element_pressure_energy, make_element_pressure
from rheotwin.particles.forces.elements import add_forces_at_rest
from rheotwin.particles.forces.global_pressure import (
    add_global_pressure,
    body_volumes,
    global_pressure_energy,
    global_pressure_rate,
    make_global_pressure,
)
from rheotwin.tensors import padded
from rheotwin.validation.checks.presses import PRESSED, PRESSURES, imprint
from rheotwin.validation.checks.running import block, put, truss

STIFFNESS, DAMPING = 3.0, 0.7
GRIDS: dict[str, Callable[..., Any]] = {"triangle": triangle_grid, "quad": quad_grid, "tet": tet_grid, "hex": hex_grid}


@pytest.fixture(params=list(GRIDS))
def crumpled(request: pytest.FixtureRequest) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return a small block of every kind of cell, its rest and crumpled positions, and velocities (N, 3)."""
    dimension = 2 if request.param in ("triangle", "quad") else 3
    mesh = GRIDS[request.param](*([np.arange(3.0), np.arange(4.0), np.arange(3.0)][:dimension]))
    rng = np.random.default_rng(8)
    rest, spread = padded(mesh.p.T), padded(np.ones(mesh.p.T.shape))
    x = 5.0 + rest + 0.2 * spread * rng.standard_normal(rest.shape)
    return mesh, rest, x, spread * rng.standard_normal(rest.shape)


def element_volume(cells: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Signed measure of simplices in plain numpy, also for complex positions."""
    vectors = (x[cells] - x[cells][:, :1])[:, 1:]
    if cells.shape[1] == 3:
        return 0.5 * (vectors[:, 0, 0] * vectors[:, 1, 1] - vectors[:, 0, 1] * vectors[:, 1, 0])
    return np.sum(vectors[:, 0] * np.cross(vectors[:, 1], vectors[:, 2]), axis=1) / 6.0


def test_global_force_is_pressure_times_volume_gradient(crumpled: tuple[Any, ...]) -> None:
    """Force, moment, power and energy; dV/dx by differences of a volume that is at most cubic in each coordinate."""
    mesh, rest, x, v = crumpled
    pressure = make_global_pressure(rest, [boundary_faces(mesh)], stiffness=STIFFNESS, damping=DAMPING)
    volume = body_volumes(pressure, x)[0]
    assert body_volumes(pressure, rest)[0] == pytest.approx(12.0 if rest[:, 2].any() else 6.0, rel=1e-14)
    crumpled_mesh = build_mesh(cell_kind(mesh), x.T[: mesh.p.shape[0]], mesh.t)
    assert volume == pytest.approx(element_measures(crumpled_mesh).sum(), rel=1e-12)
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        both = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[index] += sign * 0.5
            both.append(body_volumes(pressure, moved)[0])
        gradient[index] = both[0] - both[1]
    flow = np.sum(gradient * v)
    p = -STIFFNESS * (volume - pressure.rest[0]) - DAMPING * flow
    force = np.zeros_like(x)
    add_global_pressure(pressure, x, v, force)
    scale = np.abs(force).max()
    np.testing.assert_allclose(force, p * gradient, atol=1e-11 * scale)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-14 * scale)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-12 * scale)
    stored = STIFFNESS * (volume - pressure.rest[0])
    assert np.sum(force * v) == pytest.approx(-stored * flow - DAMPING * flow**2, rel=1e-12)
    assert global_pressure_energy(pressure, x) == pytest.approx(stored**2 / (2.0 * STIFFNESS), rel=1e-12)
    masses, free = np.random.default_rng(1).uniform(1.0, 2.0, len(x)), np.ones(x.shape, bool)
    rate = global_pressure_rate(pressure, x, masses, free)
    assert rate == pytest.approx(np.sum(gradient**2 / masses[:, None]), rel=1e-11)
    free[::2] = False
    assert global_pressure_rate(pressure, x, masses, free) == pytest.approx(
        np.sum((gradient**2 / masses[:, None])[1::2]), rel=1e-11
    )


def test_each_body_has_its_own_pressure(crumpled: tuple[Any, ...]) -> None:
    mesh, rest, x, v = crumpled
    faces, count = boundary_faces(mesh), len(rest)
    one = make_global_pressure(rest, [faces], stiffness=STIFFNESS, damping=DAMPING)
    two = make_global_pressure(
        np.concatenate([rest, rest]), [faces, faces + count], stiffness=STIFFNESS, damping=DAMPING
    )
    alone, both = np.zeros_like(x), np.zeros((2 * count, 3))
    add_global_pressure(one, x, v, alone)
    add_global_pressure(two, np.concatenate([x, rest]), np.concatenate([v, 0.0 * v]), both)
    np.testing.assert_allclose(both[:count], alone, rtol=1e-13)
    assert np.abs(both[count:]).max() < 1e-12


@pytest.mark.parametrize("kind", ["triangle", "tet"])
def test_element_force_and_work(kind: str) -> None:
    """P dS/dx with P = K (S0 - S) - C Sdot: gradients and rates by a complex step through another formula."""
    dimension = 2 if kind == "triangle" else 3
    mesh = GRIDS[kind](*[np.arange(3.0)] * dimension)
    rng = np.random.default_rng(4)
    rest, spread = padded(mesh.p.T), padded(np.ones(mesh.p.T.shape))
    x, v = rest + 0.2 * spread * rng.standard_normal(rest.shape), spread * rng.standard_normal(rest.shape)
    cells = mesh.t.T.astype(np.int64)
    pressure = make_element_pressure(rest, cells, stiffness=STIFFNESS, damping=DAMPING)
    volume, rate = element_volume(cells, x), element_volume(cells, x + 1e-30j * v).imag / 1e-30
    change = volume - element_volume(cells, rest)
    p = -STIFFNESS * change - DAMPING * rate
    expected = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.astype(complex)
        moved[index] += 1e-30j
        expected[index] = np.sum(p * element_volume(cells, moved).imag / 1e-30)
    force = np.zeros_like(x)
    add_forces_at_rest(linear_cells(pressure, None), x, v, force)
    scale = np.abs(force).max()
    np.testing.assert_allclose(force, expected, atol=1e-13 * scale)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-14 * scale)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-13 * scale)
    work = np.sum(-STIFFNESS * change * rate - DAMPING * rate**2)
    assert np.sum(force * v) == pytest.approx(work, rel=1e-12)
    assert element_pressure_energy(pressure, x) == pytest.approx(0.5 * STIFFNESS * np.sum(change**2), rel=1e-12)


def test_lines_of_action_meet_in_the_orthocentre() -> None:
    """E10: not in the circumcentre."""
    rest = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.4, 1.1, 0.0]])
    pressure = make_element_pressure(rest, np.array([[0, 1, 2]]), stiffness=1.0, damping=0.0)
    x, force = 1.3 * rest, np.zeros((3, 3))
    add_forces_at_rest(linear_cells(pressure, None), x, np.zeros_like(x), force)
    orthocentre = np.array([x[2, 0], x[2, 0] * (x[1, 0] - x[2, 0]) / x[2, 1], 0.0])
    circumcentre = (x.sum(axis=0) - orthocentre) / 2.0
    assert np.abs(np.cross(x - orthocentre, force)).max() < 1e-15
    assert np.abs(np.cross(x - circumcentre, force)).max() > 0.1


def test_a_kept_volume_is_damped_and_not_fed() -> None:
    """E8: with -c Vdot a breathing body comes to rest; what breathes is the volume, so only c damps it."""
    problem = block(2, {"model": "elastic", "young": 1e-6, "poisson": 0.25})
    swing = []
    for damping in (0.0, 2.0):
        options = {"global_pressure": 30.0, "global_pressure_damping": damping}
        simulation = truss(problem, volume_term=False, step=0.002, **options)
        put(simulation, positions=1.01 * problem.points)
        energies = [sum(simulation.energy().values())]
        simulation.advance(1.0, 10**9)
        swing.append(sum(simulation.energy().values()) / energies[0])
    assert swing[0] == pytest.approx(1.0, abs=0.1)
    assert swing[1] < 0.01


def test_pressures_show_in_the_stress() -> None:
    """A uniformly stretched body: the global pressure adds K (V - V0), the element pressure K (S - S0) of its cells."""
    for dimension, cell_measure in ((2, 0.5), (3, None)):
        thin = {"thickness": 0.1} if dimension == 2 else {}
        problem = block(dimension, {"model": "elastic", "young": 1.0, "poisson": 0.25}, **thin)
        rest_volume = float(np.prod([3.0, 2.0, 2.0][:dimension]))
        stress = {}
        for name, options in (
            ("plain", {}),
            ("global", {"global_pressure": 5.0}),
            ("element", {"element_pressure": 5.0}),
        ):
            simulation = truss(problem, **options)
            put(simulation, positions=problem.points * 1.1)
            stress[name] = simulation.fields()["stress"]
        growth = 1.1**dimension - 1.0
        for axis in range(dimension):
            added = stress["global"][:, axis] - stress["plain"][:, axis]
            np.testing.assert_allclose(added, 5.0 * growth * rest_volume, rtol=1e-12)
            if cell_measure is not None:
                added = stress["element"][:, axis] - stress["plain"][:, axis]
                np.testing.assert_allclose(added, 5.0 * growth * cell_measure, rtol=1e-12)
        np.testing.assert_allclose(stress["global"][:, 3:], stress["plain"][:, 3:], atol=1e-13)


@pytest.mark.parametrize("law", ["three-element", "Maxwell"])
def test_imprints_stay_with_a_global_pressure_and_fade_with_one_per_element(law: str) -> None:
    """Spec section 5, warning: a pressure in each element remembers the shape."""
    for name in ("", "global, "):
        early, late = imprint(PRESSED[law], PRESSURES[name])
        assert late == pytest.approx(early, abs=0.01)
    early, late = imprint(PRESSED[law], PRESSURES["areal, "])
    assert late < early - 0.03
