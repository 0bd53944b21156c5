"""Every shipped scene: the circuit refuses it, or stays as close to double precision as it announced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults
from rheotwin.particles.fixed_point import FixedPointSolver
from rheotwin.scene import load_scene
from rheotwin.solver import check_capabilities, checked_options

SCENES = Path(__file__).parents[3] / "scenes"
ACCEPTED = ("fixed-point-3d", "shear-quad-2d", "digital-push-3d", "chain-1d")
IN_PHASES = ("push-hold-release-3d", "hold-release-1d")
"""Their supports come and go: nothing is announced of them."""
UNDAMPED = "two-laws-3d"
"""Springs without viscosity, at which the explicit rule diverges."""


@pytest.mark.parametrize(
    "name", [*ACCEPTED[:2], *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ACCEPTED[2:])]
)
def test_what_is_announced_of_a_shipped_scene_is_kept(name: str) -> None:
    problem = build_problem(load_scene(SCENES / f"{name}.toml"))
    options = checked_options(FixedPointSolver, problem.scene.solvers.get("fixed-point", {}))
    simulation = FixedPointSolver().start(problem, options)
    announced, ranges = simulation.statistics()["announced_error"], simulation.prepared.ranges
    assert ranges is not None
    travel = max(np.linalg.norm(x - simulation.prepared.model.points, axis=1).mean() for _, x in ranges.samples)
    for step, exact in ranges.samples:
        simulation.advance(step * simulation.step_size, 10**9)
        found = simulation.positions - simulation.prepared.model.centre[: problem.dimension]
        gap = np.linalg.norm(found - exact[:, : problem.dimension], axis=1).mean()
        assert gap <= announced * travel * (1.0 + 1e-6)
    assert not any(simulation.statistics()["overflows"].values())


@pytest.mark.parametrize("path", sorted(SCENES.glob("*.toml")), ids=lambda path: path.stem)
def test_other_shipped_scenes_are_refused(path: Path) -> None:
    problem = build_problem(load_scene(path))
    if path.stem in (*ACCEPTED, *IN_PHASES, UNDAMPED):
        check_capabilities(FixedPointSolver(), problem)
        return
    with pytest.raises(InputFaults) as told:
        check_capabilities(FixedPointSolver(), problem)
    assert all("beyond this solver" in fault.message for fault in told.value.faults)
