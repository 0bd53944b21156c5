"""Distances in lanes are those to the nearest triangle, whatever other lanes hold; volumes and corners are exact."""

import numpy as np
import pytest
import pyvista

from rheotwin.arrays import Array
from rheotwin.meshing import element_measures
from rheotwin.problem import Problem
from rheotwin.validation.calibration.surface import Bodies
from rheotwin.validation.checks.running import EQUAL_RATIO, box_scene, problem_of
from rheotwin.validation.metrics import shape_difference, surface_distance

LAW = EQUAL_RATIO["voigt"]


def body(cell: str = "hex") -> Problem:
    return problem_of(box_scene(LAW, cells=[4, 3, 2], size=[0.4, 0.3, 0.2], cell=cell, density=1.0))


def shapes(problem: Problem, lanes: int = 8, size: float = 0.02) -> Array:
    """Places (3, N, lanes) [m] of a body bent and shaken."""
    chance = np.random.default_rng(0)
    x = problem.points.T[:, :, None] + size * chance.standard_normal((3, len(problem.points), lanes))
    x[2] += np.linspace(0.0, 1.0, lanes) * x[0] ** 2
    return x


def around(problem: Problem, count: int = 400) -> Array:
    return np.random.default_rng(1).uniform(-0.1, 0.5, (count, 3)) * [1.0, 0.8, 0.6]


@pytest.mark.parametrize("cell", ["hex", "tet"])
def test_distances_are_those_to_the_nearest_triangle(cell: str) -> None:
    problem = body(cell)
    bodies, places, points = Bodies(problem), shapes(problem), around(problem)
    found = bodies.distances(bodies.cloud(points, problem.points), places, scale=2.0)
    for lane in range(8):
        faces = np.column_stack([np.full(len(bodies.triangles), 3), bodies.triangles]).ravel()
        wanted = 2.0 * surface_distance(points, pyvista.PolyData(places[..., lane].T.copy(), faces))
        np.testing.assert_allclose(np.abs(found.signed[:, lane]), wanted, rtol=1e-9, atol=1e-12)
        shape = shape_difference([wanted])
        assert found.total[lane] == pytest.approx(shape.total, rel=1e-12)
        assert found.far[lane] == shape.far[0]


def test_a_lane_does_not_know_of_the_others_nor_of_the_reference_shape() -> None:
    problem = body()
    bodies, places, points = Bodies(problem), shapes(problem), around(problem)
    cloud = bodies.cloud(points, problem.points)
    found = bodies.distances(cloud, places)
    for lane in range(8):
        alone = bodies.distances(cloud, places[..., lane : lane + 1])
        assert (alone.signed[:, 0] == found.signed[:, lane]).all()
        assert alone.total[0] == found.total[lane]
    other = bodies.distances(bodies.cloud(points, places[..., 3].T), places)
    assert (np.abs(other.signed) == np.abs(found.signed)).all()


def test_points_outside_are_positive() -> None:
    problem = body()
    points = np.array([[0.2, 0.15, 0.21], [0.2, 0.15, 0.18], [0.5, 0.15, 0.1], [0.03, 0.15, 0.1]])
    bodies = Bodies(problem)
    found = bodies.distances(bodies.cloud(points, problem.points), problem.points.T[..., None])
    np.testing.assert_allclose(found.signed[:, 0], [0.01, -0.02, 0.1, -0.03], atol=1e-12)


@pytest.mark.parametrize("cell", ["hex", "tet"])
def test_volumes_are_those_of_the_cells_and_a_turned_cell_is_seen(cell: str) -> None:
    problem = body(cell)
    places = shapes(problem, size=0.005)
    places[:, :, 7] = problem.points.T
    corner = np.argmax(problem.points.sum(axis=1))
    places[:, corner, 7] -= 0.3
    volumes, least = Bodies(problem).sizes(places)
    mesh = problem.bodies[0].mesh
    for lane in range(8):
        moved = type(mesh)(places[..., lane].copy(), mesh.t)
        assert volumes[lane] == pytest.approx(element_measures(moved).sum(), rel=1e-12)
    assert (least[:7] > 0.0).all()
    assert least[7] < 0.0


@pytest.mark.parametrize("cell", ["quad", "triangle"])
def test_plane_bodies_have_an_outline(cell: str) -> None:
    problem = problem_of(box_scene(LAW, cells=[4, 2], size=[0.4, 0.2], cell=cell, density=1.0, thickness=0.5))
    places = np.zeros((3, len(problem.points), 2))
    places[:2] = problem.points.T[..., None]
    places[0, :, 1] *= 1.5
    bodies = Bodies(problem)
    volumes, least = bodies.sizes(places)
    np.testing.assert_allclose(volumes, [0.04, 0.06])
    assert (least > 0.0).all()
    points = np.array([[0.5, 0.1, 0.0], [0.2, 0.3, 0.0]])
    found = bodies.distances(bodies.cloud(points, places[..., 0].T), places)
    np.testing.assert_allclose(found.signed, [[0.1, 0.1], [0.1, 0.1]], atol=1e-12)
    np.testing.assert_allclose(found.total, [0.2, 0.2])


def test_points_beyond_edges_and_corners_are_outside() -> None:
    problem = body()
    bodies, points = Bodies(problem), around(problem, 4000)
    for places in (np.repeat(problem.points.T[:, :, None], 8, axis=2), shapes(problem, size=0.004)):
        found = bodies.distances(bodies.cloud(points, problem.points), places)
        for lane in (0, 7):
            faces = np.column_stack([np.full(len(bodies.triangles), 3), bodies.triangles]).ravel()
            surface = pyvista.PolyData(places[..., lane].T.copy(), faces)
            wanted = pyvista.PolyData(points).compute_implicit_distance(surface)["implicit_distance"]
            told = np.abs(wanted) > 1e-9
            assert (np.sign(found.signed[told, lane]) == np.sign(wanted[told])).all()
