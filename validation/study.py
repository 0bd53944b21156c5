"""Runs of one solver on finer and finer meshes: their names, what they tend to, and which of all runs pay."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.refinements import LIMIT
from rheotwin.validation import metrics
from rheotwin.validation.comparison import RunComparison, Settling
from rheotwin.validation.metrics.fits import Convergence, convergence, extrapolated
from rheotwin.validation.run_view import RunView, force_sources, vector

ASSUMED_ORDER = 1.0
"""Order of the limit where the peak forces do not show one."""


def labelled(views: Sequence[RunView]) -> list[RunView]:
    """Return the runs with their refinement in the label, fem@2, where a case has several of one solver."""
    meshes: dict[tuple[str | None, str], set[int]] = {}
    for view in views:
        meshes.setdefault((view.case, view.solver), set()).add(view.refinement)
    return [
        view.renamed(f"{view.label}@{view.refinement}") if len(meshes[view.case, view.solver]) > 1 else view
        for view in views
    ]


def solver_of(label: str) -> str:
    """Return what stands before the refinement in a label."""
    return label.partition("@")[0]


def with_limits(views: Sequence[RunView], reference: str | None) -> list[RunView]:
    """Return the runs and, if the reference is SOLVER@limit, the limit of that solver's meshes in every case."""
    solver, _, mesh = (reference or "").partition("@")
    if mesh != LIMIT:
        return list(views)
    cases = dict.fromkeys(view.case for view in views)
    return [*views, *(_limit([v for v in views if (v.case, v.solver) == (case, solver)], solver) for case in cases)]


def _limit(runs: Sequence[RunView], solver: str) -> RunView:
    """Return the run that the meshes of a solver tend to: forces by Richardson, fields of the finest mesh."""
    ordered = sorted(runs, key=lambda run: run.refinement)
    if len({run.refinement for run in ordered}) < 2:
        raise RheotwinError(
            f"reference '{solver}@{LIMIT}': it needs runs of '{solver}' on at least two meshes, three to see their "
            "order; give them with --refine"
        )
    coarse, fine = ordered[-2:]
    peaks = settling_of(ordered).get("peak force")
    known = peaks is not None and peaks.order is not None
    order = peaks.order if peaks is not None and peaks.order is not None else ASSUMED_ORDER
    ratio = fine.refinement / coarse.refinement
    probes = dict(fine.probes)
    for column, values in fine.probes.items():
        if ".force_" in column and column in coarse.probes:
            probes[column] = extrapolated(values, _resampled(coarse, column, fine.probe_times), ratio, order)
    how = f"with the {'observed' if known else 'assumed'} order {order:.2g}"
    remark = (
        f"'{solver}@{LIMIT}' is no run: its forces are extrapolated from '{coarse.label}' and '{fine.label}' {how}, "
        f"all else is that of '{fine.label}'."
    )
    return dataclasses.replace(fine, label=f"{solver}@{LIMIT}", probes=probes, remark=remark)


def _resampled(run: RunView, column: str, times: Array) -> Array:
    return np.interp(times, run.probe_times, run.probes[column])


def settling_of(runs: Sequence[RunView]) -> dict[str, Convergence]:
    """Return how the telling numbers of one solver settle over its meshes, empty without two different ones."""
    meshes = [run.refinement for run in runs]
    if len(set(meshes)) < 2 or len(set(meshes)) < len(meshes):
        return {}
    numbers: dict[str, list[float]] = {}
    for run in runs:
        for name, value in numbers_of(run).items():
            numbers.setdefault(name, []).append(value)
    return {name: convergence(meshes, values) for name, values in numbers.items() if len(values) == len(meshes)}


def numbers_of(run: RunView) -> dict[str, float]:
    """Return the telling numbers of a run, in `UNITS`."""
    peaks = [
        float(np.linalg.norm(vector(run.probes, kind, name, "force"), axis=1).max())
        for kind, name in force_sources(run.probes)
    ]
    residual = metrics.residual_displacement(run.times, run.displacement, run.node_weights)
    numbers = {"peak force": max(peaks)} if peaks else {}
    return numbers | {"largest displacement": residual.peak, "residual": residual.at_node}


UNITS: Mapping[str, str] = {"peak force": "N", "largest displacement": "m", "residual": "1"}


def settlings(runs: Sequence[RunView]) -> tuple[Settling, ...]:
    """Return the settling of every solver of a case."""
    real = [run for run in runs if not run.label.endswith(f"@{LIMIT}")]
    return tuple(
        Settling(solver, name, UNITS[name], found)
        for solver in dict.fromkeys(run.solver for run in real)
        for name, found in settling_of([run for run in real if run.solver == solver]).items()
    )


def error_of(run: RunComparison) -> float | None:
    """Return the error a run is weighed by [1]: the worst of its force curves, else of its displacements."""
    forces = [force.error for force in run.forces if force.error is not None]
    if forces:
        return max(forces)
    return None if run.displacement is None else run.displacement.rms


def front(runs: Iterable[RunComparison]) -> tuple[str, ...]:
    """Return the labels of the runs that no other one beats in error and cost together, cheapest first."""
    weighed = [(run.cost.spent, error_of(run), run.label) for run in runs if not run.is_reference]
    points = sorted((cost, error, label) for cost, error, label in weighed if cost and error is not None)
    found: list[str] = []
    best = np.inf
    for _, error, label in points:
        if error < best:
            found.append(label)
            best = error
    return tuple(found)


def finest_labels(runs: Iterable[RunComparison]) -> tuple[str, ...]:
    """Return the label of each solver's run on its finest mesh, in the order of the solvers; limits are none."""
    best: dict[str, RunComparison] = {}
    for run in runs:
        key = solver_of(run.label)
        if run.refinement is not None and (key not in best or run.refinement > (best[key].refinement or 0)):
            best[key] = run
    return tuple(run.label for run in best.values())
