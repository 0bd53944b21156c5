"""CHOLMOD, where scikit-sparse or cvxopt is installed: a sparse Cholesky factorisation of definite matrices."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix, tril

from rheotwin.errors import RheotwinError
from rheotwin.fem.linear.factor import Factor, Kind
from rheotwin.fem.linear.singular import SINGULAR, SingularMatrix

Array = NDArray[np.float64]


def factorise_cholmod(matrix: csr_matrix, kind: Kind) -> Factor:
    """Factorise a definite matrix."""
    if kind != "spd":
        raise RheotwinError(
            "solvers.fem.linear_solver: cholmod cannot solve the indefinite systems of mixed elements; choose splu"
        )
    if find_spec("sksparse") is not None:
        return _by_scikit_sparse(matrix)
    if find_spec("cvxopt") is not None:
        return _by_cvxopt(matrix)
    raise RheotwinError(
        "solvers.fem.linear_solver: cholmod is not installed; pip install cvxopt (or scikit-sparse) or choose splu"
    )


def _by_scikit_sparse(matrix: csr_matrix) -> Factor:
    from sksparse.cholmod import CholmodNotPositiveDefiniteError, cholesky

    try:
        factor = cholesky(csc_matrix(matrix))
    except CholmodNotPositiveDefiniteError as error:
        raise SingularMatrix(SINGULAR) from error

    def solve(right: Array, guess: Array | None = None) -> Array:
        return np.asarray(factor(right))

    return Factor("cholmod", solve)


def _by_cvxopt(matrix: csr_matrix) -> Factor:
    from cvxopt import cholmod, spmatrix
    from cvxopt import matrix as dense

    lower = coo_matrix(tril(matrix))
    columns = spmatrix(lower.data, lower.row.astype(int), lower.col.astype(int), matrix.shape)
    factor: Any = cholmod.symbolic(columns)
    try:
        cholmod.numeric(columns, factor)
    except ArithmeticError as error:
        raise SingularMatrix(SINGULAR) from error

    def solve(right: Array, guess: Array | None = None) -> Array:
        block = dense(np.asfortranarray(right.reshape(len(right), -1)))
        cholmod.solve(factor, block)
        return np.array(block).reshape(right.shape)

    return Factor("cholmod", solve)
