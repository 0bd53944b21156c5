"""The papers' demonstrations as shipped: what must be seen is seen (spec section 10; R16, R17)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.particles import TrussSolver
from rheotwin.particles.network import build_network
from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.scene import Scene, load_scene
from rheotwin.solver import check_capabilities
from rheotwin.validation.checks.running import seen, truss

SCENES = Path(__file__).parents[2] / "scenes"


def play(
    name: str, case: str | None, times: Sequence[float], *, scene: Scene | None = None, **options: Any
) -> tuple[Problem, TrussSimulation, list[np.ndarray]]:
    """Run a shipped scene with the options of its file and return the positions at given times [s]."""
    chosen = scene or load_scene(SCENES / f"{name}.toml")
    problem = build_problem(chosen, case)
    check_capabilities(TrussSolver(), problem)
    simulation = truss(problem, **{**chosen.solvers.get("truss", {}), **options})
    return problem, simulation, seen(simulation, times, lambda: simulation.positions.copy())


def test_d1_three_blocks_return_fully_not_at_all_and_in_part() -> None:
    problem, _, (pressed, left) = play("three-blocks", None, [1.5, 4.0])
    kept = {}
    for body in problem.bodies:
        node = problem.probes[body.name]
        assert problem.points[node, 2] - pressed[node, 2] == pytest.approx(0.016, rel=1e-9)
        kept[body.name] = (problem.points[node, 2] - left[node, 2]) / 0.016
        assert (np.ptp(pressed[body.nodes, 1]) / np.ptp(problem.points[body.nodes, 1])) > 1.05, "sides bulge"
    assert abs(kept["elastic"]) < 0.01 and kept["viscoplastic"] > 0.9 and 0.2 < kept["rheological"] < 0.8


def test_d4_a_yielding_damper_keeps_the_block_standing() -> None:
    heights = {}
    for case in ("linear", "yielding", "too-soft"):
        _, _, (early, late) = play("gravity-2d", case, [2.0, 10.0])
        heights[case] = [float(shape[:, 1].max()) for shape in (early, late)]
    assert heights["yielding"][1] > 0.95
    for case in ("linear", "too-soft"):
        early, late = heights[case]
        assert late < early < 0.5 and late < 0.2


def test_d5_struck_on_a_table_with_and_without_gravity() -> None:
    scene = load_scene(SCENES / "thrown-2d.toml")
    times = 0.2 * np.arange(1, 31)  # output times of the scene: steps land on them
    problem, _, shapes = play("thrown-2d", None, times)
    corner = problem.probes["left-bottom"]
    heights = np.array([shape[corner, 1] for shape in shapes])
    assert heights.max() > 0.1, "the left side is tipped up by more than a tenth of the height"
    assert np.all(heights[np.argmax(heights) :][-4:] < 0.05), "and comes back to the table"
    _, _, shapes = play("thrown-2d", None, times, scene=scene.model_copy(update={"gravity": (0.0, 0.0)}))
    steps = np.diff(np.array([shape[:, 1].mean() for shape in shapes])[5:])
    assert steps.min() > 0.05, "the block flies off"
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)  # free flight: nothing pushes it any more


@pytest.mark.parametrize(("name", "depth"), [("coarse-fine-2d", 0.16), ("coarse-fine-3d", 0.12)])
def test_d16_no_crack_opens_between_coarse_and_fine(name: str, depth: float) -> None:
    """At full depth gaps are what ties of stiffness s sum k let open, at most max |dd|/s, and shrink like 1/s.

    A gap is how far a hanging particle is from the middle of its coarser edge.
    """
    gap = {}
    for stiffness in (10.0, 40.0):
        problem, simulation, (pressed,) = play(name, None, [8.0], tie_stiffness=stiffness)
        statistics, hanging = simulation.statistics(), problem.bodies[0].hanging
        edges = build_network(problem, volume_term=True).edges
        now, rest = (np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1) for x in (pressed, problem.points))
        middles = 0.5 * (pressed[hanging.start] + pressed[hanging.end])
        gap[stiffness] = np.linalg.norm(pressed[hanging.node] - middles, axis=1).max()
        assert gap[stiffness] == pytest.approx(statistics["widest_gap"], rel=1e-9)
        assert 0.0 < gap[stiffness] < np.abs(now - rest).max() / stiffness
        assert statistics["hanging_particles"] == len(np.unique(hanging.node)) > 0
        assert 0.8 - pressed[problem.probes["under-bar"], -1] == pytest.approx(depth, rel=1e-9)
        assert statistics["inverted_cells"] == 0
    assert gap[40.0] == pytest.approx(0.25 * gap[10.0], rel=0.15)
