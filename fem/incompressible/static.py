"""Systems with pressure rows: the step matrix [A B^T; B -C/kappa], and statics of incompressible bodies (spec 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bmat, csc_matrix, csr_matrix
from scipy.sparse.linalg import splu

from rheotwin.fem.forms import shear_matrix
from rheotwin.fem.incompressible.form import MixedForm

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

RIGID_BULK = 1e12
"""Bulk over shear modulus that stands for K = infinity (E10): the volume errs by 1e-12 of the shear strain, and
dependent constraints share their pressure instead of making the system singular."""


def augmented(stiffness: csr_matrix, form: MixedForm, modulus: float) -> csr_matrix:
    """Return [A B^T; B -C/kappa]; eliminating the pressures gives A + kappa J_vol.

    `modulus` kappa [Pa] multiplies J_vol and may have either sign but must not vanish (then A alone is the matrix).
    """
    return bmat([[stiffness, form.gradient.T], [form.gradient, -form.mass / modulus]], format="csr")


def incompressible_statics(
    form: MixedForm,
    shear: float,
    force: Array,
    held: Indices,
    *,
    bulk: float | None = None,
    extra: csr_matrix | None = None,
) -> tuple[Array, Array]:
    """Return displacements [m] and pressures [Pa] (tension positive) of an elastic body under nodal forces [N].

    Solves (2 mu eps + lambda theta I) with lambda = K - 2 mu/3 and the components `held` at rest; `bulk` None stands
    for K = infinity. `extra` is a stiffness to add, such as the soft area elements of patch constraints.
    """
    stiffness = shear * shear_matrix(form.basis)
    if extra is not None:
        stiffness = stiffness + extra
    modulus = RIGID_BULK * shear if bulk is None else bulk - 2.0 * shear / 3.0
    size, pressures = stiffness.shape[0], form.mass.shape[0]
    free = np.setdiff1d(np.arange(size + pressures), held)
    system = csc_matrix(augmented(stiffness, form, modulus)[free][:, free])
    solution = np.zeros(size + pressures)
    # partial pivoting: the matrix is indefinite, so the symmetric mode without pivoting would divide by small numbers
    solution[free] = splu(system).solve(np.concatenate([force, np.zeros(pressures)])[free])
    return solution[:size], solution[size:]
