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


def _pushes(fitted: int, found: tuple[float, ...]) -> Body:
    """Return clay found from a push of 15 mm with each tool; the same into another lump, and 20 mm, are kept aside."""
    names = [[f"clay-1-{tool}-{trial}" for tool in TOOLS] for trial in (fitted, 1 - fitted)]
    deeper = ("clay-2-rectangle-0", "clay-2-rectangle-1")
    return Body("clay", "local-shape", tuple(names[0]), (*names[1], *deeper), found)


CLAY, EXCHANGED = _pushes(0, (1999.5, 230.74, 0.36336, 0.03)), _pushes(1, (791.06, 138.74, 0.3114, 0.24078))
CUBE = Body("cube", "local-shape", ("cube-1", "cube-2"), ("cube-3",), (0.49, 1.5))
BEAM = Body("beam", "fem", ("beam-gravity_a",), ("beam-gravity_b", "beam-load52_a", "beam-load52_b"), (280.15e3, 740.9))
ECOFLEX = Body(
    "ecoflex", "fem", ("ecoflex-EF30_0T_A1",), ("ecoflex-EF30_0T_A2", "ecoflex-EF30_0T_B1"), (121.3e3,)
)  # fmt: skip


def clay() -> Values:
    """Return S/N [mm] of pushes fitted and kept aside, and by how much the latter is less than at the start [%].

    The same with the lumps of either trial exchanged. The interval of the gain is that of the mean logarithm of S over
    S at the start, by Student's t over the lumps.
    """
    found: dict[str, float] = {}
    ratios: dict[str, list[float]] = {}
    for body, word in ((CLAY, ""), (EXCHANGED, ", exchanged")):
        for part, names in (("fitted", body.fitted), ("blind", body.blind)):
            problems = [body.problem(name) for name in names]
            totals = np.array([[e.total for e in p.evaluate(np.array([body.found, body.start()]))] for p in problems])
            here, start = MILLI * totals.sum(axis=0) / sum(p.points() for p in problems)
            found[f"S/N, {part}{word}"] = float(here)
            if part == "blind":
                found.setdefault("S/N at the start, blind", float(start))
                found[f"gain{word}"] = PERCENT * float(1.0 - here / start)
                for name, (own, first) in zip(names, totals, strict=True):
                    ratios.setdefault(name, []).append(float(np.log(own / first)))
    logs = np.array([np.mean(own) for own in ratios.values()])
    half = student.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    least, largest = PERCENT * (1.0 - np.exp(logs.mean() + np.array([half, -half])))
    return found | {"gain, least": float(least), "gain, largest": float(largest)}


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
    """Return how far markers are from where they were seen [mm], a component's root mean square; under 52 g at rest."""
    unit = MILLI * SIGMA_OF_MEAN * bodies.BEAM_NOISE
    found = {
        "fitted": unit * _left(BEAM, BEAM.fitted, "fields"),
        "blind, repeat": unit * _left(BEAM, BEAM.blind[:1], "fields"),
    }
    off = [own for name in BEAM.blind[1:] for own in (BEAM.problem(name).by_record([BEAM.found])[0] or ())]
    heights = np.array([record.reshape(-1, 3)[:, 2] for record in off])
    return found | {"blind, heights under 52 g": unit * float(np.sqrt(np.mean(heights**2)))}


def ecoflex() -> Values:
    """Return what forces are off, root mean square over the largest [%]: of a vector of which one component acts."""
    unit = PERCENT * bodies.ECOFLEX_NOISE * np.sqrt(3.0)
    parts = {"fitted": ECOFLEX.fitted, "blind, repeat": ECOFLEX.blind[:1], "blind, specimen": ECOFLEX.blind[1:]}
    return {part: float(unit * _left(ECOFLEX, names, "forces")) for part, names in parts.items()}


def _check(name: str, data: str, compute: Compute, body: Body) -> Check:
    solvers = (body.solver,)
    return check(
        f"measured.{body.scene}/{name}", with_data(data, compute), name=f"{body.scene}-{name}", solvers=solvers
    )


CHECKS = {
    "measured": (
        _check("calibrated", datasets.CLAY, clay, CLAY),
        _check("scale", datasets.CLAY, unknown, CLAY),
        _check("calibrated", datasets.CUBE, cube, CUBE),
        _check("calibrated", datasets.BEAM, beam, BEAM),
        _check("calibrated", datasets.ECOFLEX, ecoflex, ECOFLEX),
    )
}
