"""Element blocks into one sparse matrix on the free components, over a pattern that is found once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Pattern:
    """Where each entry of the element blocks, and each diagonal entry, goes in the compressed rows."""

    size: int
    indptr: Indices
    indices: Indices
    places: Indices
    """Per kept entry of all blocks, one after the other: its position in the matrix data."""
    kept: Indices
    """Those entries of the flattened blocks whose row and column are both free."""
    diagonal: Indices
    dofs: tuple[Indices, ...]
    """Components (e, m) of the elements, one array per kind of block."""

    def product(self, blocks: list[Array], change: Array) -> Array:
        """Return the product of all blocks with a displacement change (size,) [m] of all components, held ones too."""
        total = np.zeros(len(change))
        for dofs, block in zip(self.dofs, blocks, strict=True):
            local = np.einsum("emn,en->em", block, change[dofs])
            total += np.bincount(dofs.ravel(), weights=local.ravel(), minlength=len(change))
        return total

    def matrix(self, blocks: list[Array], diagonal: Array) -> csr_matrix:
        """Return the sum of blocks (e, m, m) of each kind, plus a diagonal, over the free components."""
        flat = np.concatenate([block.ravel() for block in blocks])[self.kept]
        data = np.asarray(np.bincount(self.places, weights=flat, minlength=len(self.indices)), dtype=float)
        data[self.diagonal] += diagonal
        return csr_matrix((data, self.indices, self.indptr), shape=(self.size, self.size))


def pattern(dofs: list[Indices], free: NDArray[np.bool_]) -> Pattern:
    """Return the pattern of elements with components `dofs` (e, m) of each kind; `free` (size,) marks unknowns."""
    size = int(free.sum())
    number = np.full(len(free), -1)
    number[free] = np.arange(size)
    rows = np.concatenate([np.repeat(number[d], d.shape[1], axis=1).ravel() for d in dofs])
    columns = np.concatenate([np.tile(number[d], (1, d.shape[1])).ravel() for d in dofs])
    kept = np.flatnonzero((rows >= 0) & (columns >= 0))
    own = np.arange(size) * (size + 1)
    keys = np.concatenate([rows[kept] * size + columns[kept], own])
    entries, places = np.unique(keys, return_inverse=True)
    indptr = np.searchsorted(entries, np.arange(size + 1) * size)
    return Pattern(size, indptr, entries % max(size, 1), places[: len(kept)], kept, places[len(kept) :], tuple(dofs))
