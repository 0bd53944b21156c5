"""The truss's options, and how it says no: to options, to bodies that cannot move sensibly, to runs that diverge."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import build_mesh
from rheotwin.particles.network import build_network, check_network, check_rest_shape
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import block, put, run_to, truss

ELASTIC = {"model": "elastic", "young": 12.0, "poisson": 0.35}
LAW = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}


def refusal(call: Callable[[], Any], *parts: str) -> None:
    with pytest.raises(RheotwinError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence


def test_steps_too_long_are_refused_and_default_ones_meet_output_times() -> None:
    problem = block(2, ELASTIC)
    stable = truss(problem).stable_step
    advice = f"above the stable step of {stable:.6g} s", f"choose at most {0.9 * stable:.3g}", "substep"
    bound = "kappa lambda h^2/m + 2 eta lambda h/m < 4"
    refusal(lambda: truss(problem, step=1.1 * stable), "solvers.truss.step", f"{1.1 * stable:.6g} s", bound, *advice)
    assert truss(problem, step=0.9 * stable).step_size <= 0.9 * stable
    assert 0.2 * stable < truss(problem, step=50.0 * stable, unstable="substep", safety=0.4).step_size <= 0.4 * stable
    problem = block(2, ELASTIC, duration=3.0, output={"interval": 0.7, "probe_interval": 0.25})
    for safety in (0.5, 0.2, 1.0):
        simulation = truss(problem, safety=safety)
        assert simulation.step_size <= safety * simulation.stable_step
        for time in (0.25, 0.7, 3.0):
            steps = time / simulation.step_size
            assert steps == pytest.approx(round(steps), abs=1e-9)
        run_to(simulation, 0.7)
        assert simulation.time == 0.7
    simulation = truss(block(2, ELASTIC))
    simulation.advance(1.0, 7)
    assert simulation.step_count == 7
    simulation.advance(0.0, 7)
    assert simulation.step_count == 7


def test_volume_springs_hold_poissons_ratio_and_edges_with_numbers_have_none(equilateral: dict[str, Any]) -> None:
    """Springs alone keep Young's modulus and take nu = 1/4: lambda = mu = E/2.5, an exact fit on equilateral cells."""
    problem = block(2, ELASTIC, equilateral)
    found = [truss(problem, volume_term=term).statistics() for term in (True, False)]
    assert [each["volume_cells"] for each in found] == [60, 0]
    exact, misfit = (each["material_match"]["block"]["stiffness_misfit"] for each in found)
    assert exact < 1e-8
    lame, shear, both = 0.35 / (1.35 * 0.3), 0.5 / 1.35, 1.0 / 2.5
    norm = 2 * (lame + 2 * shear) ** 2 + 2 * lame**2 + 4 * shear**2
    gap = 2 * (lame + 2 * shear - 3 * both) ** 2 + 2 * (lame - both) ** 2 + 4 * (shear - both) ** 2
    assert misfit == pytest.approx(np.sqrt(gap / norm), abs=1e-8) and misfit > 0.2
    problem = block(2, ELASTIC)
    with pytest.raises(RheotwinError, match=r'match = "edge".*leave `volume_term` out'):
        truss(problem, match="edge", volume_term=True)
    for options in ({}, {"volume_term": False}):
        statistics = truss(problem, match="edge", **options).statistics()
        assert statistics["volume_cells"] == 0
        assert "without volume springs" in statistics["material_match"]["block"]["note"]


@pytest.mark.parametrize(
    ("dimension", "cell", "options", "words"),
    [
        (3, "hex", {"topology_stiffness": 1.0}, r"\.topology_stiffness: it needs triangle or tet cells.* hex"),
        (3, "hex", {"element_pressure": 1.0}, r"\.element_pressure: it needs triangle or tet cells.* hex"),
        (3, "tet", {"local_volume": True}, r"\.local_volume: it needs quad or hex cells.* tet"),
        (1, "line", {"global_pressure": 1.0}, "lines have no shape to keep"),
        (3, "hex", {"topology_distance": 0.1}, "`topology_distance` has no effect without `topology_stiffness`"),
        (3, "tet", {"match": "edge", "springs": "edges"}, r"\.springs: tet cells have edges only"),
        (3, "hex", {"springs": "edges"}, "fewer springs than all cannot match a law"),
        (3, "hex", {"global_pressure": -1.0}, r"\.global_pressure"),
    ],
)
def test_what_cells_cannot_have_is_refused(dimension: int, cell: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RheotwinError, match=rf"solvers\.truss.*{words}"):
        truss(block(dimension, ELASTIC, {"cell": cell}), **options)


@pytest.mark.parametrize(("springs", "cube", "square"), [("edges", 12, 4), ("edges+face", 24, 6)])
def test_fewer_springs_are_those_of_edges_and_faces_in_every_kernel(springs: str, cube: int, square: int) -> None:
    for dimension, cell, expected in ((3, "hex", cube), (2, "quad", square)):
        one = block(dimension, ELASTIC, {"cell": cell, "cells": [1] * dimension})
        assert truss(one, match="edge", springs=springs).statistics()["edges"] == expected
    problem = block(3, ELASTIC, {"cell": "hex"})
    shaken = problem.points + 0.05 * np.random.default_rng(2).standard_normal(problem.points.shape)
    found = []
    for kernel in ("structured", "unstructured", "general"):
        simulation = put(truss(problem, match="edge", springs=springs, kernel=kernel), positions=shaken)
        simulation.advance(1e9, 30)
        found.append(simulation.positions)
    np.testing.assert_allclose(found[0], found[2], atol=1e-13)
    np.testing.assert_allclose(found[1], found[2], atol=1e-13)


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
FAR = np.vstack([SQUARE, [[5.0, 5.0]]])


def with_mesh(points: np.ndarray = SQUARE, inverted: bool = False) -> Problem:
    """Return a problem whose mesh is changed after every check of the scene."""
    problem = block(2, LAW, {"size": [1.0, 1.0], "cells": [1, 1]})
    mesh = build_mesh("triangle", points.T, np.array([[0, 1, 2], [0, 2, 3]]).T)
    if inverted:
        cells = mesh.t.copy()
        cells[[1, 2], 1] = cells[[2, 1], 1]
        mesh = replace(mesh, t=cells, sort_t=False)
    body = replace(problem.bodies[0], mesh=mesh)
    return replace(problem, bodies=(body,), points=points, masses=np.ones(len(points)))


def test_meshes_that_cannot_move() -> None:
    apart = "edge between nodes 1 and 2 has no length", "merge"
    refusal(lambda: truss(with_mesh(SQUARE[[0, 2, 2, 3]])), "bodies.block", *apart)
    refusal(lambda: truss(with_mesh(inverted=True)), "bodies.block", "triangle element 1", "inverted")
    refusal(lambda: truss(with_mesh(FAR)), "bodies.block", "node 4 has no neighbours", "connect")
    problem = with_mesh(FAR)
    problem.owners[4] = 0
    check_network(problem, build_network(problem, volume_term=False))


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("stiffness", "stiffness"),
        ("viscosity", "viscosity"),
        ("arm_stiffness", "kappa = B^2 k"),
        ("arm_rate", "decay rate (A)"),
    ],
)
def test_constants_that_feed_energy(field: str, words: str) -> None:
    problem = with_mesh()
    network = build_network(problem, volume_term=False)
    check_rest_shape(problem)
    check_network(problem, network)
    values = getattr(network.edge_constants, field).copy()
    values[..., 3] = -0.25
    broken = replace(network, edge_constants=replace(network.edge_constants, **{field: values}))
    refusal(lambda: check_network(problem, broken), "bodies.block", "edge 3", words, "-0.25", "not negative")
