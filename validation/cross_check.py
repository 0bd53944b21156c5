"""Finite elements and particles of shear and volume on one mesh: is their difference of the order of the strain?
The same of edges in words (`fixed-point`) and in floating point (`truss` without its volume term).

With one mesh, lumped mass and law both are the same linear model (spec, finite elements, section 4), so the forces that
a tool feels on its way in may differ by

    (F_p - F_f)/F_f = a + c s + q s^2,     s = depth/extent of the bodies along the way,

with a = 0. Least squares of F_p - F_f from a tenth to a half of the way find a, c and q; what they leave, over the root
mean square of F_f, is the scatter. Before, two rules in time answer the blow of the first touch in their own ways;
after, bodies may lean and fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Flags
from rheotwin.validation.comparison import CrossCheck
from rheotwin.validation.metrics import at_times
from rheotwin.validation.metrics.meshes import same_nodes
from rheotwin.validation.run_view import RunView, force_sources, main_axis, names_with, vector

FINITE: Mapping[str, object] = {
    "order": 1,
    "formulation": "displacement",
    "mass": "lumped",
    "kinematics": "small",
    "incompressible": False,
}
PARTICLES: Mapping[str, object] = {"incompressible": "none", "shear_law": None, "volume_law": None}
MATCH = "element"
CONSISTENT = ("neo-hooke", "cotangent")
"""Options, and shear elements, with which both are the same linear model."""
BEGIN, PART = 0.1, 0.5
"""Shares of the way between which the parabola is sought."""
LEAST_ROWS = 8
TOUCH = 1e-3
"""Share of the largest force at which a tool has touched."""
ALIKE, SCATTERS = 0.01, 3.0
"""Difference at no depth that two rules in time and a parabola may leave, and how many scatters."""
UNSTEADY = 0.1
"""Scatter above which nothing can be said."""


def cross_checks(runs: Sequence[RunView]) -> tuple[CrossCheck, ...]:
    """Return the checks of one case: every tool of every pair of runs on one mesh."""
    real = [run for run in runs if not run.label.endswith("@limit")]
    return tuple(
        found
        for mine in real
        for theirs in real
        if comparable(mine, theirs)
        for source in force_sources(theirs.probes)
        if source in force_sources(mine.probes)
        for found in _check(mine, theirs, *source)
    )


def comparable(particles: RunView, finite: RunView) -> bool:
    """Tell whether two runs promise to be the same linear model, or the same edges in words and in floating point."""
    mine, theirs = _options(particles), _options(finite)
    names = _solver(particles).get("name"), _solver(finite).get("name")
    if names == ("fixed-point", "truss"):
        same = mine.get("match", MATCH) == theirs.get("match", MATCH) and not theirs.get("volume_term", True)
        return same and same_nodes(particles, finite)
    return names == ("shear-volume", "fem") and (
        finite.cell_kind in ("triangle", "tet")
        and same_nodes(particles, finite)
        and np.array_equal(particles.cells, finite.cells)
        and all(theirs.get(name, value) == value for name, value in FINITE.items())
        and all(mine.get(name, value) == value for name, value in PARTICLES.items())
        and mine.get("shear", CONSISTENT[0]) in CONSISTENT
        and mine.get("split") == theirs.get("split")
    )


def _solver(run: RunView) -> dict[str, Any]:
    return dict(run.manifest.get("solver") or {})


def _options(run: RunView) -> dict[str, Any]:
    return dict(_solver(run).get("options") or {})


def _check(mine: RunView, theirs: RunView, kind: str, name: str) -> tuple[CrossCheck, ...]:
    """Return the check of one tool; nothing where it does not come near or touches too few times."""
    if name not in names_with(theirs.probes, kind, "displacement"):
        return ()
    way = vector(theirs.probes, kind, name, "displacement")
    expected = vector(theirs.probes, kind, name, "force")
    found = at_times(mine.probe_times, vector(mine.probes, kind, name, "force"), theirs.probe_times)
    axis = main_axis(expected)
    strain = _strain(way, np.linalg.norm(expected, axis=1), theirs.rest)
    chosen = _way_in(strain) & (strain > 0.0) & (theirs.probe_times <= mine.probe_times[-1])
    smooth = chosen & (strain >= BEGIN * strain.max())
    if np.count_nonzero(smooth) < LEAST_ROWS:
        return ()
    fit = fitted(strain[smooth], expected[smooth, axis], found[smooth, axis])
    if fit is None:
        return ()
    (at_zero, slope), scatter = fit
    return (
        CrossCheck(
            particles=mine.label,
            finite=theirs.label,
            tool=name,
            at_zero=at_zero,
            slope=slope,
            scatter=scatter,
            strains=tuple(map(float, strain[chosen])),
            differences=tuple(map(float, _ratio(found[chosen, axis], expected[chosen, axis]))),
            holds=None if scatter > UNSTEADY else abs(at_zero) <= max(ALIKE, SCATTERS * scatter),
        ),
    )


def _strain(way: Array, force: Array, rest: Array) -> Array:
    """Return the depth since the first touch over the extent of the bodies along the way [1]."""
    length = np.linalg.norm(way - way[0], axis=1)
    touch = max(int(np.argmax(force > TOUCH * force.max())) - 1, 0)
    extent = float(np.ptp(rest, axis=0)[main_axis(way - way[0])])
    return np.asarray((length - length[touch]) / extent) if extent > 0.0 else np.zeros(len(way))


def _way_in(strain: Array) -> Flags:
    deepest = int(np.argmax(strain))
    return np.asarray((np.arange(len(strain)) <= deepest) & (strain <= PART * strain[deepest]))


def fitted(strain: Array, expected: Array, found: Array) -> tuple[tuple[float, float], float] | None:
    """Return (a, c) and the scatter [1] of forces [N] over strain; None where nothing presses."""
    size = float(np.sqrt(np.mean(expected**2)))
    if size == 0.0:
        return None
    columns = expected[:, None] * np.vander(strain, 3, increasing=True)
    solution, *_ = np.linalg.lstsq(columns, found - expected, rcond=None)
    left = found - expected - columns @ solution
    return (float(solution[0]), float(solution[1])), float(np.sqrt(np.mean(left**2))) / size


def _ratio(found: Array, expected: Array) -> Array:
    """Return the relative difference [1], zero where nothing presses."""
    pressed = np.abs(expected) > TOUCH * np.abs(expected).max()
    return np.where(pressed, found / np.where(pressed, expected, 1.0) - 1.0, 0.0)
