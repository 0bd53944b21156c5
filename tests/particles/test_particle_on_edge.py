"""Hanging particles: forces and balances in closed form, and a coarse-fine body that does not tear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.fem import FemSolver
from rheotwin.particles.forces.particle_on_edge import (
    ParticlesOnEdges,
    add_particle_on_edge_forces,
    gaps,
    tie_energy,
    tie_matrix,
)
from rheotwin.particles.network import build_network
from rheotwin.scene import scene_from_data
from rheotwin.solver import check_capabilities
from rheotwin.validation.checks.running import block, path, put, side, truss

ELASTIC = {"model": "elastic", "young": 100.0, "poisson": 0.25}
VOIGT = {"model": "voigt", "young": 100.0, "poisson": 0.25, "viscosity": 20.0}
STRIP = [{"x": [1.0, 3.0]}]


def ties(stiffness: float, damping: float) -> ParticlesOnEdges:
    return ParticlesOnEdges(
        particle=np.array([4, 5]),
        ends=np.array([[0, 1], [2, 3]]),
        ratio=np.array([0.25, 0.6]),
        stiffness=np.array([stiffness, 2.0 * stiffness]),
        damping=np.array([damping, 0.5 * damping]),
    )


@pytest.fixture
def moving() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.standard_normal((6, 3)), rng.standard_normal((6, 3))


def forces_of(tied: ParticlesOnEdges, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    force = np.zeros_like(x)
    add_particle_on_edge_forces(tied, x, v, force)
    return force


def test_force_and_its_reactions(moving: tuple[np.ndarray, np.ndarray]) -> None:
    x, v = moving
    force = forces_of(ties(3.0, 0.7), x, v)
    gap, rate = (a[4] - 0.75 * a[0] - 0.25 * a[1] for a in (x, v))
    pull = -3.0 * gap - 0.7 * rate
    np.testing.assert_allclose(force[[4, 0, 1]], [pull, -0.75 * pull, -0.25 * pull], rtol=1e-14)


def test_momentum_is_exact_and_the_elastic_part_has_no_moment(moving: tuple[np.ndarray, np.ndarray]) -> None:
    x, v = moving
    for damping in (0.0, 0.7):
        force = forces_of(ties(3.0, damping), x, v)
        np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-15 * np.abs(force).max() * 6)
    elastic = forces_of(ties(3.0, 0.0), x, v)
    np.testing.assert_allclose(np.cross(x, elastic).sum(axis=0), 0.0, atol=1e-14)
    damped = forces_of(ties(0.0, 0.7), x, v)
    couple = np.zeros(3)
    for tie in range(2):  # forces act at P and at Q: the couple is their distance times the force
        tied = ties(0.0, 0.7)
        p, (j, k), r = tied.particle[tie], tied.ends[tie], tied.ratio[tie]
        gap, rate = (a[p] - (1 - r) * a[j] - r * a[k] for a in (x, v))
        couple += np.cross(gap, -tied.damping[tie] * rate)
    np.testing.assert_allclose(np.cross(x, damped).sum(axis=0), couple, rtol=1e-12)


def test_forces_are_the_slope_of_the_energy_and_the_matrix_that_of_the_forces(
    moving: tuple[np.ndarray, np.ndarray],
) -> None:
    x, v = moving
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
    """Table 2.2: a large and a small triangle, P2 on the edge from P1 to P3."""
    points = np.array([[0.0, 1.0], [0.0, 0.0], [0.9, 0.0], [1.5, 0.0], [1.2, -0.5]])
    cells = [("triangle", np.array([[0, 1, 3], [3, 2, 4]]))]
    meshio.Mesh(np.column_stack([points, np.zeros(5)]), cells).write(tmp_path / "coarse-fine.vtu")
    return {"shape": "file", "path": str(tmp_path / "coarse-fine.vtu"), "hanging": True, "size": None, "cells": None}


def test_the_mesh_of_the_papers_keeps_its_particle_on_the_edge(paper_mesh: dict[str, Any]) -> None:
    """P4 is pulled while P0 is held: P2 follows its edge, closer the stiffer the tie."""
    problem = block(
        2,
        VOIGT,
        body=paper_mesh,
        supports={"left": side("left")},
        forces={"pull": {"body": "block", "where": {"nearest": [1.2, -0.5]}, "total": [0.0, -2.0]}},
        duration=20.0,
    )
    hanging = problem.bodies[0].hanging
    assert (hanging.node.tolist(), hanging.start.tolist(), hanging.end.tolist()) == ([2], [1], [3])
    widest = []
    for stiffness in (10.0, 100.0):
        simulation = truss(problem, tie_stiffness=stiffness)
        simulation.advance(20.0, 10**9)
        widest.append(simulation.statistics()["widest_gap"])
        x = simulation.positions
        assert np.linalg.norm(x[2] - 0.4 * x[1] - 0.6 * x[3]) == pytest.approx(widest[-1], rel=1e-12)
    # The force on the tie is settled by the load; what the gap itself changes of it is of the order of 1/stiffness.
    assert widest[0] / widest[1] == pytest.approx(10.0, rel=0.15)


def test_free_flight_keeps_momentum(law: dict[str, Any]) -> None:
    problem = block(2, law, body={"size": [4.0, 2.0], "cells": [4, 2], "finer": STRIP})
    simulation = truss(problem)
    rng = np.random.default_rng(6)
    put(simulation, velocities=0.3 * rng.standard_normal((len(problem.points), 2)))
    before = problem.masses @ simulation.velocities
    simulation.advance(1e9, 300)
    scale = problem.masses @ np.abs(simulation.velocities)
    np.testing.assert_allclose(problem.masses @ simulation.velocities, before, atol=1e-12 * scale.max())
    assert simulation.statistics()["hanging_particles"] == len(np.unique(problem.bodies[0].hanging.node))


def test_undamped_energy_is_kept_and_damping_takes_it() -> None:
    """The scheme is symplectic for elastic bodies: its energy swings with the step, less at a smaller one."""
    problem = block(2, ELASTIC, body={"size": [4.0, 2.0], "cells": [4, 2], "finer": STRIP})
    rng = np.random.default_rng(6)
    velocities = 0.05 * rng.standard_normal((len(problem.points), 2))

    def drift(damping: float, safety: float) -> float:
        simulation = truss(problem, tie_damping=damping, safety=safety)
        put(simulation, velocities=velocities)
        energies = [sum(simulation.energy().values())]
        for _ in range(40):
            simulation.advance(1e9, 10)
            energies.append(sum(simulation.energy().values()))
        return max(energies) / energies[0] - 1.0 if damping == 0.0 else energies[-1] / energies[0] - 1.0

    coarse, fine = drift(0.0, 0.2), drift(0.0, 0.05)
    assert abs(fine) < 0.35 * abs(coarse) < 0.05
    assert drift(0.5, 0.2) < -0.02


@pytest.mark.parametrize(("dimension", "cell"), [(2, "quad"), (3, "tet"), (2, "triangle")])
def test_no_cracks_a_graded_body_stretches_as_a_whole(dimension: int, cell: str) -> None:
    """Sides driven apart by an affine motion: the interior follows as the gap closes like 1/K.

    At rest a tie carries what the edges around its particle do, K gap <= sum k max |dd| with K = stiffness sum k, so
    gap <= max |dd|/stiffness. Springs of squares at nu = 1/4 are the continuum: there the affine field is the answer
    for stiff ties (a truss of triangles is not isotropic, and shears).
    """
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
        simulation = truss(problem, tie_stiffness=stiffness, tie_damping=1.0)
        simulation.advance(8.0, 10**9)
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


def test_without_ties_the_body_does_tear() -> None:
    """The check above can fail: a file of the same kind read without `hanging` opens a crack."""
    problem = block(
        2,
        VOIGT,
        body={"size": [4.0, 2.0], "cells": [4, 2], "cell": "quad", "finer": STRIP},
        supports={"left": side("left")},
        gravity=[0.0, -1.0],
        duration=4.0,
    )
    gap = {}
    for stiffness in (1e-6, 40.0):
        simulation = truss(problem, tie_stiffness=stiffness)
        simulation.advance(4.0, 10**9)
        gap[stiffness] = simulation.statistics()["widest_gap"]
    assert gap[1e-6] > 30.0 * gap[40.0]


def test_checkpoint_is_bitwise() -> None:
    problem = block(2, VOIGT, body={"finer": STRIP}, gravity=[0.3, -1.0])
    whole, first, second = truss(problem), truss(problem), truss(problem)
    whole.advance(1.0, 10**9)
    first.advance(0.5, 10**9)
    second.restore(first.save())
    second.advance(1.0, 10**9)
    np.testing.assert_array_equal(second.positions, whole.positions)


def test_finite_elements_refuse_hanging_nodes() -> None:
    with pytest.raises(InputFaults, match=r"hangs on an edge of a coarser cell, .* leave `finer`"):
        check_capabilities(FemSolver(), block(2, ELASTIC, body={"finer": STRIP}))


def test_a_body_without_springs_cannot_be_tied() -> None:
    viscous = {"model": "voigt", "young": 0.0, "poisson": 0.25, "viscosity": 20.0}
    with pytest.raises(RheotwinError, match="hangs on an edge, but its law has no spring"):
        truss(block(2, viscous, body={"finer": STRIP}))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"finer": [{"z": [0.0, 1.0]}]}, "there is no z in a 2D scene"),
        ({"finer": [{"x": [1.0, 0.0]}]}, "put the smaller first"),
        ({"finer": [{}]}, "at least one of x, y, z"),
        ({"finer": [{"x": [0.0, 1.0], "levels": 0}]}, "levels"),
        ({"voxels": 0.0}, "voxels"),
        ({"voxels": 9.0, "shape": "sphere", "radius": 1.0, "cells": 4, "size": None}, None),
    ],
)
def test_bad_body_options(body: dict[str, Any], words: str | None) -> None:
    if words is None:
        assert block(2, ELASTIC, body=body).points.shape == (4, 2)
        return
    with pytest.raises(RheotwinError, match=words):
        block(2, ELASTIC, body=body)


def test_one_dimension_has_neither() -> None:
    body = {"shape": "box", "size": [1.0], "cells": [2], "law": "stuff", "density": 1.0}
    data: dict[str, Any] = {"schema": 1, "dimension": 1, "duration": 1.0, "laws": {"stuff": ELASTIC}}
    for extra, words in (({"voxels": 0.5}, "a 1D body has none"), ({"finer": [{"x": [0.0, 0.5]}]}, "grid lines")):
        with pytest.raises(RheotwinError, match=words):
            scene_from_data({**data, "bodies": {"block": {**body, **extra}}})


@pytest.mark.parametrize(
    ("dimension", "cell", "kind"), [(2, None, "quad"), (3, None, "hex"), (3, "tet", "tet"), (2, "triangle", "triangle")]
)
def test_voxels_of_a_turned_body(dimension: int, cell: str | None, kind: str) -> None:
    """Voxels are laid along the body's own axes, then turned and moved with it."""
    turn = {2: 0.3, 3: {"axis": [0.0, 0.0, 1.0], "angle": 0.3}}[dimension]
    body = {"voxels": 0.5, "cell": cell, "rotation": turn, "origin": [1.0, 2.0, 3.0][:dimension]}
    problem = block(dimension, ELASTIC, body=body)
    assert problem.bodies[0].cell == kind
    assert len(problem.points) == np.prod(np.array([7, 5, 5])[:dimension])
    corner = problem.points[np.argmin(np.linalg.norm(problem.points - [1.0, 2.0, 3.0][:dimension], axis=1))]
    np.testing.assert_allclose(corner, [1.0, 2.0, 3.0][:dimension], atol=1e-12)


def test_gaps_are_zero_at_rest() -> None:
    problem = block(3, ELASTIC, body={"finer": STRIP})
    simulation = truss(problem)
    x = np.zeros((len(problem.points), 3))
    x[:] = simulation.positions
    hanging = problem.bodies[0].hanging
    tied = ParticlesOnEdges(
        hanging.node,
        np.stack([hanging.start, hanging.end], axis=1),
        hanging.ratio,
        np.ones(len(hanging)),
        np.ones(len(hanging)),
    )
    np.testing.assert_allclose(gaps(tied, x), 0.0, atol=1e-14)
    assert build_problem(problem.scene).bodies[0].hanging.node.tolist() == hanging.node.tolist()
