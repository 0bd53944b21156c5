"""Multigrid for the free components of any stiffness matrix, whole nodes kept together as blocks.

Supports may hold single components of a node. Its block then keeps a row for them, coupled to nothing, so that the
blocks stay d x d; nodes held altogether are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix

from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.linear.column_product import COLUMNS
from rheotwin.fem.linear.factor import Count, Factor
from rheotwin.fem.linear.multigrid import TOLERANCE, Multigrid
from rheotwin.fem.linear.rigid_modes import rigid_body_modes

Array = NDArray[np.float64]

ALONE = 4
"""Right-hand sides up to which solving one after the other is as quick as together."""


@dataclass(frozen=True)
class Nodes:
    """Where the unknowns of a matrix live: row i is component free[i] of points (N, d) [m] counted node-major."""

    points: Array
    free: NDArray[Any]

    @property
    def dimension(self) -> int:
        """Components per node."""
        return int(self.points.shape[1])


def prepare_amg(matrix: csr_matrix, nodes: Nodes | None, tolerance: float = TOLERANCE) -> Factor:
    """Set up conjugate gradients with multigrid; without `nodes` it takes the unknowns for a single field."""
    if nodes is None:
        rows, places = BlockRows.from_sparse(matrix, 1), np.arange(matrix.shape[0])
        modes = np.ones((matrix.shape[0], 1))
    else:
        rows, places, modes = _blocked(matrix, nodes)
    solver, count = Multigrid.of(rows, modes, tolerance), Count()

    def padded(values: Array) -> Array:
        out = np.zeros((rows.rows * rows.dimension, *values.shape[1:]))
        out[places] = values
        return out

    def some(right: Array, guess: Array | None) -> Array:
        outcome = solver.solve(padded(right), None if guess is None else padded(guess))
        count.last, count.total = max(count.last, outcome.iterations), count.total + outcome.iterations
        return np.asarray(outcome.solution[places])

    def solve(right: Array, guess: Array | None = None) -> Array:
        count.last = 0
        if right.ndim == 1:
            return some(right, guess)
        out = np.empty(right.shape)
        for first in range(0, right.shape[1], COLUMNS):
            chosen = slice(first, first + COLUMNS)
            if right[:, chosen].shape[1] <= ALONE:
                for k in range(first, right.shape[1]):
                    out[:, k] = some(right[:, k], None if guess is None else guess[:, k])
            else:
                out[:, chosen] = some(right[:, chosen], None if guess is None else guess[:, chosen])
        return out

    return Factor("amg", solve, stored=solver.stored, count=count)


def _blocked(matrix: csr_matrix, nodes: Nodes) -> tuple[BlockRows, NDArray[np.int64], Array]:
    """Return the matrix on whole nodes, the place in it of every unknown, and the rigid body modes."""
    d = nodes.dimension
    used, node = np.unique(np.asarray(nodes.free) // d, return_inverse=True)
    places = node * d + np.asarray(nodes.free) % d
    size = len(used) * d
    entries = coo_matrix(matrix)
    absent = np.setdiff1d(np.arange(size), places)
    scale = float(np.abs(matrix.diagonal()).mean())
    triplets = (
        np.concatenate([entries.data, np.full(len(absent), scale)]),
        (np.concatenate([places[entries.row], absent]), np.concatenate([places[entries.col], absent])),
    )
    modes = rigid_body_modes(nodes.points[used])
    modes[absent] = 0.0
    return BlockRows.from_sparse(csr_matrix(triplets, shape=(size, size)), d), places, modes
