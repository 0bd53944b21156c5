"""Constant area or volume of a model's patches as constraints of the explicit rules (spec 5)."""

from __future__ import annotations

from collections.abc import Sequence

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.constraints.rank import RankReport, rank_report
from rheotwin.constraints.stabilisation import Constraint
from rheotwin.errors import RheotwinError
from rheotwin.fem.model import Model


def volume_constraints(model: Model, kind: PatchKind) -> tuple[Sequence[Constraint], Sequence[RankReport]]:
    """Return the constraints of every body, and what they leave of its freedom."""
    if any(body.space.axisymmetric for body in model.bodies):
        raise RheotwinError(
            "solvers.fem.incompressible: volume constraints do not know rings; choose another stepper for "
            'plane = "axisymmetric"'
        )
    constraints, reports = [], []
    for body, first in zip(model.bodies, model.first_rows, strict=True):
        space = patches(kind, body.space.mesh.t.T + first, model.points)
        constraint = measure_constraints(space, model.points)
        constraints.append(constraint)
        reports.append(rank_report(kind, constraint.gradient(model.points), model.held))
    return constraints, reports
