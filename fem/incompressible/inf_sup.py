"""The inf-sup constant of a pair of spaces: whether its pressure is stable as the mesh is refined (spec 5).

    beta = min_p max_u  int p div(u) / (|p| |grad u|):   beta^2 is an eigenvalue of B H^-1 B^T p = beta^2 C p,

H the matrix of int grad u : grad v on the free components. Vanishing values are pressures that no displacement feels
(the constant of an enclosed body, checkerboards); the constant is the smallest of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu
from skfem import BilinearForm
from skfem.helpers import ddot, grad

from rheotwin.fem.incompressible.form import MixedForm

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@BilinearForm
def _gradients(u: Any, v: Any, w: Any) -> Any:
    return ddot(grad(u), grad(v))


def inf_sup_values(form: MixedForm, held: Indices) -> Array:
    """Return all values beta [-] in rising order with the components `held` fixed (dense: for small meshes)."""
    free = np.setdiff1d(np.arange(form.gradient.shape[1]), held)
    norm = csc_matrix(_gradients.assemble(form.basis).tocsr()[free][:, free])
    rows = form.gradient[:, free].toarray()
    squared = eigh(rows @ splu(norm).solve(rows.T), form.mass.toarray(), eigvals_only=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
