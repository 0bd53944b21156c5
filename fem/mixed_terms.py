"""The terms of a body whose volume strain comes from a pressure space (spec 5, `fem.incompressible`).

    sigma = 2 mu eps + (K - 2 mu/3) theta I,      theta = C^-1 B u

so J_mu carries the shear channel and J_vol = B' C^-1 B the bulk channel less 2/3 of the shear channel.
`incompressible` replaces the bulk modulus by a rigid one; the shear modulus stays the law's (E/3 at nu = 1/2, E10).
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.constraints.rank import rank_report
from rheotwin.constraints.soft_measure import soft_measure
from rheotwin.errors import RheotwinError
from rheotwin.fem.forms import shear_matrix
from rheotwin.fem.incompressible import Formulation, MixedForm, mixed_form
from rheotwin.fem.space import Space
from rheotwin.fem.term import Augmentation, MixedTerm, NodalTerm, Term
from rheotwin.materials import Channel, Law
from rheotwin.problem import Problem, ProblemBody
from rheotwin.tensors import TRACE, TWICE

Array = NDArray[np.float64]

CONDENSED_BELOW = 1e4
"""Ratio of bulk to shear modulus up to which pressures of single cells are eliminated: beyond, digits would be lost."""

RIGID_STEPS = 1e8
"""Bulk over shear stiffness of a rigid volume in steps of time: each subtracts the pressure K theta of the last one,
which costs K/mu roundings; at 1/sqrt(1e-16) these and the volume that K still lets go are both 1e-8."""
USUAL_STEPS = 1000
"""Steps of a run at which a dashpot's stiffness eta/h is looked at."""


def require_volume(problem: Problem, formulation: Formulation) -> None:
    """Refuse bars and plane stress."""
    if problem.dimension < 2 or problem.plane == "stress":
        raise RheotwinError(
            f"solvers.fem.formulation: {formulation} holds the volume, which a bar or plane stress leaves free; "
            'use formulation = "displacement"'
        )


def body_form(body: ProblemBody, problem: Problem, formulation: Formulation, *, incompressible: bool) -> MixedForm:
    """Return the pair of spaces of a body; the papers' constraint per element says how badly it locks."""
    require_volume(problem, formulation)
    ratio = RIGID_STEPS if incompressible else stiffness_ratio(body.law)
    ring = problem.plane == "axisymmetric"
    form = mixed_form(body.mesh, body.cell, formulation, ratio=ratio, axisymmetric=ring)
    if formulation == "element":
        report = rank_report("element", form.gradient, problem.owners[body.nodes] >= 0)
        warnings.warn(f"bodies.{body.name}: {report.sentence()}", stacklevel=2)
    return form


def stiffness_ratio(law: Law) -> float:
    """Return bulk over shear modulus of a law's springs, or of its dashpots where it has no springs."""
    bulk, shear = law.channel("bulk"), law.channel("shear")
    if shear.instantaneous:
        return bulk.instantaneous / shear.instantaneous
    return bulk.viscosity / shear.viscosity


def shear_term(body: ProblemBody, problem: Problem, space: Space) -> NodalTerm:
    """Return J_mu with the shear channel: 2 mu eps."""
    matrix = problem.thickness * shear_matrix(space.basis, axisymmetric=space.axisymmetric)
    return NodalTerm(matrix.tocsr(), body.law.channel("shear"), TWICE, lambda s: (space.strain @ s).reshape(-1, 6))


def soft_term(body: ProblemBody, problem: Problem, space: Space, kind: PatchKind, share: float) -> NodalTerm:
    """Return what holds the volume ratio of single cells at the mean of their patches, K_s = `share` mu (spec 5)."""
    if space.axisymmetric:
        raise RheotwinError(
            "solvers.fem.soft_volume: it knows areas and volumes of simplices but not rings; leave it out for plane = "
            '"axisymmetric"'
        )
    points_per_cell = space.basis.dx.shape[1]
    cells, points = body.mesh.t.T, body.mesh.p.T
    soft = soft_measure(patches(kind, cells, points), points, 1.0)
    gradient = measure_constraints(patches("element", cells, points), points).gradient(points)
    drift = (soft.difference @ gradient).tocsr()

    def tensors(state: Array) -> Array:
        found = np.zeros((len(cells) * points_per_cell, 6))
        found[:, :3] = np.repeat(drift @ state, points_per_cell)[:, None] / 3.0
        return found

    matrix = (problem.thickness * soft.stiffness(gradient)).tocsr()
    return NodalTerm(matrix, body.law.channel("shear").scaled(share), TRACE, tensors)


def mixed_terms(
    body: ProblemBody, problem: Problem, space: Space, form: MixedForm, *, incompressible: bool
) -> tuple[Term, ...]:
    """Return J_mu with the shear channel and J_vol with what is left of the bulk channel."""
    thickness, law = problem.thickness, body.law
    shear = law.channel("shear")
    stiffest = RIGID_STEPS if incompressible else stiffness_ratio(law)
    if form.is_condensable and stiffest < CONDENSED_BELOW:
        volume = (thickness * form.condensed()).tocsr()

        def by_volume(channel: Channel) -> Term:
            return NodalTerm(volume, channel, TRACE, form.tensors)
    else:
        rows = Augmentation(csr_matrix(thickness * form.gradient), csr_matrix(thickness * form.mass))

        def by_volume(channel: Channel) -> Term:
            return MixedTerm(
                channel, TRACE, rows, lambda b: form.solve_mass(b) / thickness, form.tensors, rigid=incompressible
            )

    step = problem.scene.duration / USUAL_STEPS
    rigid = Channel.elastic(RIGID_STEPS * max(shear.instantaneous, shear.viscosity / step))
    channel = rigid if incompressible else law.channel("bulk") + shear.scaled(-2.0 / 3.0)
    terms = (shear_term(body, problem, space), by_volume(channel))
    return tuple(term for term in terms if not term.channel.is_zero)
