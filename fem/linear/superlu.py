"""SuperLU of scipy: always there, quickest for small systems and plane ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix
from scipy.sparse.linalg import splu

from rheotwin.fem.linear.factor import Factor, Kind
from rheotwin.fem.linear.singular import SINGULAR, SingularMatrix

Array = NDArray[np.float64]


def factorise_superlu(matrix: csr_matrix, kind: Kind) -> Factor:
    """Factorise; a definite matrix is ordered symmetrically and needs no pivoting, an indefinite one pivots."""
    definite = kind == "spd"
    try:
        factor = splu(
            csc_matrix(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0 if definite else 0.1,
            options={"SymmetricMode": definite},
        )
    except RuntimeError as error:
        raise SingularMatrix(SINGULAR) from error

    def solve(right: Array, guess: Array | None = None) -> Array:
        return np.asarray(factor.solve(right))

    return Factor("splu", solve, stored=int(factor.nnz))
