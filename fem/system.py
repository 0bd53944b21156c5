"""One body's semi-discrete equations: M u'' + sum_X J_X s_X = f with a channel per modulus (spec 1, 2.2).

    s_X = g_inf u + sum_a w_a + eta v,      w_a' = -w_a/tau_a + g_a v

The internal variables w are nodal vectors like u: legal because a body has one law, so that every element
shares each channel's relaxation time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from rheotwin.errors import RheotwinError
from rheotwin.fem.forms import lame_matrix, mass_matrix, nodal_strain_operator, shear_matrix, vector_basis
from rheotwin.materials import Channel, equal_poisson
from rheotwin.problem import Problem, ProblemBody

Array = NDArray[np.float64]
Split = Literal["bulk-shear", "lame"]


@dataclass(frozen=True)
class Term:
    """One geometric matrix [m^(d-2)] with the channel that multiplies it, and its strain-to-stress map (6, 6)."""

    matrix: csr_matrix
    channel: Channel
    stress_map: Array


@dataclass(frozen=True)
class BodySystem:
    """Matrices of one body; vectors run over its own degrees of freedom."""

    mass: csr_matrix
    terms: tuple[Term, ...]
    strain: csr_matrix


_TRACE = np.zeros((6, 6))
_TRACE[:3, :3] = 1.0
_TWICE = 2.0 * np.eye(6)


def _plane_stress_terms(body: ProblemBody, lame: csr_matrix, shear: csr_matrix) -> tuple[Term, ...]:
    """Eliminate the out-of-plane strain: lambda* = 2 lambda mu/(lambda + 2 mu), exact for one Poisson ratio."""
    poisson = equal_poisson(body.law)
    if poisson is None:
        raise RheotwinError(
            f"bodies.{body.name}: plane stress needs one Poisson ratio for all parts of the law; "
            'set viscous_poisson equal to poisson or use plane = "strain"'
        )
    in_plane = body.law.channel("shear").scaled(2.0 * poisson / (1.0 - poisson))
    flat = _TRACE.copy()
    flat[2] = 0.0
    keep = np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    return Term(lame, in_plane, flat), Term(shear, body.law.channel("shear"), _TWICE @ keep)


def _terms(body: ProblemBody, problem: Problem, split: Split) -> tuple[Term, ...]:
    basis = vector_basis(body.mesh, body.cell)
    lame = lame_matrix(basis)
    if problem.dimension == 1:
        uniaxial = np.zeros((6, 6))
        uniaxial[0, 0] = 1.0
        return (Term(lame, body.law.channel("young"), uniaxial),)
    shear = shear_matrix(basis)
    if problem.dimension == 2 and problem.plane == "stress":
        return _plane_stress_terms(body, lame, shear)
    law = body.law
    if split == "lame":
        return Term(lame, law.channel("lame"), _TRACE), Term(shear, law.channel("shear"), _TWICE)
    deviator, deviatoric = (shear - (2.0 / 3.0) * lame).tocsr(), _TWICE - (2.0 / 3.0) * _TRACE
    return Term(lame, law.channel("bulk"), _TRACE), Term(deviator, law.channel("shear"), deviatoric)


def _mass(body: ProblemBody, problem: Problem, consistent: bool) -> csr_matrix:
    if consistent:
        return (body.density * problem.thickness * mass_matrix(body.mesh, body.cell)).tocsr()
    return diags(np.repeat(problem.masses[body.nodes], problem.dimension)).tocsr()


def body_system(body: ProblemBody, problem: Problem, *, split: Split, consistent_mass: bool) -> BodySystem:
    """Assemble one body; thickness (2D) or section (1D) is folded into the matrices."""
    terms = tuple(
        Term((problem.thickness * term.matrix).tocsr(), term.channel, term.stress_map)
        for term in _terms(body, problem, split)
        if not term.channel.is_zero
    )
    nodes = body.mesh.p.shape[1]
    strain = nodal_strain_operator(vector_basis(body.mesh, body.cell), nodes)
    return BodySystem(_mass(body, problem, consistent_mass), terms, strain)
