"""The reference chosen by the program: large strain where the strain asks for it, meshes until U is small enough.

Finite elements are the reference where they are among the solvers. Their small-strain form serves up to a gradient of
displacements of `verdict.LARGE`; beyond, total Lagrangian elements do. The meshes are divided until the reference's own
uncertainty is a third of the smallest difference it judges, as long as the next one is affordable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rheotwin.refinements import LIMIT
from rheotwin.validation.run_view import RunView
from rheotwin.validation.study import labelled, with_limits
from rheotwin.validation.verdict import LARGE, judged, of_reference, small_strain_gradient

LARGE_STRAIN = "fem-large"
"""Method of a reference that the program runs beside small-strain finite elements."""
ENOUGH = 1.0 / 3.0
"""Share of the smallest difference that the reference's uncertainty may have."""
MESHES = (1, 2, 4)
"""Divisions of the scene's cells, one after the other."""
AFFORDABLE = 120.0
"""Time [s] that the next mesh may take in all cases together, judged by the last."""
DEARER = {1: 4.0, 2: 8.0, 3: 16.0}
"""Cost of a mesh with cells of half the size and steps of half the length over that of the last."""


@dataclass(frozen=True)
class Standing:
    """How good the reference is with the meshes it has: its label and whether it will do, and why, in words."""

    label: str
    enough: bool
    reason: str


def wants_large_strain(views: Sequence[RunView], solver: str) -> float | None:
    """Return what a tenth of the body strains by [1] where small strain is no reference; None where it serves."""
    most = max((small_strain_gradient(view) for view in views if view.solver == solver), default=0.0)
    return most if most > LARGE else None


def next_mesh(views: Sequence[RunView], method: str) -> tuple[int | None, str]:
    """Return the division of the next mesh that the method can afford, or None and why not."""
    family = [view for view in views if view.solver == method]
    finest = max(view.refinement for view in family)
    following = next((parts for parts in MESHES if parts > finest), None)
    if following is None:
        return None, f"{MESHES[-1]} is the finest division the program takes by itself"
    spent = sum(view.cost.wall_time or 0.0 for view in family if view.refinement == finest)
    predicted = spent * DEARER[family[0].dimension]
    if predicted > AFFORDABLE:
        return (
            None,
            f"the next mesh would take about {predicted:.0f} s: --reference auto --refine fem=1,2,4 asks for it",
        )
    return following, ""


def standing(views: Sequence[RunView], method: str) -> Standing:
    """Say how good the meshes of a method are as a reference for all other runs, in every case."""
    views = labelled(views)
    limit, cases = f"{method}@{LIMIT}", list(dict.fromkeys(view.case for view in views))
    several = len({view.refinement for view in views if view.solver == method}) > 1
    converging = several and all(of_reference(*_of_case(views, case, method))[1] for case in cases)
    found: list[tuple[float, float]] = []
    for case in cases:
        runs, judge = _of_case(with_limits(views, limit if converging else None), case, method)
        part, _ = of_reference(runs, judge)
        errors = [abs(row.error) for row in judged(runs, judge).rows if row.error is not None]
        if not errors:
            return Standing(judge.label, enough=True, reason="it has no other run to judge")
        if part.value is None:
            return Standing(judge.label if not several else method, enough=False, reason=part.why)
        found.append((part.value, min(errors)))
    uncertainty, least = max(found, key=lambda pair: pair[0] / max(pair[1], 1e-12))
    enough = uncertainty <= ENOUGH * least
    words = f"its uncertainty of {100.0 * uncertainty:.2g} % is {'' if enough else 'not '}below a third of the "
    return Standing(limit if converging else method, enough, f"{words}smallest difference, {100.0 * least:.2g} %")


def _of_case(views: Sequence[RunView], case: str | None, method: str) -> tuple[list[RunView], RunView]:
    """Return the runs of a case, and of these the limit of the method, else its run on the finest mesh."""
    runs = [view for view in views if view.case == case]
    own = [run for run in runs if run.solver == method]
    return runs, max(own, key=lambda run: (run.label.endswith(f"@{LIMIT}"), run.refinement))
