"""Topology maintenance of whole bodies: collapse and recovery, near contacts, and triangles that stay upright."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.forces import topology as topology_module
from rheotwin.validation.checks.presses import SHARES, STRONGLY_UPRIGHT, triangle
from rheotwin.validation.checks.running import block, put, truss


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("damping", [{}, {"topology_damping": 0.6}])
def test_stable_step_holds_while_cells_collapse(dimension: int, damping: dict[str, float]) -> None:
    """Kicks that turn cells over, taken at nearly the stable step: the energy falls, and all cells stand up again."""
    problem = block(dimension, {"model": "elastic", "young": 0.5, "poisson": 0.25}, duration=40.0)
    options = {"topology_stiffness": 5.0, "topology_distance": 0.1, **damping}
    simulation = truss(problem, volume_term=False, safety=0.95, **options)
    assert simulation.stable_step < 0.7 * truss(problem, volume_term=False).stable_step
    assert simulation.method.forces.topology.damping == pytest.approx(
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
def test_leaving_out_distant_contacts_changes_nothing(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of near contacts saves time only: looking at every step gives the same bits."""
    problem = block(dimension, {"model": "voigt", "young": 2.0, "viscosity": 0.1, "poisson": 0.25})
    options = {"topology_stiffness": 30.0, "topology_damping": 0.2, "topology_distance": 0.1, "step": 0.002}
    found, counts = [], []
    for reach in (topology_module.REACH, 0.0):
        monkeypatch.setattr(topology_module, "REACH", reach)
        simulation = truss(problem, volume_term=False, kernel="general", **options)
        put(simulation, velocities=2.0 * np.random.default_rng(1).standard_normal(problem.points.shape))
        topology = simulation.method.forces.topology
        for _ in range(300):
            simulation.advance(simulation.time + 1.4 * simulation.step_size, 1)
            counts.append(int(topology.near_count[0]))
        found.append(simulation.save())
    np.testing.assert_equal(found[0], found[1])
    assert 0 < max(counts[300:]) < max(counts[:300]) < len(topology.vertex)


def test_an_inverted_rest_element_is_refused() -> None:
    problem = block(2, {"model": "elastic", "young": 2.0, "poisson": 0.25})
    problem.bodies[0].mesh.t[:2, 3] = problem.bodies[0].mesh.t[1::-1, 3]
    with pytest.raises(RheotwinError, match=r"bodies\.block: triangle.* 3 is inverted"):
        truss(problem, topology_stiffness=1.0)


@pytest.mark.parametrize("share", SHARES)
def test_topology_forces_bring_a_triangle_back(share: float) -> None:
    """D14: no triangle is inside out at any time looked at, and the rest shape returns."""
    kept = triangle(share, **STRONGLY_UPRIGHT)
    rest = kept.positions.copy()
    for time in (10.0, 20.0, 120.0):
        kept.advance(time, 10**9)
        assert kept.statistics()["inverted_cells"] == 0
    assert np.abs(kept.positions - rest).max() < 1e-4
