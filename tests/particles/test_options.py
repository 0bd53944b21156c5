"""The truss's options, and how it says no."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import EXIT_DIVERGED, Diverged, RheotwinError
from rheotwin.loop import check_finite, run_loop
from rheotwin.observers import Watched
from rheotwin.particles import TrussSolver
from rheotwin.schedule import plan
from rheotwin.solver import check_capabilities, checked_options
from rheotwin.validation.checks.running import block, path, put, side, truss

ELASTIC = {"model": "elastic", "young": 12.0, "poisson": 0.35}


def test_a_step_above_the_stable_one_is_refused_with_advice() -> None:
    problem = block(2, ELASTIC)
    stable = truss(problem).stable_step
    with pytest.raises(RheotwinError) as caught:
        truss(problem, step=1.1 * stable)
    sentence = str(caught.value)
    for part in ("solvers.truss.step", f"{1.1 * stable:.6g} s", f"{stable:.6g} s", f"{0.9 * stable:.3g}", "substep"):
        assert part in sentence
    assert "\n" not in sentence
    assert truss(problem, step=0.9 * stable).step_size <= 0.9 * stable


def test_substep_takes_a_stable_step_instead() -> None:
    problem = block(2, ELASTIC)
    stable = truss(problem).stable_step
    simulation = truss(problem, step=50.0 * stable, unstable="substep", safety=0.4)
    assert 0.2 * stable < simulation.step_size <= 0.4 * stable


def test_default_step_is_a_share_of_the_stable_one_that_meets_the_output_times() -> None:
    problem = block(2, ELASTIC, duration=3.0, output={"interval": 0.7, "probe_interval": 0.25})
    for safety in (0.5, 0.2, 1.0):
        simulation = truss(problem, safety=safety)
        assert simulation.step_size <= safety * simulation.stable_step
        for time in (0.25, 0.7, 3.0):
            steps = time / simulation.step_size
            assert steps == pytest.approx(round(steps), abs=1e-9)
        simulation.advance(0.7, 10**9)
        assert simulation.time == 0.7


def test_advance_takes_no_more_steps_than_asked() -> None:
    simulation = truss(block(2, ELASTIC))
    simulation.advance(1.0, 7)
    assert simulation.step_count == 7
    simulation.advance(0.0, 7)
    assert simulation.step_count == 7


def test_without_volume_springs_poissons_ratio_is_tied_to_one_quarter(equilateral: dict[str, Any]) -> None:
    """Springs alone keep Young's modulus and take nu = 1/4: lambda = mu = E/2.5, an exact fit on equilateral cells."""
    problem = block(2, ELASTIC, body=equilateral)
    with_term, without = truss(problem), truss(problem, volume_term=False)
    assert with_term.statistics()["volume_cells"] == 60
    assert without.statistics()["volume_cells"] == 0
    assert with_term.statistics()["material_match"]["block"]["stiffness_misfit"] < 1e-8
    lame, shear = 0.35 / (1.35 * 0.3), 0.5 / 1.35
    both = 1.0 / 2.5
    norm = 2 * (lame + 2 * shear) ** 2 + 2 * lame**2 + 4 * shear**2
    gap = 2 * (lame + 2 * shear - 3 * both) ** 2 + 2 * (lame - both) ** 2 + 4 * (shear - both) ** 2
    misfit = without.statistics()["material_match"]["block"]["stiffness_misfit"]
    assert misfit == pytest.approx(np.sqrt(gap / norm), abs=1e-8)
    assert misfit > 0.2


@pytest.mark.parametrize("cell", ["quad", "hex"])
def test_box_cells_are_lattices_without_volume_springs(cell: str) -> None:
    dimension = 2 if cell == "quad" else 3
    statistics = truss(block(dimension, ELASTIC, body={"cell": cell})).statistics()
    assert statistics["volume_cells"] == 0
    n = np.array([4, 3, 3][:dimension])
    cells = np.array([3, 2, 2][:dimension])
    axis = sum(int(cells[a] * np.prod(np.delete(n, a))) for a in range(dimension))
    if dimension == 2:
        assert statistics["edges"] == axis + 2 * cells.prod()
    else:
        faces = sum(int(n[a] * np.prod(np.delete(cells, a))) for a in range(3))
        assert statistics["edges"] == axis + 2 * faces + 4 * cells.prod()


def test_unknown_options_are_listed() -> None:
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.stepp.*did you mean 'step'"):
        checked_options(TrussSolver(), {"stepp": 0.1})
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.safety"):
        checked_options(TrussSolver(), {"safety": 1.5})


def test_the_truss_can_run_every_law_and_dimension(law: dict[str, Any]) -> None:
    for dimension in (1, 2, 3):
        check_capabilities(TrussSolver(), block(dimension, law))


@pytest.fixture
def torn() -> Watched:
    """A block whose top is driven away by 1e5 body lengths within a tenth of a second."""
    motion = path([0.3, 0.4], [[0.0, 0.0], [0.0, 4e5]])
    supports = {"floor": side("bottom"), "grip": side("top", motion=motion)}
    problem = block(2, ELASTIC, supports=supports, output={"interval": 0.05})
    return Watched(problem, truss(problem, step=0.001), 1.0)


def test_divergence_is_stopped_with_time_place_and_advice(torn: Watched) -> None:
    outcome = run_loop(torn, plan(torn.problem.scene), [])
    assert outcome.exit_code == EXIT_DIVERGED
    assert outcome.status == "diverged"
    assert 0.3 < outcome.time < 0.4 + 128 * torn.simulation.step_size
    for part in ("diverged at t =", "body 'block' at node", "reduce the step", "stable below about"):
        assert part in outcome.message


def test_divergence_names_the_node(torn: Watched) -> None:
    torn.simulation.advance(0.25, 10**9)
    check_finite(torn)
    torn.simulation.advance(1.0, 10**9)
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
    simulation.advance(1.0, 10**9)
    assert simulation.step_count < 130
    with pytest.raises(Diverged):
        check_finite(Watched(problem, simulation, 1.0))


def test_a_node_without_mass_is_refused() -> None:
    problem = block(2, ELASTIC)
    masses = problem.masses.copy()
    masses[3] = 0.0
    with pytest.raises(RheotwinError, match="node 3 has no mass"):
        truss(replace(problem, masses=masses))


def test_edges_with_numbers_of_their_own_have_no_volume_springs() -> None:
    problem = block(2, {"model": "elastic", "young": 10.0, "poisson": 0.35})
    with pytest.raises(RheotwinError, match=r'match = "edge".*leave `volume_term` out'):
        truss(problem, match="edge", volume_term=True)
    for options in ({}, {"volume_term": False}):
        simulation = truss(problem, match="edge", **options)
        assert simulation.statistics()["volume_cells"] == 0
        assert "without volume springs" in simulation.statistics()["material_match"]["block"]["note"]
