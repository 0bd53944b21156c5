"""Matrices in compressed rows of d x d blocks, and their product with a vector.

Three components at a node make every entry of a stiffness a 3 x 3 block: one index serves nine values, and the
product reads each node's components once. Values are kept column by column for `vector_row`.
Only contraction of products and sums is allowed: all of `fastmath` made this product three times slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import bsr_matrix, csr_matrix

from rheotwin.fem.fast.vector_row import block_row_product
from rheotwin.kernels.compiled import compiled

Reals = NDArray[Any]
Integers = NDArray[np.int32]


@dataclass(frozen=True)
class BlockRows:
    """A matrix of d x d blocks; `indptr` (N+1,) and `indices` (n,) as in scipy's block rows, int32.

    `values` (n d d + 1,) holds the blocks one after the other, each column by column, and one unused value.
    """

    dimension: int
    indptr: Integers
    indices: Integers
    values: Reals

    @classmethod
    def from_blocks(cls, indptr: NDArray[Any], indices: NDArray[Any], blocks: Reals) -> BlockRows:
        """Take over compressed rows with blocks (n, d, d) in rows and columns."""
        values = np.zeros(blocks.size + 1, dtype=blocks.dtype)
        values[:-1].reshape(blocks.shape)[...] = blocks.transpose(0, 2, 1)
        return cls(blocks.shape[1], indptr.astype(np.int32), indices.astype(np.int32), values)

    @classmethod
    def from_sparse(cls, matrix: Any, dimension: int, dtype: DTypeLike = np.float64) -> BlockRows:
        """Convert any scipy sparse matrix whose sizes are multiples of `dimension`; rows come out sorted."""
        blocked = bsr_matrix(csr_matrix(matrix), blocksize=(dimension, dimension))
        blocked.sort_indices()
        return cls.from_blocks(blocked.indptr, blocked.indices, blocked.data.astype(dtype))

    @property
    def rows(self) -> int:
        """Number of block rows."""
        return len(self.indptr) - 1

    @property
    def blocks(self) -> Reals:
        """The blocks (n, d, d) as a view, [block, row, column]."""
        d = self.dimension
        return self.values[:-1].reshape(-1, d, d).transpose(0, 2, 1)

    @property
    def bytes(self) -> int:
        """Memory one product reads [byte]."""
        return self.indptr.nbytes + self.indices.nbytes + self.values.nbytes

    def to_sparse(self) -> bsr_matrix:
        """Return the same matrix, if it is square, as scipy block rows."""
        size = self.rows * self.dimension
        return bsr_matrix((np.ascontiguousarray(self.blocks), self.indices, self.indptr), shape=(size, size))

    def astype(self, dtype: DTypeLike) -> BlockRows:
        """Return the matrix with its values in another precision."""
        return BlockRows(self.dimension, self.indptr, self.indices, self.values.astype(dtype))

    def product(self, x: Reals, out: Reals | None = None) -> Reals:
        """Return K x for flat x (N d,) of the same precision, written to `out` if given."""
        y = np.empty_like(x) if out is None else out
        multiply_rows(self.dimension, self.indptr, self.indices, self.values, x, y, 0, self.rows)
        return y

    def __matmul__(self, x: Reals) -> Reals:
        """K x."""
        return self.product(np.ascontiguousarray(x, dtype=self.values.dtype))


@compiled(contract=True, nogil=True)
def multiply_rows(
    dimension: int, indptr: Integers, indices: Integers, values: Reals, x: Reals, y: Reals, first: int, last: int
) -> None:
    """Write y = K x for the block rows first <= i < last; every array flat."""
    zero = values.dtype.type(0)
    if dimension == 3:
        for i in range(first, last):
            y[3 * i], y[3 * i + 1], y[3 * i + 2] = block_row_product(values, indices, x, indptr[i], indptr[i + 1])
    elif dimension == 2:
        for i in range(first, last):
            y0, y1 = zero, zero
            for k in range(indptr[i], indptr[i + 1]):
                x0, x1 = x[2 * indices[k]], x[2 * indices[k] + 1]
                y0 += values[4 * k] * x0 + values[4 * k + 2] * x1
                y1 += values[4 * k + 1] * x0 + values[4 * k + 3] * x1
            y[2 * i], y[2 * i + 1] = y0, y1
    else:
        for i in range(first, last):
            y0 = zero
            for k in range(indptr[i], indptr[i + 1]):
                y0 += values[k] * x[indices[k]]
            y[i] = y0
