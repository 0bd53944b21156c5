"""Levels of smoothed aggregation (Vanek, Mandel, Brezina 1996) for a stiffness matrix, in single-precision block rows.

Aggregates and their orthonormal modes come from pyamg; the prolongation is P = (I - w D^-1 A) T with w = 4/(3 rho),
rho the spectral radius of D^-1 A, and the coarse matrix P' A P. The rigid body modes are what aggregates interpolate
exactly; without the rotations the number of iterations grows with the size of the mesh. Single precision halves
memory and time, and suffices: the levels only precondition. Nothing here is random, so that runs repeat bitwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh
from scipy.sparse import bsr_matrix, csr_matrix, diags
from scipy.sparse.linalg import LinearOperator, eigsh

from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.linear.threads import single_thread
from rheotwin.fem.linear.vcycle import Level

Single = NDArray[np.float32]

COARSEST = 300
"""Unknowns below which coarsening stops and a dense inverse takes over."""
DEEPEST = 12
"""Most levels; coarsening that slow has failed."""
SAFETY = 1.05
"""Factor on the estimated spectral radius, which comes from below."""


def build_levels(matrix: BlockRows, modes: NDArray[Any]) -> list[Level]:
    """Return the levels of an SPD matrix, finest first, from the columns (n, k) it should not see as stiff."""
    with single_thread():
        finest = matrix.astype(np.float32)
        current, candidates = finest.to_sparse(), modes.astype(np.float32)
        levels: list[Level] = []
        while current.shape[0] > COARSEST and len(levels) < DEEPEST:
            rows = finest if not levels else _block_rows(current)
            inverse = _inverse_diagonal(current)
            radius = SAFETY * _spectral_radius(rows, inverse)
            prolong, candidates = _prolongation(current, candidates, inverse, radius)
            if prolong.shape[1] >= current.shape[0]:
                break
            restrict = prolong.T.tobsr()
            levels.append(Level(rows, inverse, radius, _block_rows(prolong), _block_rows(restrict)))
            current = restrict @ (current @ prolong)
        return [*levels, _coarsest(current)]


def _inverse_diagonal(matrix: bsr_matrix) -> Single:
    """Return 1/diagonal, and zero for modes that an aggregate does not have (no stiffness at all)."""
    diagonal = matrix.diagonal()
    present = diagonal > 1e-6 * diagonal.max()
    inverse: Single = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=present)
    return inverse


def _spectral_radius(matrix: BlockRows, inverse: Single) -> float:
    """Estimate the largest eigenvalue of D^-1 A by a few Lanczos steps on D^-1/2 A D^-1/2."""
    root = np.sqrt(inverse)
    operator = LinearOperator((root.size, root.size), lambda x: root * (matrix @ (root * x.ravel())), dtype=np.float32)
    start = np.random.default_rng(0).standard_normal(root.size).astype(np.float32)
    return float(eigsh(operator, k=1, ncv=10, tol=0.05, v0=start, return_eigenvectors=False)[0])


def _prolongation(matrix: bsr_matrix, candidates: Single, inverse: Single, radius: float) -> tuple[bsr_matrix, Single]:
    """Return the smoothed prolongation of one level and the candidates of the next."""
    from pyamg.aggregation import fit_candidates, standard_aggregation

    coupled = csr_matrix((np.ones(len(matrix.indices), np.int8), matrix.indices, matrix.indptr))
    groups, _ = standard_aggregation(coupled)
    tentative, coarse = fit_candidates(groups, candidates)
    smoothed = diags(np.float32(4.0 / 3.0 / radius) * inverse) @ (matrix @ tentative)
    return (tentative - bsr_matrix(smoothed, blocksize=tentative.blocksize)).astype(np.float32), coarse


def _block_rows(matrix: Any) -> BlockRows:
    """Return a matrix as rows of 3 x 3 blocks where its shape allows, else of single values."""
    dimension = 3 if matrix.shape[0] % 3 == 0 and matrix.shape[1] % 3 == 0 else 1
    return BlockRows.from_sparse(matrix, dimension, np.float32)


def _coarsest(matrix: bsr_matrix) -> Level:
    """Return the level that multiplies by the inverse; modes without stiffness stay at zero."""
    inverse = pinvh(matrix.toarray().astype(np.float64), rtol=1e-6)
    return Level(_block_rows(csr_matrix(inverse)), np.zeros(len(inverse), np.float32), 0.0)
