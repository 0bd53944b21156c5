"""Global and element pressure, half elements of voxels: p dV/dx, momenta, work; and what they do to bodies."""

from typing import Any

import numpy as np
import pytest

from rheotwin import meshing
from rheotwin.particles.forces.cells import element_pressure_energy, linear_cells, make_element_pressure
from rheotwin.particles.forces.elements import Elements, add_forces_at_rest
from rheotwin.particles.forces.global_pressure import (
    add_global_pressure,
    body_volumes,
    global_pressure_energy,
    global_pressure_rate,
    make_global_pressure,
)
from rheotwin.particles.forces.voxel_centre import add_centre_forces, half_matrix, half_vectors
from rheotwin.tensors import padded
from rheotwin.validation.checks.running import block, put, run_to, truss

K, C = 3.0, 0.7
GRIDS: dict[str, Any] = {
    "triangle": meshing.triangle_grid,
    "quad": meshing.quad_grid,
    "tet": meshing.tet_grid,
    "hex": meshing.hex_grid,
}


def crumpled(kind: str) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return a small block of cells, its rest and crumpled positions, and velocities (N, 3)."""
    dimension = 2 if kind in ("triangle", "quad") else 3
    mesh = GRIDS[kind](*[np.arange(3.0), np.arange(4.0), np.arange(3.0)][:dimension])
    rng = np.random.default_rng(8)
    rest, spread = padded(mesh.p.T), padded(np.ones(mesh.p.T.shape))
    x = 5.0 + rest + 0.2 * spread * rng.standard_normal(rest.shape)
    return mesh, rest, x, spread * rng.standard_normal(rest.shape)


def same_forces(force: np.ndarray, expected: np.ndarray, x: np.ndarray, error: float) -> None:
    scale = np.abs(force).max()
    np.testing.assert_allclose(force, expected, atol=error * scale)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-14 * scale)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-13 * scale)


@pytest.mark.parametrize("kind", GRIDS)
def test_global_force_is_pressure_times_volume_gradient(kind: str) -> None:
    """Force, moment, energy; dV/dx by differences of a volume that is at most cubic in each coordinate."""
    mesh, rest, x, v = crumpled(kind)
    pressure = make_global_pressure(rest, [meshing.boundary_faces(mesh)], stiffness=K, damping=C)
    volume = body_volumes(pressure, x)[0]
    assert body_volumes(pressure, rest)[0] == pytest.approx(12.0 if rest[:, 2].any() else 6.0, rel=1e-14)
    crumpled_mesh = meshing.build_mesh(meshing.cell_kind(mesh), x.T[: mesh.p.shape[0]], mesh.t)
    assert volume == pytest.approx(meshing.element_measures(crumpled_mesh).sum(), rel=1e-12)
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 0.5
        gradient[index] = body_volumes(pressure, x + step)[0] - body_volumes(pressure, x - step)[0]
    stored, force = K * (volume - pressure.rest[0]), np.zeros_like(x)
    add_global_pressure(pressure, x, v, force)
    same_forces(force, -(stored + C * np.sum(gradient * v)) * gradient, x, 1e-11)
    assert global_pressure_energy(pressure, x) == pytest.approx(stored**2 / (2.0 * K), rel=1e-12)
    masses, free = np.random.default_rng(1).uniform(1.0, 2.0, len(x)), np.ones(x.shape, bool)
    rates = np.sum(gradient**2 / masses[:, None], axis=1)
    assert global_pressure_rate(pressure, x, masses, free) == pytest.approx(rates.sum(), rel=1e-11)
    free[::2] = False
    assert global_pressure_rate(pressure, x, masses, free) == pytest.approx(rates[1::2].sum(), rel=1e-11)


@pytest.mark.parametrize("kind", ["triangle", "hex"])
def test_each_body_has_its_own_pressure(kind: str) -> None:
    mesh, rest, x, v = crumpled(kind)
    faces, count = meshing.boundary_faces(mesh), len(rest)
    one = make_global_pressure(rest, [faces], stiffness=K, damping=C)
    two = make_global_pressure(np.concatenate([rest, rest]), [faces, faces + count], stiffness=K, damping=C)
    alone, both = np.zeros_like(x), np.zeros((2 * count, 3))
    add_global_pressure(one, x, v, alone)
    add_global_pressure(two, np.concatenate([x, rest]), np.concatenate([v, 0.0 * v]), both)
    np.testing.assert_allclose(both[:count], alone, rtol=1e-13)
    assert np.abs(both[count:]).max() < 1e-12


def element_volume(cells: np.ndarray, x: np.ndarray) -> np.ndarray:
    vectors = (x[cells] - x[cells][:, :1])[:, 1:]
    if cells.shape[1] == 3:
        return 0.5 * (vectors[:, 0, 0] * vectors[:, 1, 1] - vectors[:, 0, 1] * vectors[:, 1, 0])
    return np.sum(vectors[:, 0] * np.cross(vectors[:, 1], vectors[:, 2]), axis=1) / 6.0


@pytest.mark.parametrize("kind", ["triangle", "tet"])
def test_element_force_and_energy(kind: str) -> None:
    """P dS/dx with P = K (S0 - S) - C Sdot: gradients and rates by a complex step through another formula."""
    mesh, rest, x, v = crumpled(kind)
    cells = mesh.t.T.astype(np.int64)
    pressure = make_element_pressure(rest, cells, stiffness=K, damping=C)
    volume, rate = element_volume(cells, x), element_volume(cells, x + 1e-30j * v).imag / 1e-30
    change = volume - element_volume(cells, rest)
    expected, force = np.zeros_like(x), np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.astype(complex)
        moved[index] += 1e-30j
        expected[index] = np.sum(-(K * change + C * rate) * element_volume(cells, moved).imag / 1e-30)
    add_forces_at_rest(linear_cells(pressure, None), x, v, force)
    same_forces(force, expected, x, 1e-13)
    assert element_pressure_energy(pressure, x) == pytest.approx(0.5 * K * np.sum(change**2), rel=1e-12)


def test_a_kept_volume_is_damped_and_not_fed() -> None:
    """E8: with -c Vdot a breathing body comes to rest; what breathes is the volume, so only c damps it."""
    problem = block(2, {"model": "elastic", "young": 1e-6, "poisson": 0.25})
    swing = []
    for damping in (0.0, 2.0):
        options = {"global_pressure": 30.0, "global_pressure_damping": damping}
        simulation = put(truss(problem, volume_term=False, step=0.002, **options), positions=1.01 * problem.points)
        begin = sum(simulation.energy().values())
        run_to(simulation, 1.0)
        swing.append(sum(simulation.energy().values()) / begin)
    assert swing[0] == pytest.approx(1.0, abs=0.1) and swing[1] < 0.01


@pytest.mark.parametrize("dimension", [2, 3])
def test_pressures_show_in_the_stress(dimension: int) -> None:
    """A uniformly stretched body: the global pressure adds K (V - V0), the element pressure K (S - S0) of its cells."""
    thin = {"thickness": 0.1} if dimension == 2 else {}
    problem = block(dimension, {"model": "elastic", "young": 1.0, "poisson": 0.25}, **thin)
    measures, stress = {"global_pressure": problem.masses.sum() / thin.get("thickness", 1.0)}, {}
    if dimension == 2:
        measures["element_pressure"] = 0.5
    for name in ("", *measures):
        simulation = put(truss(problem, **({name: 5.0} if name else {})), positions=problem.points * 1.1)
        stress[name] = simulation.fields()["stress"]
    for name, measure in measures.items():
        added = (stress[name] - stress[""])[:, :dimension]
        np.testing.assert_allclose(added, 5.0 * (1.1**dimension - 1.0) * measure, rtol=1e-12)
        np.testing.assert_allclose(stress[name][:, 3:], stress[""][:, 3:], atol=1e-13)


THREE = {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0, "poisson": 0.25}


def halves(mesh: Any, stiffness: np.ndarray, viscosity: np.ndarray, arms: int) -> Elements:
    cells = mesh.t.T.astype(np.int64)
    rest = np.linalg.norm(half_vectors(cells, padded(mesh.p.T)), axis=1)
    shape = (arms, cells.size)
    return Elements(cells, rest, stiffness, viscosity, np.full(shape, 2.0), np.full(shape, 0.9), np.full(shape, 0.07))


@pytest.mark.parametrize("kind", ["quad", "hex"])
def test_forces_of_half_elements(kind: str) -> None:
    """The centre is the mean of the corners and moves with their mean velocity; each takes its part of the reaction."""
    mesh, _, x, v = crumpled(kind)
    rng, size = np.random.default_rng(0), mesh.t.size
    elements = halves(mesh, rng.uniform(1.0, 2.0, size), rng.uniform(0.1, 0.2, size), 1)
    z = rng.standard_normal((1, size))
    expected, force, after = np.zeros_like(x), np.zeros_like(x), z.copy()
    for c, cell in enumerate(mesh.t.T):
        centre, drift = x[cell].mean(axis=0), v[cell].mean(axis=0)
        for a, node in enumerate(cell):
            half = c * len(cell) + a
            length = np.linalg.norm(centre - x[node])
            e = (centre - x[node]) / length
            rate = (drift - v[node]) @ e
            after[0, half] = 0.9 * z[0, half] + 0.07 * rate
            f = elements.stiffness[half] * (length - elements.rest[half]) + elements.viscosity[half] * rate
            f += 2.0 * after[0, half]
            expected[node] += f * e
            expected[cell] -= f * e / len(cell)
    add_centre_forces(elements, x, v, z, force)
    np.testing.assert_allclose(z, after, atol=1e-14)
    same_forces(force, expected, x, 1e-13)


@pytest.mark.parametrize("kind", ["quad", "hex"])
def test_matrix_is_the_force_of_small_motions(kind: str) -> None:
    mesh, rest, _, v = crumpled(kind)
    dimension, size = mesh.p.shape[0], mesh.t.size
    viscosity, force = np.random.default_rng(1).uniform(1.0, 2.0, size), np.zeros_like(rest)
    add_centre_forces(halves(mesh, np.zeros(size), viscosity, 0), rest, v, np.zeros((0, size)), force)
    matrix = half_matrix(mesh.t.T.astype(np.int64), rest, viscosity, dimension)
    expected = -(matrix @ v[:, :dimension].ravel()).reshape(-1, dimension)
    np.testing.assert_allclose(force[:, :dimension], expected, atol=1e-13)


@pytest.mark.parametrize("cell", ["quad", "hex"])
def test_scale_two_keeps_uniform_strain(cell: str) -> None:
    """Halves of twice the diagonal's constants answer a uniform strain as the diagonal does: force, energy, stress."""
    problem = block(2 if cell == "quad" else 3, THREE, {"cell": cell})
    d = problem.dimension
    strain = np.array([[1.1, 0.05, 0.0], [0.02, 0.95, 0.0], [0.0, 0.1, 1.03]])[:d, :d]
    found = []
    for options in ({}, {"local_volume": True, "local_volume_scale": 2.0}, {"local_volume": True}):
        simulation = truss(problem, step=1e-3, **options)
        put(simulation, positions=problem.points @ strain.T, velocities=problem.points @ (strain - 1.0).T)
        simulation.advance(1e9, 1)
        fields = simulation.fields()
        found.append((fields["stress"], fields["memory_stress"], simulation.energy()["stored"]))
    for ours, lattice in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, lattice, atol=1e-11 * np.abs(lattice).max())
    assert np.abs(found[2][0] - found[0][0]).max() > 0.01 * np.abs(found[0][0]).max()
