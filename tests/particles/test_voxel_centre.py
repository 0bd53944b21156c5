"""The local volume condition of box cells: half elements to the centre of each voxel (calibration M2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.meshing import hex_grid, quad_grid
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.voxel_centre import add_centre_forces, half_matrix, half_vectors
from rheotwin.tensors import padded
from rheotwin.validation.checks.running import block, put, truss

THREE = {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0, "poisson": 0.25}


def test_numbers_of_elements_of_a_body() -> None:
    problem = block(3, THREE, body={"cell": "hex", "size": [5.0, 3.0, 5.0], "cells": [5, 3, 5]})
    assert truss(problem).statistics()["edges"] == 1208
    statistics = truss(problem, local_volume=True).statistics()
    assert statistics["edges"] + statistics["half_elements"] == 1508
    flat = block(2, THREE, body={"cell": "quad"})
    statistics = truss(flat, local_volume=True).statistics()
    assert (statistics["edges"], statistics["half_elements"]) == (3 * 3 + 2 * 4, 6 * 4)


@pytest.fixture(params=["quad", "hex"])
def voxels(request: pytest.FixtureRequest) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a small grid, crumpled positions and velocities (N, 3)."""
    grid = quad_grid if request.param == "quad" else hex_grid
    dimension = 2 if request.param == "quad" else 3
    mesh = grid(*[np.arange(3.0)] * dimension)
    rng, spread = np.random.default_rng(5), padded(np.ones(mesh.p.T.shape))
    rest = padded(mesh.p.T)
    return mesh, rest + 0.1 * spread * rng.standard_normal(rest.shape), spread * rng.standard_normal(rest.shape)


def halves(mesh: Any, stiffness: np.ndarray, viscosity: np.ndarray, arms: int) -> Elements:
    cells = mesh.t.T.astype(np.int64)
    rest = np.linalg.norm(half_vectors(cells, padded(mesh.p.T)), axis=1)
    shape = (arms, cells.size)
    return Elements(cells, rest, stiffness, viscosity, np.full(shape, 2.0), np.full(shape, 0.9), np.full(shape, 0.07))


def test_forces_of_half_elements(voxels: tuple[Any, ...]) -> None:
    """The centre is the mean of the corners and moves with their mean velocity; each takes its part of the reaction."""
    mesh, x, v = voxels
    rng = np.random.default_rng(0)
    cells, size = mesh.t.T.astype(np.int64), mesh.t.size
    elements = halves(mesh, rng.uniform(1.0, 2.0, size), rng.uniform(0.1, 0.2, size), 1)
    z = rng.standard_normal((1, size))
    expected, after = np.zeros_like(x), z.copy()
    for c, cell in enumerate(cells):
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
    force = np.zeros_like(x)
    add_centre_forces(elements, x, v, z, force)
    np.testing.assert_allclose(z, after, atol=1e-14)
    scale = np.abs(force).max()
    np.testing.assert_allclose(force, expected, atol=1e-13 * scale)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-13 * scale)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-13 * scale)


def test_power_is_what_is_stored_and_dissipated(voxels: tuple[Any, ...]) -> None:
    """F.v = -sum (k (l - l0) + eta ldot) ldot, with ldot by a complex step."""
    mesh, x, v = voxels
    cells, size = mesh.t.T.astype(np.int64), mesh.t.size
    elements = halves(mesh, np.full(size, 1.5), np.full(size, 0.3), 0)
    force = np.zeros_like(x)
    add_centre_forces(elements, x, v, np.zeros((0, size)), force)
    lengths = np.sqrt(np.sum(half_vectors(cells, x + 1e-30j * v) ** 2, axis=1))
    rate = lengths.imag / 1e-30
    work = -np.sum((1.5 * (lengths.real - elements.rest) + 0.3 * rate) * rate)
    assert np.sum(force * v) == pytest.approx(work, rel=1e-12)


def test_matrix_is_the_force_of_small_motions(voxels: tuple[Any, ...]) -> None:
    mesh, _, v = voxels
    rest, dimension, size = padded(mesh.p.T), mesh.p.shape[0], mesh.t.size
    viscosity = np.random.default_rng(1).uniform(1.0, 2.0, size)
    force = np.zeros_like(rest)
    add_centre_forces(halves(mesh, np.zeros(size), viscosity, 0), rest, v, np.zeros((0, size)), force)
    matrix = half_matrix(mesh.t.T.astype(np.int64), rest, viscosity, dimension)
    expected = -(matrix @ v[:, :dimension].ravel()).reshape(-1, dimension)
    np.testing.assert_allclose(force[:, :dimension], expected, atol=1e-13)


@pytest.mark.parametrize("cell", ["quad", "hex"])
def test_scale_two_keeps_uniform_strain(cell: str) -> None:
    """Halves of twice the diagonal's constants answer a uniform strain as the diagonal does: force, energy, stress."""
    dimension = 2 if cell == "quad" else 3
    problem = block(dimension, THREE, body={"cell": cell})
    strain = np.array([[1.1, 0.05, 0.0], [0.02, 0.95, 0.0], [0.0, 0.1, 1.03]])[:dimension, :dimension]
    found = []
    for options in ({}, {"local_volume": True, "local_volume_scale": 2.0}, {"local_volume": True}):
        simulation = truss(problem, step=1e-3, **options)
        put(simulation, positions=problem.points @ strain.T, velocities=problem.points @ (strain - 1.0).T)
        simulation.advance(simulation.step_size, 1)
        found.append(
            (simulation.fields()["stress"], simulation.fields()["memory_stress"], simulation.energy()["stored"])
        )
    for ours, lattice in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, lattice, atol=1e-11 * np.abs(lattice).max())
    assert np.abs(found[2][0] - found[0][0]).max() > 0.01 * np.abs(found[0][0]).max()
