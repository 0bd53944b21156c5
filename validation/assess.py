"""Compare runs of one scene: group them by case, measure each against the case's reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rheotwin import __version__
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.refinements import LIMIT
from rheotwin.validation import metrics, study
from rheotwin.validation.comparison import (
    CaseComparison,
    CaseResidual,
    Comparison,
    ErrorHistory,
    ForceError,
    Ordering,
    Provenance,
    RunComparison,
    RunCost,
    Settling,
)
from rheotwin.validation.cross_check import cross_checks
from rheotwin.validation.metrics.meshes import Values, at_nodes_of, pairing_obstacle
from rheotwin.validation.report import sentences
from rheotwin.validation.run_view import RunView, bodies_with_volume, force_sources, vector
from rheotwin.validation.verdict import judged

EXPECTED_ORDER = ("elastic", "rheological", "viscoplastic")
"""Residual after release, smallest first: elastic returns, viscoplastic stays, rheological in between."""
DEFAULT_REFERENCE = "fem"
"""Reference when none is named, if it is among the runs."""
FIELDS = {
    "displacement": metrics.displacement_error,
    "velocity": metrics.velocity_error,
    "stress": metrics.stress_error,
}
"""Fields compared, and how."""


def compare(views: Sequence[RunView], *, reference: str | None = None) -> Comparison:
    """Compare runs of one scene; `reference` is a label or solver (default: fem, else the first run)."""
    if not views:
        raise RheotwinError("there is nothing to compare; name at least one record")
    by_case = group_by_case(views)
    cases = tuple(_compare_case(case, runs, _reference_of(runs, reference, case)) for case, runs in by_case.items())
    scene = _scene(views[0])
    return Comparison(
        title=str(scene.get("title") or views[0].manifest.get("title") or "Comparison"),
        dimension=views[0].dimension,
        duration=float(max(view.times[-1] for view in views)),
        cases=cases,
        orderings=_orderings(cases),
        rheotwin_version=__version__,
        scene=scene,
    )


def group_by_case(views: Sequence[RunView]) -> dict[str, tuple[RunView, ...]]:
    """Return case -> its runs, both in the order given, except that the known cases lead in expected order.

    Runs of one case that share a label are numbered: truss, truss-2.
    """
    names = list(dict.fromkeys(view.case or "default" for view in views))
    names.sort(key=lambda name: EXPECTED_ORDER.index(name) if name in EXPECTED_ORDER else len(EXPECTED_ORDER))
    return {name: _distinct([v for v in views if (v.case or "default") == name]) for name in names}


def _distinct(views: Sequence[RunView]) -> tuple[RunView, ...]:
    seen: dict[str, int] = {}
    renamed = []
    for view in views:
        count = seen[view.label] = seen.get(view.label, 0) + 1
        renamed.append(view if count == 1 else view.renamed(f"{view.label}-{count}"))
    return tuple(renamed)


def _reference_of(runs: Sequence[RunView], wanted: str | None, case: str) -> RunView:
    """Return the run with the label wanted, or the finest one of the solver wanted."""
    name = wanted or DEFAULT_REFERENCE
    labelled = [run for run in runs if run.label == name]
    of_solver = [run for run in runs if run.solver == name and not run.label.endswith(f"@{LIMIT}")]
    if labelled or of_solver:
        return labelled[0] if labelled else max(of_solver, key=lambda run: run.refinement)
    if wanted is None:
        return runs[0]
    known = [run.label for run in runs]
    raise RheotwinError(
        f"reference '{wanted}' is not among the runs of case '{case}' ({', '.join(known)}){nearest_name(wanted, known)}"
    )


def _compare_case(case: str, runs: Sequence[RunView], reference: RunView) -> CaseComparison:
    described = dict(_scene(reference).get("cases") or {}).get(case) or {}
    compared = tuple(_compare_run(run, reference) for run in runs)
    settlings = study.settlings(runs)
    judgement = judged(runs, reference)
    return CaseComparison(
        case=case,
        description=str(dict(described).get("description") or ""),
        reference=reference.label,
        runs=compared,
        settlings=settlings,
        verdicts=judgement.rows,
        advice=judgement.advice,
        reference_uncertainty=_reference_uncertainty(settlings, reference.solver),
        front=study.front(compared),
        cross_checks=cross_checks(runs),
    )


def _reference_uncertainty(settlings: Sequence[Settling], solver: str) -> float | None:
    """Return the uncertainty of the reference's peak force as part of it [1]."""
    for item in settlings:
        if (item.solver, item.quantity) == (solver, "peak force") and item.found.uncertainty is not None:
            return _defined(item.found.uncertainty / abs(item.found.values[-1]))
    return None


def _compare_run(run: RunView, reference: RunView) -> RunComparison:
    is_reference = run is reference
    obstacle = None if is_reference else pairing_obstacle(run, reference)
    paired = not is_reference and obstacle is None
    at_reference = at_nodes_of(reference, run) if paired else None
    displacement, velocity, stress = (_history(run, reference, name, at_reference) for name in FIELDS)
    forces = _forces(run, reference)
    residual = metrics.residual_displacement(run.times, run.displacement, run.node_weights)
    cost = _cost(run, reference)
    return RunComparison(
        label=run.label,
        solver=run.solver,
        refinement=None if run.label.endswith(f"@{LIMIT}") else run.refinement,
        is_reference=is_reference,
        displacement=displacement,
        velocity=velocity,
        stress=stress,
        forces=forces,
        residual=residual,
        bounce=_defined(metrics.bounce(residual)),
        volume_drift={
            body: _defined(metrics.volume_drift(run.probes[f"volume.{body}"]))
            for body in bodies_with_volume(run.probes)
        },
        cost=cost,
        notes=_notes(run, reference, obstacle),
        sentence=sentences.run_sentence(
            run.shown,
            reference.shown,
            displacement=displacement,
            forces=forces,
            ratio=cost.ratio,
            at_rest=not (run.displacement.any() or reference.displacement.any()),
        ),
        provenance=_provenance(run),
    )


def _history(run: RunView, reference: RunView, name: str, at_reference: Values | None) -> ErrorHistory | None:
    """Return the error of a field at the reference's nodes; None where one of them has none."""
    mine, theirs = getattr(run, name), getattr(reference, name)
    if mine is None or theirs is None or at_reference is None or mine is theirs:  # a limit's are the finest run's own
        return None
    common = metrics.common_times(run.times, reference.times)
    error = FIELDS[name](
        metrics.at_times(run.times, at_reference(mine), common),
        metrics.at_times(reference.times, theirs, common),
        reference.node_weights,
    )
    if not np.isfinite(error).all():
        return None
    return ErrorHistory(
        times=tuple(map(float, common)),
        values=tuple(map(float, error)),
        rms=metrics.root_mean_square(common, error),
        largest=float(error.max()),
        final=float(error[-1]),
    )


def _forces(run: RunView, reference: RunView) -> tuple[ForceError, ...]:
    shared = set(force_sources(reference.probes))
    found = []
    for kind, name in force_sources(run.probes):
        force = vector(run.probes, kind, name, "force")
        error = None
        if run is not reference and (kind, name) in shared:
            theirs = vector(reference.probes, kind, name, "force")
            error = _defined(metrics.force_curve_error(run.probe_times, force, reference.probe_times, theirs))
        found.append(
            ForceError(
                kind=kind,
                name=name,
                peak=float(np.linalg.norm(force, axis=1).max()),
                held=_defined(metrics.held_force(run.probe_times, force)),
                error=error,
            )
        )
    return tuple(found)


def _cost(run: RunView, reference: RunView) -> RunCost:
    wall, theirs = run.cost.wall_time, reference.cost.wall_time
    simulated = float(max(run.times[-1], *run.probe_times[-1:]) - run.times[0])
    return RunCost(
        wall_time=wall,
        steps=run.cost.steps,
        step_size=run.cost.step_size,
        real_time_factor=_defined(metrics.real_time_factor(simulated, wall)),
        step_rate=_defined(metrics.step_rate(run.cost.steps, wall)),
        ratio=wall / theirs if wall and theirs else None,
        circuit_time=run.cost.circuit_time,
    )


def _notes(run: RunView, reference: RunView, obstacle: str | None) -> tuple[str, ...]:
    notes = [note for note in (run.remark, obstacle) if note]
    status = run.manifest.get("status", "complete")
    if status != "complete":
        notes.append(f"'{run.shown}' is {status}: its record ends at t = {run.times[-1]:.4g} s.")
    split = dict(run.manifest.get("statistics") or {}).get("first_split")
    if split is not None:
        notes.append(
            f"A body of '{run.shown}' splits at t = {split:.4g} s: fields on the nodes are compared until then, forces "
            "until the end."
        )
    if differing := scene_differences(_scene(run), _scene(reference)):
        notes.append(f"'{run.shown}' ran another scene than '{reference.shown}': {', '.join(differing)} differ.")
    return tuple(notes)


def scene_differences(scene: Mapping[str, Any], reference: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of two scenes that differ and bear on the mechanics."""
    aside = {"title", "case", "cases", "solvers", "output", "schema", "refinement"}
    keys = sorted((set(scene) | set(reference)) - aside)
    return tuple(key for key in keys if scene.get(key) != reference.get(key))


def _orderings(cases: Sequence[CaseComparison]) -> tuple[Ordering, ...]:
    labels = dict.fromkeys(label for case in cases for label in study.finest_labels(case.runs))
    return tuple(_ordering(label, cases) for label in labels)


def _ordering(label: str, cases: Sequence[CaseComparison]) -> Ordering:
    residuals = [
        CaseResidual(case.case, run.residual.at_node, run.residual.rms, run.residual.oscillation)
        for case in cases
        for run in case.runs
        if run.label == label
    ]
    residuals.sort(key=lambda item: item.at_node)
    named = {item.case: item.at_node for item in residuals}
    names = {run.shown for case in cases for run in case.runs if run.label == label}
    name = names.pop() if len(names) == 1 else label
    expected = tuple(case for case in EXPECTED_ORDER if case in named)
    steps = [named[after] > named[before] for before, after in pairwise(expected)]
    moved = any(run.residual.peak > 0.0 for case in cases for run in case.runs if run.label == label)
    holds = all(steps) if steps and moved else None
    return Ordering(
        label=label,
        residuals=tuple(residuals),
        expected=expected,
        holds=holds,
        sentence=sentences.ordering_sentence(name, residuals if moved else (), holds=holds),
    )


def _provenance(run: RunView) -> Provenance:
    manifest = run.manifest
    solver = dict(manifest.get("solver") or {})
    return Provenance(
        rheotwin_version=manifest.get("rheotwin_version"),
        solver_version=solver.get("version"),
        status=manifest.get("status"),
        created=manifest.get("created"),
        mesh_hash=run.mesh_hash,
        points=len(run.rest),
        cells=len(run.cells),
        cell_kind=run.cell_kind,
        frames=len(run.times),
        options=dict(solver.get("options") or {}),
        statistics=dict(manifest.get("statistics") or {}),
        timings=dict(manifest.get("timings") or {}),
        environment=dict(manifest.get("environment") or {}),
    )


def _scene(view: RunView) -> dict[str, Any]:
    return dict(view.manifest.get("scene") or {})


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None
