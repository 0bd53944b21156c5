"""Real bodies calibrated: what was found, how well it meets the records it was found from, and those kept aside.

The searches take minutes (docs/calibration.md, "Real bodies"); here their results are run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from rheotwin.arrays import Array
from rheotwin.scene import load_scene
from rheotwin.validation.calibration import CalibrationProblem, Costs
from rheotwin.validation.calibration.result import covariance_of, flat, normal_at
from rheotwin.validation.calibration.searches import Space
from rheotwin.validation.checks.check import Check, Compute, Values, check
from rheotwin.validation.checks.running import with_data
from rheotwin.validation.experiments import bodies, datasets
from rheotwin.validation.experiments.synthetic import SIGMA_OF_MEAN

ALL = Costs(1.0, 1.0, 1.0, 1.0)
MILLI, PERCENT = 1e3, 100.0


@dataclass(frozen=True)
class Body:
    """A scene with marked numbers, the records they were found from, those kept aside, and what was found."""

    scene: str
    solver: str
    fitted: tuple[str, ...]
    blind: tuple[str, ...]
    found: tuple[float, ...]

    def problem(self, *names: str) -> CalibrationProblem:
        """Return what is asked of some records."""
        scene = load_scene(bodies.SCENES / f"{self.scene}-3d.toml")
        return CalibrationProblem(scene, self.solver, bodies.converted(*names), costs=ALL)

    def start(self) -> Array:
        """Return where the search began."""
        scene = load_scene(bodies.SCENES / f"{self.scene}-3d.toml")
        return np.array([spec.first for spec in scene.calibrate.values()])


TOOLS = datasets.CLAY_TOOLS
CLAY = Body(
    "clay",
    "local-shape",
    tuple(f"clay-1-{tool}-0" for tool in TOOLS),
    (*(f"clay-1-{tool}-1" for tool in TOOLS), "clay-2-rectangle-0", "clay-2-rectangle-1"),
    (1000.0, 5.0, 120.0, 0.4),
)
CUBE = Body("cube", "local-shape", ("cube-1", "cube-2"), ("cube-3",), (0.48, 0.4))
BEAM = Body("beam", "fem", ("beam-gravity_a",), ("beam-gravity_b", "beam-load52_a", "beam-load52_b"), (270e3, 900.0))
ECOFLEX = Body(
    "ecoflex", "fem", ("ecoflex-EF30_0T_A1",), ("ecoflex-EF30_0T_A2", "ecoflex-EF30_0T_B1"), (110e3,)
)  # fmt: skip


def clay() -> Values:
    """Return S/N [mm] of pushes fitted and kept aside, and how much less the latter is than at the start [%].

    The interval of the gain is that of the mean over pushes of the logarithm of S/S_start, by Student's t.
    """
    found: dict[str, float] = {}
    for part, names in (("fitted", CLAY.fitted), ("blind", CLAY.blind)):
        problems = [CLAY.problem(name) for name in names]
        totals = np.array([[e.total for e in p.evaluate([CLAY.found, CLAY.start()])] for p in problems])
        points = sum(p.points() for p in problems)
        here, start = MILLI * totals.sum(axis=0) / points
        still = [p.registrations[0].residual or np.nan for p in problems]
        found |= {f"S/N, {part}": here, f"S/N at the start, {part}": start}
        found[f"distance of the lumps before the push, {part}"] = MILLI * float(np.mean(still))
        if part == "blind":
            logs = np.log(totals[:, 0] / totals[:, 1])
            half = student.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
            found["gain, blind"] = PERCENT * (1.0 - here / start)
            found["least gain, blind"], found["largest gain, blind"] = PERCENT * (
                1.0 - np.exp(logs.mean() + np.array([half, -half]))
            )
    return found


def unknown() -> Values:
    """Return the factor to which clay's scale is known, of which its shapes tell nothing, and whether it is named."""
    problem = CLAY.problem(*CLAY.fitted)
    space = Space(problem.parameters)
    covariance, _ = covariance_of(normal_at(problem, space, np.array(CLAY.found)), len(CLAY.found))
    scale = next((item for item in flat(space, covariance) if "only a force" in item.remedy), None)
    return {"factor of the scale": 0.0 if scale is None else min(scale.factor, 1e6)}


def _left(body: Body, names: Sequence[str], term: str) -> float:
    """Return what records have left of a term, over its noise, root mean square over them."""
    problems = [body.problem(name) for name in names]
    return float(np.sqrt(np.mean([(p.evaluate([body.found])[0].terms or {})[term] ** 2 for p in problems])))


def cube() -> Values:
    """Return how far beads are from where they were seen [mm], a component's root mean square."""
    unit = MILLI * SIGMA_OF_MEAN * (datasets.read_truth_cube().uncertainty.mean_abs or 0.0)
    return {"fitted": unit * _left(CUBE, CUBE.fitted, "fields"), "blind": unit * _left(CUBE, CUBE.blind, "fields")}


def beam() -> Values:
    """Return how far markers are from where they were seen [mm], a component's root mean square."""
    unit = MILLI * SIGMA_OF_MEAN * bodies.BEAM_NOISE
    parts = {"fitted": BEAM.fitted, "blind, repeat": BEAM.blind[:1], "blind, 52 g": BEAM.blind[1:]}
    return {part: unit * _left(BEAM, names, "fields") for part, names in parts.items()}


def ecoflex() -> Values:
    """Return what forces are off, root mean square over the largest [%]: of a vector of which one component acts."""
    unit = PERCENT * bodies.ECOFLEX_NOISE * np.sqrt(3.0)
    parts = {"fitted": ECOFLEX.fitted, "blind, repeat": ECOFLEX.blind[:1], "blind, specimen": ECOFLEX.blind[1:]}
    return {part: unit * _left(ECOFLEX, names, "forces") for part, names in parts.items()}


def _check(name: str, data: str, compute: Compute, solver: str) -> Check:
    return check(f"measured.calibrated/{name}", with_data(data, compute), name=f"calibrated-{name}", solvers=(solver,))


CHECKS = {
    "measured": (
        _check("clay", datasets.CLAY, clay, CLAY.solver),
        _check("scale", datasets.CLAY, unknown, CLAY.solver),
        _check("cube", datasets.CUBE, cube, CUBE.solver),
        _check("beam", datasets.BEAM, beam, BEAM.solver),
        _check("ecoflex", datasets.ECOFLEX, ecoflex, ECOFLEX.solver),
    )
}
