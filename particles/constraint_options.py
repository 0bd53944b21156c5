"""Options of the truss solver for constraints, and the constraints of a problem by them (spec 5, 9)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field
from scipy.sparse import vstack

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.constraint_set import ConstraintSet, DrivenPoints, pack_constraints
from rheotwin.constraints.feasible import ConstraintReport, constraint_report
from rheotwin.constraints.links import LinkConstraints, link_constraints
from rheotwin.constraints.measure import MeasureConstraints, measure_constraints
from rheotwin.constraints.patches import PatchKind, cell_groups, patches
from rheotwin.constraints.stabilisation import INDEPENDENT, REGULARISATION
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.tensors import padded

CORRECTION = 0.5
"""om h of the constraints unless the scene says otherwise: still smooth for nonlinear ones (spec 2.3)."""
LARGEST = {"semi-implicit": 2.0 * np.sqrt(2.0) - 2.0, "euler": 2.0, "rk4": 2.785293563405282}
"""om h up to which each rule is stable on a pair of roots -om."""


class ConstraintOptions(BaseModel):
    """Constraints beside the scene's links."""

    incompressible: PatchKind | None = Field(
        default=None,
        description="keeps the volume (2D: area) of patches of tets or triangles by constraint stabilisation: `node` "
        "around each node, `cell` of each split cube or square, `element` of each (papers; locks)",
    )
    supports: Literal["eliminated", "stabilised"] = Field(
        default="eliminated",
        description="held and driven components: put where their motion wants them, or (papers) drawn there by "
        "constraint stabilisation, whose multipliers are the reactions",
    )
    constraint_frequency: float | None = Field(
        default=None,
        gt=0.0,
        allow_inf_nan=False,
        description="how fast links, volumes and stabilised supports are corrected [1/s], default 0.5/step; times the "
        "step it must stay below 0.828 (semi-implicit), 2 (euler), 2.785 (rk4)",
    )


@dataclass(frozen=True)
class Constrained:
    """The constraints of a truss: compiled, and what was found about them before the run."""

    packed: ConstraintSet
    report: ConstraintReport | None

    @property
    def count(self) -> int:
        """Number of constraints."""
        return len(self.packed.right)

    def tensions(self, problem: Problem, positions: Array, multipliers: Array) -> dict[str, Array]:
        """Return the tension (members,) [N] of each link of the scene, at positions (N, 3) [m]."""
        rows = link_constraints(problem.links, problem.points.shape)
        found = rows.tension(positions, multipliers[: rows.count])
        ends = np.cumsum([0, *(len(link.nodes) for link in problem.links)])
        return {f"link.{link.name}": found[ends[k] : ends[k + 1]] for k, link in enumerate(problem.links)}

    def statistics(self, steps: int) -> dict[str, Any]:
        """Return counts, rank and the work of the solver."""
        if self.report is None:
            return {}
        work = float(self.packed.rows.work[0])
        found = self.report.entries() | {"constraint_frequency": self.packed.frequency}
        return found | ({"constraint_iterations_per_step": work / steps} if steps else {})


def build_constraints(problem: Problem, options: ConstraintOptions, stepper: str, h: float) -> Constrained:
    """Return the constraints of a problem for steps of `h` [s], with a look at their rank."""
    links = link_constraints(problem.links, problem.points.shape)
    measures = None if options.incompressible is None else _volumes(problem, options.incompressible)
    driven = _driven(problem, stabilised=options.supports == "stabilised")
    report = None
    frequency = CORRECTION / h if options.constraint_frequency is None else options.constraint_frequency
    if links.count or measures is not None or len(driven.node):
        _check_rule(stepper, frequency, h)
        report = _report(problem, options, links, measures)
    elif options.constraint_frequency is not None:
        raise RheotwinError(
            "solvers.truss.constraint_frequency: there is nothing it could correct; leave it out, or give links, "
            '`incompressible` or supports = "stabilised"'
        )
    moves = (problem.owners < 0) | (options.supports == "stabilised")
    inverse = padded(np.where(moves, 1.0 / problem.masses[:, None], 0.0))
    share = INDEPENDENT if report is None or report.independent else REGULARISATION
    return Constrained(pack_constraints(links, measures, driven, inverse, frequency, share=share), report)


def _volumes(problem: Problem, kind: PatchKind) -> MeasureConstraints:
    """Return the constraints of all bodies."""
    simplices, groups = cells_of_bodies(problem, cells=kind == "cell")
    return measure_constraints(patches(kind, simplices, problem.points, groups), problem.points)


def cells_of_bodies(problem: Problem, *, cells: bool) -> tuple[Indices, Indices | None]:
    """Return the cells of all bodies, one after the other; with `cells` also the square or cube each simplex is of."""
    points, bodies = problem.points, problem.bodies
    simplices = [np.ascontiguousarray(body.mesh.t.T + body.first_node, dtype=np.int64) for body in bodies]
    groups, count = None, 0
    if cells and simplices[0].shape[1] == points.shape[1] + 1 >= 3:
        found = []
        for own in simplices:
            found.append(cell_groups(own, points) + count)
            count = int(found[-1].max()) + 1
        groups = np.concatenate(found)
    return np.concatenate(simplices), groups


def _driven(problem: Problem, *, stabilised: bool) -> DrivenPoints:
    """Return the held components as constraints, or none."""
    node, component = np.nonzero(problem.owners >= 0) if stabilised else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    motions = [item.motion for item in problem.prescribed]
    return DrivenPoints(node, component, problem.owners[node, component], motions, problem.points)


def _report(
    problem: Problem, options: ConstraintOptions, links: LinkConstraints, measures: MeasureConstraints | None
) -> ConstraintReport:
    """Look at links and volumes on what supports leave free, whichever way these hold; warn of what will disappoint."""
    names = [name for link in problem.links for name in link.members]
    gradients, held = [links.gradient(problem.points)], problem.owners.ravel() >= 0
    if measures is not None:
        names += [f"{options.incompressible} volume {k}" for k in range(measures.count)]
        gradients.append(measures.gradient(problem.points))
    report = constraint_report(names, vstack(gradients, format="csr"), held, kind=str(options.incompressible))
    if measures is not None and report.rank.locks:
        warnings.warn(f"solvers.truss.incompressible: {report.rank.sentence()}", stacklevel=2)
    if any(name.startswith("links.") for name in report.dependent):
        warnings.warn(str(report.sentence()), stacklevel=2)
    return report


def _check_rule(stepper: str, frequency: float, h: float) -> None:
    if stepper not in LARGEST:
        raise RheotwinError(
            f"solvers.truss.stepper: {stepper!r} knows no constraints (links, `incompressible`, stabilised supports); "
            'use "semi-implicit", "euler" or "rk4"'
        )
    limit = LARGEST[stepper] / h
    if frequency >= limit:
        raise RheotwinError(
            f"solvers.truss.constraint_frequency: {frequency:.6g}/s is not below the {limit:.6g}/s up to which "
            f"{stepper} corrects constraints at a step of {h:.6g} s without overshooting for ever; choose at most "
            f"{CORRECTION / h:.3g} or leave it out"
        )
