"""What every linear solver hands back, and those that factorise: SuperLU, pardiso, CHOLMOD."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix, diags, tril, triu
from scipy.sparse.linalg import splu

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError

Kind = Literal["spd", "indefinite", "unsymmetric"]
"""Symmetric positive definite, symmetric with both signs (saddle points, tangents beyond stability), or neither."""
SINGULAR = (
    "solvers.fem.linear_solver: the matrix is singular, so something can move without resistance; add supports, "
    "or give the material a stiffness in every direction"
)
PARDISO_TYPES = {"spd": 2, "indefinite": -2, "unsymmetric": 11}
"""Pardiso's numbers for real matrices."""
PARDISO_SETTINGS = {1: 1, 2: 2, 10: 8, 18: -1}
"""Own settings: nested dissection, pivots below 1e-8 perturbed (and the answer then refined), entries counted."""
PARDISO_SADDLE = {11: 1, 13: 1, 21: 1}
"""Scaling, matching and 2 x 2 pivots, without which the zero diagonal of a saddle point costs digits."""


class SingularMatrix(RheotwinError):
    """A matrix that cannot be factorised."""


class Solve(Protocol):
    """Maps right-hand sides (n,) or (n, m) to solutions of the same shape."""

    def __call__(self, right: Array, guess: Array | None = None) -> Array:
        """Solve; an iteration starts at `guess` (n,) or (n, m), a factorisation has no use for it."""


@dataclass
class Count:
    """Iterations of the last solve (the largest of its columns) and of all; zero where nothing iterates."""

    last: int = 0
    total: int = 0


@dataclass(frozen=True)
class Factor:
    """A matrix ready to be solved with: who does it, why, and what it took."""

    solver: str
    solve: Solve
    reason: str = "asked for"
    setup_seconds: float = 0.0
    stored: int = 0
    """Numbers the factor or the multigrid levels keep; 0 where the library does not tell."""
    count: Count = field(default_factory=Count)
    matrix: Any = None
    """Whatever multiplies unknowns by `@`, where the solver iterates and is glad of a first guess."""
    again: Callable[[csr_matrix], Factor] | None = None
    """Takes a matrix of the same unknowns that is much like this one, where that spares most of the set-up."""

    @property
    def iterations(self) -> int:
        """Iterations of the last solve."""
        return self.count.last

    def describe(self) -> dict[str, Any]:
        """Return the description for a run's statistics."""
        return {
            "linear_solver": self.solver,
            "linear_solver_reason": self.reason,
            "linear_solver_setup_seconds": self.setup_seconds,
            "linear_solver_stored": self.stored,
            "linear_solver_iterations": self.count.total,
        }


def factorise_superlu(matrix: csr_matrix, kind: Kind) -> Factor:
    """Factorise; a definite matrix is ordered symmetrically and needs no pivoting, the others pivot."""
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


def pardiso_installed() -> bool:
    """Tell whether pypardiso is there."""
    return find_spec("pypardiso") is not None


def factorise_pardiso(matrix: csr_matrix, kind: Kind) -> Factor:
    """Factorise the upper triangle, or all where unsymmetric; MKL's memory goes with the last reference."""
    try:
        from pypardiso import PyPardisoSolver
        from pypardiso.pardiso_wrapper import PyPardisoError
    except ImportError as error:
        raise RheotwinError(
            'solvers.fem.linear_solver: pardiso is not installed; pip install "rheotwin[pardiso]" or choose splu'
        ) from error
    solver: Any = PyPardisoSolver(mtype=PARDISO_TYPES[kind])
    for place, value in (PARDISO_SETTINGS | (PARDISO_SADDLE if kind == "indefinite" else {})).items():
        solver.set_iparm(place, value)
    # Every new solver would search the disk for MKL, which takes longer than to factorise 10,000 unknowns.
    os.environ.setdefault("PYPARDISO_MKL_RT", str(solver.libmkl._name))
    upper = csr_matrix(matrix).sorted_indices() if kind == "unsymmetric" else _upper(matrix)
    try:
        solver.factorize(upper)
    except (PyPardisoError, ValueError) as error:
        raise SingularMatrix(SINGULAR) from error

    def solve(right: Array, guess: Array | None = None) -> Array:
        return np.asarray(solver.solve(upper, right))

    weakref.finalize(solve, solver.free_memory, everything=True)
    return Factor("pardiso", solve, stored=int(solver.get_iparm(18)))


def _upper(matrix: csr_matrix) -> csr_matrix:
    """Return the upper triangle with its whole diagonal stored, because pardiso wants zeros there too."""
    diagonal = matrix.diagonal()
    # Ones in the place of zeros make the pattern; the values are put right afterwards.
    upper = csr_matrix(triu(matrix + diags(np.where(diagonal == 0.0, 1.0, 0.0), format="csr"), format="csr"))
    upper.sort_indices()
    upper.data[upper.indptr[:-1]] = diagonal
    return upper


def factorise_cholmod(matrix: csr_matrix, kind: Kind) -> Factor:
    """Factorise a definite matrix."""
    if kind != "spd":
        raise RheotwinError(
            "solvers.fem.linear_solver: cholmod knows definite matrices only, which those of mixed elements and of "
            "large strain are not; choose splu"
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
