"""MKL pardiso through pypardiso (an extra): the quickest factorisation of large plane and medium spatial systems."""

from __future__ import annotations

import weakref
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags, triu

from rheotwin.errors import RheotwinError
from rheotwin.fem.linear.factor import Factor, Kind
from rheotwin.fem.linear.singular import SINGULAR, SingularMatrix

Array = NDArray[np.float64]

TYPES = {"spd": 2, "indefinite": -2}
"""Pardiso's numbers for real symmetric matrices."""
DEFAULTS = {1: 1, 2: 2, 10: 8, 18: -1}
"""Own settings: nested dissection, pivots below 1e-8 perturbed (and the answer then refined), entries counted."""
SADDLE = {11: 1, 13: 1, 21: 1}
"""Scaling, matching and 2 x 2 pivots, without which the zero diagonal of a saddle point costs digits."""


def installed() -> bool:
    """Tell whether pypardiso is there."""
    return find_spec("pypardiso") is not None


def factorise_pardiso(matrix: csr_matrix, kind: Kind) -> Factor:
    """Factorise the upper triangle; the memory that MKL holds is given back with the last reference to the factor."""
    try:
        from pypardiso import PyPardisoSolver
        from pypardiso.pardiso_wrapper import PyPardisoError
    except ImportError as error:
        raise RheotwinError(
            'solvers.fem.linear_solver: pardiso is not installed; pip install "rheotwin[pardiso]" or choose splu'
        ) from error
    solver: Any = PyPardisoSolver(mtype=TYPES[kind])
    for place, value in (DEFAULTS | (SADDLE if kind == "indefinite" else {})).items():
        solver.set_iparm(place, value)
    upper = _upper(matrix)
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
