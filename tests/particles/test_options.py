"""The truss's options, and how it says no: to options, to bodies that cannot move sensibly, to runs that diverge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import EXIT_DIVERGED, Diverged, RheotwinError
from rheotwin.loop import check_finite, run_loop
from rheotwin.meshing import build_mesh
from rheotwin.observers import Watched
from rheotwin.particles import TrussSolver
from rheotwin.particles.network import build_network, check_network, check_rest_shape
from rheotwin.particles.shape_keeping import ShapeOptions
from rheotwin.problem import Problem
from rheotwin.schedule import plan
from rheotwin.solver import check_capabilities, checked_options
from rheotwin.validation.checks.running import EQUAL_RATIO, FLOOR, block, path, put, run_to, side, truss

ELASTIC = {"model": "elastic", "young": 12.0, "poisson": 0.35}
LAW = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}


def refusal(call: Callable[[], Any], *parts: str) -> None:
    with pytest.raises(RheotwinError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence


# ---- steps and volume springs ------------------------------------------------------------------------------------


def test_a_step_above_the_stable_one_is_refused_with_advice() -> None:
    problem = block(2, ELASTIC)
    stable = truss(problem).stable_step
    advice = f"above the stable step of {stable:.6g} s", f"choose at most {0.9 * stable:.3g}", "substep"
    bound = "kappa lambda h^2/m + 2 eta lambda h/m < 4"
    refusal(lambda: truss(problem, step=1.1 * stable), "solvers.truss.step", f"{1.1 * stable:.6g} s", bound, *advice)
    assert truss(problem, step=0.9 * stable).step_size <= 0.9 * stable
    assert 0.2 * stable < truss(problem, step=50.0 * stable, unstable="substep", safety=0.4).step_size <= 0.4 * stable


def test_default_step_is_a_share_of_the_stable_one_that_meets_the_output_times() -> None:
    problem = block(2, ELASTIC, duration=3.0, output={"interval": 0.7, "probe_interval": 0.25})
    for safety in (0.5, 0.2, 1.0):
        simulation = truss(problem, safety=safety)
        assert simulation.step_size <= safety * simulation.stable_step
        for time in (0.25, 0.7, 3.0):
            steps = time / simulation.step_size
            assert steps == pytest.approx(round(steps), abs=1e-9)
        run_to(simulation, 0.7)
        assert simulation.time == 0.7


def test_advance_takes_no_more_steps_than_asked() -> None:
    simulation = truss(block(2, ELASTIC))
    simulation.advance(1.0, 7)
    assert simulation.step_count == 7
    simulation.advance(0.0, 7)
    assert simulation.step_count == 7


def test_without_volume_springs_poissons_ratio_is_tied_to_one_quarter(equilateral: dict[str, Any]) -> None:
    """Springs alone keep Young's modulus and take nu = 1/4: lambda = mu = E/2.5, an exact fit on equilateral cells."""
    problem = block(2, ELASTIC, equilateral)
    found = [truss(problem, volume_term=term).statistics() for term in (True, False)]
    assert [each["volume_cells"] for each in found] == [60, 0]
    exact, misfit = (each["material_match"]["block"]["stiffness_misfit"] for each in found)
    assert exact < 1e-8
    lame, shear, both = 0.35 / (1.35 * 0.3), 0.5 / 1.35, 1.0 / 2.5
    norm = 2 * (lame + 2 * shear) ** 2 + 2 * lame**2 + 4 * shear**2
    gap = 2 * (lame + 2 * shear - 3 * both) ** 2 + 2 * (lame - both) ** 2 + 4 * (shear - both) ** 2
    assert misfit == pytest.approx(np.sqrt(gap / norm), abs=1e-8)
    assert misfit > 0.2


def test_edges_with_numbers_of_their_own_have_no_volume_springs() -> None:
    problem = block(2, ELASTIC)
    with pytest.raises(RheotwinError, match=r'match = "edge".*leave `volume_term` out'):
        truss(problem, match="edge", volume_term=True)
    for options in ({}, {"volume_term": False}):
        statistics = truss(problem, match="edge", **options).statistics()
        assert statistics["volume_cells"] == 0
        assert "without volume springs" in statistics["material_match"]["block"]["note"]


# ---- names and shape-keeping forces ------------------------------------------------------------------------------


def test_unknown_options_are_listed() -> None:
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.stepp.*did you mean 'step'"):
        checked_options(TrussSolver(), {"stepp": 0.1})
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.safety"):
        checked_options(TrussSolver(), {"safety": 1.5})


@pytest.mark.parametrize("name", EQUAL_RATIO)
def test_the_truss_can_run_every_law_and_dimension(name: str) -> None:
    for dimension in (1, 2, 3):
        check_capabilities(TrussSolver(), block(dimension, EQUAL_RATIO[name]))


def test_shape_keeping_is_off_by_default() -> None:
    assert not ShapeOptions().keeps_shape
    pressures = [f"{kind}_pressure{tail}" for kind in ("global", "element") for tail in ("", "_damping")]
    for key in ("topology_stiffness", *pressures):
        assert ShapeOptions.model_validate({key: 1.0}).keeps_shape
    assert ShapeOptions(local_volume=True).keeps_shape


@pytest.mark.parametrize(
    ("dimension", "cell", "options", "words"),
    [
        (3, "hex", {"topology_stiffness": 1.0}, r"\.topology_stiffness: it needs triangle or tet cells.* hex"),
        (3, "hex", {"element_pressure": 1.0}, r"\.element_pressure: it needs triangle or tet cells.* hex"),
        (3, "tet", {"local_volume": True}, r"\.local_volume: it needs quad or hex cells.* tet"),
        (1, "line", {"global_pressure": 1.0}, "lines have no shape to keep"),
        (3, "hex", {"topology_distance": 0.1}, "`topology_distance` has no effect without `topology_stiffness`"),
        (3, "hex", {"global_pressure": -1.0}, r"\.global_pressure"),
    ],
)
def test_what_cells_cannot_have_is_refused(dimension: int, cell: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RheotwinError, match=rf"solvers\.truss.*{words}"):
        truss(block(dimension, ELASTIC, {"cell": cell}), **options)


# ---- bodies that cannot move sensibly ------------------------------------------------------------------------------

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


def test_held_particle_needs_no_neighbours() -> None:
    problem = with_mesh(FAR)
    problem.owners[4] = 0
    check_network(problem, build_network(problem, volume_term=False))


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_particle_without_mass(mass: float) -> None:
    masses = np.array([1.0, 1.0, mass, 1.0])
    refusal(lambda: replace(with_mesh(), masses=masses), "bodies.block", "node 2 has no mass", "density")


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


@pytest.mark.parametrize("key", ["young", "voigt_viscosity", "series_viscosity"])
def test_negative_parameters_never_reach_the_particles(key: str) -> None:
    with pytest.raises(RheotwinError, match=rf"laws\.stuff\.{key}"):
        block(2, {**LAW, key: -1.0})


# ---- runs that diverge ---------------------------------------------------------------------------------------------


@pytest.fixture
def torn() -> Watched:
    """A block whose top is driven away by 1e5 body lengths within a tenth of a second."""
    grip = side("top", motion=path([0.3, 0.4], [[0.0, 0.0], [0.0, 4e5]]))
    problem = block(2, ELASTIC, supports=FLOOR | {"grip": grip}, output={"interval": 0.05})
    return Watched(problem, truss(problem, step=0.001), 1.0)


def test_divergence_is_stopped_with_time_place_and_advice(torn: Watched) -> None:
    outcome = run_loop(torn, plan(torn.problem.scene), [])
    assert outcome.exit_code == EXIT_DIVERGED
    assert outcome.status == "diverged"
    assert 0.3 < outcome.time < 0.4 + 128 * torn.simulation.step_size
    for part in ("diverged at t =", "body 'block' at node", "reduce the step", "stable below about"):
        assert part in outcome.message


def test_divergence_names_the_node(torn: Watched) -> None:
    run_to(torn.simulation, 0.25)
    check_finite(torn)
    run_to(torn.simulation, 1.0)
    assert torn.simulation.time < 1.0
    with pytest.raises(Diverged) as caught:
        check_finite(torn)
    assert caught.value.body == "block"
    offset = np.abs(torn.simulation.positions - torn.problem.points).max(axis=1)
    assert not offset[caught.value.node] <= 100.0 * torn.problem.extent
    assert caught.value.position == tuple(torn.problem.points[caught.value.node])
    assert caught.value.time == torn.simulation.time


def test_numbers_that_are_not_numbers_count_as_diverged() -> None:
    problem = block(3, ELASTIC)
    simulation = truss(problem)
    put(simulation, velocities=np.full((1, 3), np.nan))
    run_to(simulation, 1.0)
    assert simulation.step_count < 130
    with pytest.raises(Diverged):
        check_finite(Watched(problem, simulation, 1.0))
