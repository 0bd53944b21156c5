"""Topology maintenance of whole bodies: collapse and recovery, near contacts, and triangles that stay upright (R17)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.forces import topology as topology_module


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("damping", [{}, {"topology_damping": 0.6}])
def test_stable_step_holds_while_cells_collapse(
    dimension: int,
    damping: dict[str, float],
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
) -> None:
    """Kicks that turn cells over, taken at nearly the stable step: the energy falls, and all cells stand up again."""
    problem = make_problem(dimension, {"model": "elastic", "young": 0.5, "poisson": 0.25}, duration=40.0)
    options = {"topology_stiffness": 5.0, "topology_distance": 0.1, **damping}
    simulation = start(problem, volume_term=False, safety=0.95, **options)
    assert simulation.stable_step < 0.7 * start(problem, volume_term=False).stable_step
    assert simulation._forces.topology.damping == pytest.approx(
        damping.get("topology_damping", np.sqrt(5.0 * problem.masses.mean())), rel=1e-14
    )
    put(simulation, velocities=3.0 * np.random.default_rng(1).standard_normal(problem.points.shape))
    begin = sum(simulation.energy().values())
    inverted, energies = 0, []
    for _ in range(80):
        simulation.advance(simulation.time + 0.5, 10**9)
        inverted = max(inverted, simulation.statistics()["inverted_cells"])
        energies.append(sum(simulation.energy().values()))
    assert inverted > 0
    assert max(energies) < begin
    assert simulation.statistics()["inverted_cells"] == 0


@pytest.mark.parametrize("dimension", [2, 3])
def test_leaving_out_distant_contacts_changes_nothing(
    dimension: int,
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list of near contacts saves time only: looking at every step gives the same bits."""
    problem = make_problem(dimension, {"model": "voigt", "young": 2.0, "viscosity": 0.1, "poisson": 0.25})
    options = {"topology_stiffness": 30.0, "topology_damping": 0.2, "topology_distance": 0.1, "step": 0.002}
    found, counts = [], []
    for reach in (topology_module.REACH, 0.0):
        monkeypatch.setattr(topology_module, "REACH", reach)
        simulation = start(problem, volume_term=False, **options)
        put(simulation, velocities=2.0 * np.random.default_rng(1).standard_normal(problem.points.shape))
        topology = simulation._forces.topology
        for _ in range(300):
            simulation.advance(simulation.time + 1.4 * simulation.step_size, 1)
            counts.append(int(topology.near_count[0]))
        found.append(simulation.save())
    np.testing.assert_equal(found[0], found[1])
    assert 0 < max(counts[300:]) < max(counts[:300]) < len(topology.vertex)


def test_an_inverted_rest_element_is_refused(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    problem = make_problem(2, {"model": "elastic", "young": 2.0, "poisson": 0.25})
    problem.bodies[0].mesh.t[:2, 3] = problem.bodies[0].mesh.t[1::-1, 3]
    with pytest.raises(RheotwinError, match=r"bodies\.block: triangle.* 3 is inverted"):
        start(problem, topology_stiffness=1.0)


@pytest.fixture
def wedge(tmp_path: Path, make_problem: Callable[..., Any]) -> Callable[[float], Any]:
    """D14: a triangle of side 8 with 64 equilateral cells, pressed from above by a share of its height and let go."""
    side = 8
    index = {(i, j): k for k, (j, i) in enumerate((j, i) for j in range(side + 1) for i in range(side + 1 - j))}
    points = np.array([[i + 0.5 * j, np.sqrt(0.75) * j, 0.0] for i, j in index])
    up = [[index[i, j], index[i + 1, j], index[i, j + 1]] for j in range(side) for i in range(side - j)]
    down = [
        [index[i + 1, j], index[i + 1, j + 1], index[i, j + 1]] for j in range(side - 1) for i in range(side - 1 - j)
    ]
    meshio.Mesh(points, [("triangle", np.array(up + down))]).write(tmp_path / "wedge.vtu")
    top = float(points[:, 1].max())

    def build(share: float, duration: float) -> Any:
        stroke = [[0.0, 0.0], [0.0, -share * top], [0.0, 0.0], [0.0, 2.0]]
        return make_problem(
            2,
            {"model": "voigt", "young": 1.2, "viscosity": 1.5, "poisson": 0.25},
            duration=duration,
            body={"shape": "file", "path": str(tmp_path / "wedge.vtu"), "size": None, "cells": None}
            | {"density": None, "mass": 30.0, "mass_sharing": "equal"},
            supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
            tools={
                "bar": {
                    "shape": "plane",
                    "center": [4.0, top],
                    "normal": [0.0, -1.0],
                    "motion": {"times": [0.0, 10.0, 20.0, 21.0], "displacement": stroke},
                }
            },
        )

    return build


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.85])
def test_r17_topology_forces_keep_triangles_upright(
    share: float, wedge: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """R17, D14: without them triangles stay inverted (in the spec's trial 1, 9, 20, 37), with them none does."""
    problem = wedge(share, 120.0)
    assert problem.bodies[0].mesh.t.shape[1] == 64
    options = {"match": "edge", "step": 4e-3}
    without = start(problem, **options)
    without.advance(120.0, 10**9)
    assert without.statistics()["inverted_cells"] >= 1
    kept = start(problem, topology_stiffness=20.0, topology_damping=2.0, topology_distance=0.1, **options)
    for time in (10.0, 20.0, 120.0):
        kept.advance(time, 10**9)
        assert kept.statistics()["inverted_cells"] == 0
    assert np.abs(kept.positions - problem.points).max() < 1e-4
