"""Hanging particles: forces and balances in closed form, and a coarse-fine body that does not tear."""

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.particles.fixed_point import FixedPointSolver
from rheotwin.particles.forces.particle_on_edge import (
    ParticlesOnEdges,
    add_particle_on_edge_forces,
    gaps,
    tie_energy,
    tie_matrix,
)
from rheotwin.particles.network import build_network
from rheotwin.solver import check_capabilities
from rheotwin.validation.checks.running import HELD, block, path, put, run_to, side, truss

ELASTIC = {"model": "elastic", "young": 100.0, "poisson": 0.25}
VOIGT = {"model": "voigt", "young": 100.0, "poisson": 0.25, "viscosity": 20.0}
STRIP = [{"x": [1.0, 3.0]}]
GRADED = {"size": [4.0, 2.0], "cells": [4, 2], "finer": STRIP}


def ties(stiffness: float, damping: float) -> ParticlesOnEdges:
    return ParticlesOnEdges(
        particle=np.array([4, 5]),
        ends=np.array([[0, 1], [2, 3]]),
        ratio=np.array([0.25, 0.6]),
        stiffness=np.array([stiffness, 2.0 * stiffness]),
        damping=np.array([damping, 0.5 * damping]),
    )


def moving() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.standard_normal((6, 3)), rng.standard_normal((6, 3))


def forces_of(tied: ParticlesOnEdges, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    force = np.zeros_like(x)
    add_particle_on_edge_forces(tied, x, v, force)
    return force


def test_forces_momentum_energy_and_matrix_of_ties() -> None:
    """Momentum is exact; forces act at P and at Q, so the couple is their distance times the viscous force."""
    x, v = moving()
    tied = ties(3.0, 0.7)
    force, couple, pulls = forces_of(tied, x, v), np.zeros(3), []
    for p, (j, k), r, stiffness, damping in zip(*tied, strict=True):
        gap, rate = (a[p] - (1 - r) * a[j] - r * a[k] for a in (x, v))
        couple += np.cross(gap, -damping * rate)
        pulls.append(-stiffness * gap - damping * rate)
    np.testing.assert_allclose(force[[4, 0, 1]], [pulls[0], -0.75 * pulls[0], -0.25 * pulls[0]], rtol=1e-14)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-15 * np.abs(force).max() * 6)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), couple, rtol=1e-12)
    tied, step = ties(3.0, 0.7), 1e-6
    elastic = forces_of(tied, x, 0.0 * v)
    matrix = tie_matrix(tied, tied.stiffness, 6, 3).toarray()
    np.testing.assert_allclose(-matrix @ x.ravel(), elastic.ravel(), atol=1e-13)
    viscous = forces_of(tied, 0.0 * x, v)
    np.testing.assert_allclose(-tie_matrix(tied, tied.damping, 6, 3) @ v.ravel(), viscous.ravel(), atol=1e-13)
    for node, axis in ((0, 0), (3, 1), (5, 2)):
        shift = np.zeros_like(x)
        shift[node, axis] = step
        slope = (tie_energy(tied, x + shift) - tie_energy(tied, x - shift)) / (2 * step)  # exact for a quadratic
        assert -slope == pytest.approx(elastic[node, axis], rel=1e-7, abs=1e-8)


@pytest.fixture
def paper_mesh(tmp_path: Path) -> dict[str, Any]:
    points = np.array([[0.0, 1.0], [0.0, 0.0], [0.9, 0.0], [1.5, 0.0], [1.2, -0.5]])
    cells = [("triangle", np.array([[0, 1, 3], [3, 2, 4]]))]
    meshio.Mesh(np.column_stack([points, np.zeros(5)]), cells).write(tmp_path / "coarse-fine.vtu")
    return {"shape": "file", "path": str(tmp_path / "coarse-fine.vtu"), "hanging": True, "size": None, "cells": None}


def test_the_mesh_of_the_papers_keeps_its_particle_on_the_edge(paper_mesh: dict[str, Any]) -> None:
    """P4 is pulled while P0 is held: P2 follows its edge, closer the stiffer the tie."""
    problem = block(
        2,
        VOIGT,
        paper_mesh,
        supports=HELD,
        forces={"pull": {"body": "block", "where": {"nearest": [1.2, -0.5]}, "total": [0.0, -2.0]}},
        duration=20.0,
    )
    hanging = problem.bodies[0].hanging
    assert (hanging.node.tolist(), hanging.start.tolist(), hanging.end.tolist()) == ([2], [1], [3])
    widest = []
    for stiffness in (10.0, 100.0):
        simulation = run_to(truss(problem, tie_stiffness=stiffness), 20.0)
        widest.append(simulation.statistics()["widest_gap"])
        x = simulation.positions
        assert np.linalg.norm(x[2] - 0.4 * x[1] - 0.6 * x[3]) == pytest.approx(widest[-1], rel=1e-12)
    # The force on the tie is settled by the load; what the gap itself changes of it is of the order of 1/stiffness.
    assert widest[0] / widest[1] == pytest.approx(10.0, rel=0.15)


def test_free_flight_keeps_momentum_undamped_ties_energy_and_damping_takes_it() -> None:
    """The scheme is symplectic for elastic bodies: its energy swings with the step, less at a smaller one."""
    problem = block(2, ELASTIC, GRADED)
    velocities = 0.05 * np.random.default_rng(6).standard_normal(problem.points.shape)

    def drift(damping: float, safety: float) -> float:
        simulation = put(truss(problem, tie_damping=damping, safety=safety), velocities=velocities)
        before, energies = problem.masses @ simulation.velocities, []
        for _ in range(41):
            energies.append(sum(simulation.energy().values()))
            simulation.advance(1e9, 10)
        scale = (problem.masses @ np.abs(simulation.velocities)).max()
        np.testing.assert_allclose(problem.masses @ simulation.velocities, before, atol=1e-12 * scale)
        assert simulation.statistics()["hanging_particles"] == len(np.unique(problem.bodies[0].hanging.node))
        return (max(energies) if damping == 0.0 else energies[-1]) / energies[0] - 1.0

    coarse, fine = drift(0.0, 0.2), drift(0.0, 0.05)
    assert abs(fine) < 0.35 * abs(coarse) < 0.05 and drift(0.5, 0.2) < -0.02


@pytest.mark.parametrize(
    ("dimension", "cell"), [(2, "quad"), (3, "tet"), pytest.param(2, "triangle", marks=pytest.mark.exhaustive)]
)
def test_no_cracks_a_graded_body_stretches_as_a_whole(dimension: int, cell: str) -> None:
    """Sides driven apart by an affine motion: the interior follows as the gap closes like 1/K.
    At rest a tie carries what the edges around its particle do, K gap <= sum k max |dd| with K = stiffness sum k,
    so gap <= max |dd|/stiffness. Springs of squares at nu = 1/4 are the continuum: there the affine field is the
    answer for stiff ties (a truss of triangles is not isotropic, and shears)."""
    size, count = [4.0, 2.0, 1.0][:dimension], [4, 2, 1][:dimension]
    stretch = 0.01
    motion = path([0.0, 1.0], [[0.0] * dimension, [4.0 * stretch] + [0.0] * (dimension - 1)])
    problem = block(
        dimension,
        VOIGT,
        body={"size": size, "cells": count, "cell": cell, "finer": STRIP},
        supports={
            "left": side("left", fix=["x"]),
            "right": side("right", fix=["x"], motion=motion),
            "floor": side("bottom", fix=["xyz"[dimension - 1]]),
        },
        duration=8.0,
    )
    found = []
    for stiffness in (4.0, 40.0):
        simulation = run_to(truss(problem, tie_stiffness=stiffness, tie_damping=1.0), 8.0)
        across = np.abs(simulation.fields()["displacement"][:, 0] - stretch * problem.points[:, 0]).max()
        edges = build_network(problem, volume_term=True).edges
        now, rest = (
            np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1) for x in (simulation.positions, problem.points)
        )
        gap = simulation.statistics()["widest_gap"]
        assert 0.0 < gap <= np.abs(now - rest).max() / stiffness
        found.append((gap, across))
    (gap, error), (smaller_gap, smaller_error) = found
    assert smaller_gap == pytest.approx(0.1 * gap, rel=0.2)
    if cell == "quad":
        assert smaller_error == pytest.approx(0.1 * error, rel=0.2)


def test_bodies_tear_without_ties_and_gaps_are_zero_at_rest() -> None:
    """The check above can fail: a file of the same kind read without `hanging` opens a crack."""
    problem = block(2, VOIGT, {**GRADED, "cell": "quad"}, supports=HELD, gravity=[0.0, -1.0], duration=4.0)
    gap = {}
    for stiffness in (1e-6, 40.0):
        gap[stiffness] = run_to(truss(problem, tie_stiffness=stiffness), 4.0).statistics()["widest_gap"]
    assert gap[1e-6] > 30.0 * gap[40.0]
    problem = block(3, ELASTIC, {"finer": STRIP})
    hanging, x = problem.bodies[0].hanging, truss(problem).positions
    ends, ones = np.stack([hanging.start, hanging.end], axis=1), np.ones(len(hanging))
    tied = ParticlesOnEdges(hanging.node, ends, hanging.ratio, ones, ones)
    np.testing.assert_allclose(gaps(tied, np.ascontiguousarray(x)), 0.0, atol=1e-14)
    assert build_problem(problem.scene).bodies[0].hanging.node.tolist() == hanging.node.tolist()


def test_who_cannot_be_tied_and_checkpoints() -> None:
    with pytest.raises(InputFaults, match=r"hangs on an edge of a coarser cell, .* leave `finer`"):
        check_capabilities(FixedPointSolver(), block(2, ELASTIC, body={"finer": STRIP}))
    viscous = {"model": "voigt", "young": 0.0, "poisson": 0.25, "viscosity": 20.0}
    with pytest.raises(RheotwinError, match="hangs on an edge, but its law has no spring"):
        truss(block(2, viscous, body={"finer": STRIP}))
    problem = block(2, VOIGT, body={"finer": STRIP}, gravity=[0.3, -1.0])
    whole, first, second = truss(problem), truss(problem), truss(problem)
    run_to(whole, 1.0)
    run_to(first, 0.5)
    second.restore(first.save())
    run_to(second, 1.0)
    np.testing.assert_array_equal(second.positions, whole.positions)
    ball = {"voxels": 2.0, "shape": "sphere", "radius": 1.0, "cells": 4, "size": None}
    assert block(2, ELASTIC, ball).points.shape == (4, 2)


@pytest.mark.parametrize(
    ("dimension", "body", "words"),
    [
        (2, {"finer": [{"z": [0.0, 1.0]}]}, "there is no z in a 2D scene"),
        (2, {"finer": [{"x": [1.0, 0.0]}]}, "put the smaller first"),
        (2, {"finer": [{}]}, "at least one of x, y, z"),
        (2, {"finer": [{"x": [0.0, 1.0], "levels": 0}]}, "levels"),
        (2, {"voxels": 0.0}, "voxels"),
        (1, {"voxels": 0.5}, "a 1D body has none"),
        (1, {"finer": [{"x": [0.0, 0.5]}]}, "grid lines"),
    ],
)
def test_bad_body_options(dimension: int, body: dict[str, Any], words: str) -> None:
    with pytest.raises(RheotwinError, match=words):
        block(dimension, ELASTIC, body)


@pytest.mark.parametrize(
    ("dimension", "cell", "kind"), [(2, None, "quad"), (3, None, "hex"), (3, "tet", "tet"), (2, "triangle", "triangle")]
)
def test_voxels_of_a_turned_body(dimension: int, cell: str | None, kind: str) -> None:
    """Voxels are laid along the body's own axes, then turned and moved with it."""
    turn, origin = {2: 0.3, 3: {"axis": [0.0, 0.0, 1.0], "angle": 0.3}}[dimension], [1.0, 2.0, 3.0][:dimension]
    problem = block(dimension, ELASTIC, {"voxels": 0.5, "cell": cell, "rotation": turn, "origin": origin})
    assert problem.bodies[0].cell == kind and len(problem.points) == np.prod([7, 5, 5][:dimension])
    assert np.linalg.norm(problem.points - origin, axis=1).min() < 1e-12
