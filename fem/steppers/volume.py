"""Constant area or volume of a model's patches as constraints of the explicit rules (spec 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.constraints.rank import RankReport, rank_report
from rheotwin.constraints.stabilisation import Constraint
from rheotwin.errors import RheotwinError
from rheotwin.fem.model import Model

KINDS: dict[str, PatchKind] = {"csm-node": "node", "csm-cell": "cell", "csm-element": "element"}


def volume_constraints(
    model: Model, choice: Literal["none", "csm-node", "csm-cell", "csm-element"]
) -> tuple[Sequence[Constraint], Sequence[RankReport]]:
    """Return the constraints of every body, and what they leave of its freedom."""
    if choice == "none":
        return (), ()
    if any(body.space.order != 1 or body.space.axisymmetric for body in model.bodies):
        raise RheotwinError(
            f"solvers.fem.incompressibility: {choice} needs linear elements (order = 1) and no axis of symmetry"
        )
    constraints, reports = [], []
    for body, first in zip(model.bodies, model.first_rows, strict=True):
        space = patches(KINDS[choice], body.space.mesh.t.T + first, model.points)
        constraint = measure_constraints(space, model.points)
        constraints.append(constraint)
        reports.append(rank_report(KINDS[choice], constraint.gradient(model.points), model.held))
    return constraints, reports
