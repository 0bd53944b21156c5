"""Do the intervals of verdicts hold the true error? Made-up comparisons in which it is known.

A bar whose stiffness varies along it, EA(x) = exp(a x + b sin(w x)), is pulled along a path: its force is
d(t) / int dx/EA. A model of it adds up cells by a rule of first or second order, with a model error e and a factor of
its law; the record of the test has noise. The interval of the verdict should hold e in 95 of 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.experiments.metadata import Specimen
from rheotwin.validation.experiments.record import Course, ExperimentRecord
from rheotwin.validation.run_view import RunView
from rheotwin.validation.study import labelled, with_limits
from rheotwin.validation.verdict import against_experiment, judged

COMPARISONS, SEED = 400, 20
MESHES, TIMES = (1, 2, 4), np.linspace(0.0, 1.0, 101)
EXACT_CELLS = 4096
PLACES = {1: 0.0, 2: 0.5}
"""Where in a cell a rule of this order looks at the stiffness."""


@dataclass(frozen=True)
class Bar:
    """A bar of length 1 m pulled by `path` (101,) [m]."""

    slope: float
    wave: float
    number: float
    path: Array

    def force(self, cells: int, order: int) -> Array:
        """Return the force [N] at `TIMES` that a rule of this order finds with so many cells."""
        places = (np.arange(cells) + PLACES[order]) / cells
        stiffness = np.exp(self.slope * places + self.wave * np.sin(self.number * places))
        return np.asarray(self.path / np.mean(1.0 / stiffness))


def _bar(chance: np.random.Generator) -> Bar:
    path = np.sin(np.pi * chance.uniform(0.5, 2.0) * TIMES) ** 2
    return Bar(chance.uniform(-1.0, 1.0), chance.uniform(0.0, 0.6), chance.uniform(1.0, 8.0), path)


def _view(solver: str, refinement: int, force: Array, uncertainty: float) -> RunView:
    """Return a run of the bar whose tool feels `force` (101,) [N]."""
    silent = dict.fromkeys(("tool.grip.force_y", "tool.grip.force_z"), np.zeros_like(TIMES))
    scene: dict[str, Any] = {"refinement": refinement, "laws": {"bar": {"uncertainty": uncertainty}}}
    return RunView(
        label=solver,
        solver=solver,
        case=None,
        times=np.array([0.0, 1.0]),
        displacement=np.zeros((2, 2, 3)),
        rest=np.eye(2, 3),
        cells=np.array([[0, 1]]),
        cell_kind="line",
        node_weights=np.ones(2),
        probe_times=TIMES,
        probes={"tool.grip.force_x": -force, **silent},
        manifest={"scene": scene},
    )


def _holds_against_a_test(chance: np.random.Generator, order: int) -> bool:
    """Tell whether the verdict of a model on three meshes holds its model error."""
    bar, cells, model = _bar(chance), int(chance.integers(4, 17)), chance.normal(0.0, 0.1)
    uncertainty, noise = chance.uniform(0.001, 0.04), 10.0 ** chance.uniform(-2.3, -0.7)
    factor = (1.0 + model) * (1.0 + chance.normal(0.0, 0.5 * uncertainty))
    runs = [_view("model", n, factor * bar.force(n * cells, order), uncertainty) for n in MESHES]
    times = np.linspace(0.0, 1.0, int(chance.integers(20, 200)))
    true = np.interp(times, TIMES, bar.force(EXACT_CELLS, 2))
    sigma = np.full(len(times), noise * np.abs(true).max())
    seen = np.zeros((len(times), 3))
    seen[:, 0] = true + sigma * chance.standard_normal(len(times))
    record = ExperimentRecord("bar", "synthetic", Specimen(size=(1.0,)), force=Course(times, seen, sigma=sigma))
    judgement = against_experiment(runs, record)
    assert judgement is not None
    return _holds(judgement.rows, model)


def _holds_against_runs(chance: np.random.Generator) -> bool:
    """Tell the same of a first-order model against the limit of second-order runs."""
    bar, cells, model = _bar(chance), int(chance.integers(4, 17)), chance.normal(0.0, 0.1)
    runs = [_view("model", n, (1.0 + model) * bar.force(n * cells, 1), 0.0) for n in MESHES]
    runs += [_view("fem", n, bar.force(n * cells, 2), 0.0) for n in MESHES]
    views = with_limits(labelled(runs), "fem@limit")
    return _holds(judged(views, views[-1]).rows, model)


def _holds(rows: Sequence[Any], model: float) -> bool:
    (row,) = rows
    return row.uncertainty is not None and bool(abs(row.error - model) <= row.uncertainty)


def held() -> Values:
    """Return the shares [1] of comparisons whose interval holds the true error."""
    chance = np.random.default_rng(SEED)
    return {
        "rules of first order": float(np.mean([_holds_against_a_test(chance, 1) for _ in range(COMPARISONS)])),
        "rules of second order": float(np.mean([_holds_against_a_test(chance, 2) for _ in range(COMPARISONS)])),
        "runs against the limit of others": float(np.mean([_holds_against_runs(chance) for _ in range(COMPARISONS)])),
    }


CHECKS = {"verdicts": (check("parts.intervals", held, name="intervals-of-verdicts", quick=True, solvers=()),)}
