"""Direct factorisation behind one small interface: factor once, solve every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix, triu
from scipy.sparse.linalg import splu

from rheotwin.errors import RheotwinError

Array = NDArray[np.float64]
Choice = Literal["auto", "splu", "pardiso"]

PARDISO_PAYS = 10_000
"""Unknowns above which pardiso is the faster one; below, starting it costs more than SuperLU's whole solve."""


@dataclass(frozen=True)
class Factor:
    """A factorised symmetric positive definite matrix."""

    solver: str
    solve: Callable[[Array], Array]


def factorise(matrix: csr_matrix, choice: Choice = "auto") -> Factor:
    """Factorise; `auto` takes pardiso for large systems when it is installed, else SuperLU, symmetrically ordered."""
    if choice == "pardiso" or (choice == "auto" and matrix.shape[0] > PARDISO_PAYS):
        pardiso = _pardiso(matrix)
        if pardiso is not None:
            return pardiso
        if choice == "pardiso":
            raise RheotwinError(
                'solvers.fem.linear_solver: pardiso is not installed; pip install "rheotwin[pardiso]" or choose splu'
            )
    factor = splu(
        csc_matrix(matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return Factor("splu", factor.solve)


def _pardiso(matrix: csr_matrix) -> Factor | None:
    try:
        from pypardiso import PyPardisoSolver
    except ImportError:
        return None
    solver: Any = PyPardisoSolver(mtype=2)
    fixed = triu(matrix, format="csr")
    fixed.sort_indices()
    solver.factorize(fixed)
    return Factor("pardiso", lambda right: np.asarray(solver.solve(fixed, right)))
