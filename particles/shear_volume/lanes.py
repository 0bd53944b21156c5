"""Simplices CHUNK at a time: gather edges, compute in vectors, scatter corner forces.

Scratch of a chunk and constants of its elements lie component by component, so that what is computed from them runs in
vectors and stays in the nearest cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import aligned_copy

Array = NDArray[np.float64]
Corners = NDArray[np.int32]

CHUNK = 128
"""Elements per pass."""


def chunks_of(count: int) -> int:
    """Return how many chunks hold `count` elements."""
    return -(-count // CHUNK)


def in_chunks(values: ArrayLike, *, forces: bool = False) -> Array:
    """Return rows (..., E) as (chunks, ..., CHUNK), the last one filled up with copies of the last element.

    What makes `forces` is zero in the copies.
    """
    rows = np.atleast_1d(np.asarray(values, dtype=float))
    count = rows.shape[-1]
    if not count:
        return np.zeros((0, *rows.shape[:-1], CHUNK))
    lanes = np.arange(chunks_of(count) * CHUNK)
    spread = np.where(forces & (lanes >= count), 0.0, rows[..., np.minimum(lanes, count - 1)])
    split = np.moveaxis(spread.reshape(*rows.shape[:-1], chunks_of(count), CHUNK), -2, 0)
    found: Array = aligned_copy(split, float)
    return found


def corners_in_chunks(corners: NDArray[Any]) -> Corners:
    """Return corners (E, k) filled up to whole chunks by the last element."""
    padding = chunks_of(len(corners)) * CHUNK - len(corners)
    return np.concatenate([corners, np.repeat(corners[-1:], padding, axis=0)]).astype(np.int32)


@compiled(nogil=True)
def gather_tets(corners: Corners, first: int, x: Array, edges: Array) -> None:
    """Write the edges from corner 0 of CHUNK tetrahedra: rows e1x, e1y, e1z, e2x, ..."""
    for lane in range(CHUNK):
        e = first + lane
        o, p, q, r = corners[e, 0], corners[e, 1], corners[e, 2], corners[e, 3]
        for c in range(3):
            base = x[o, c]
            edges[c * CHUNK + lane] = x[p, c] - base
            edges[(3 + c) * CHUNK + lane] = x[q, c] - base
            edges[(6 + c) * CHUNK + lane] = x[r, c] - base


@compiled(nogil=True)
def scatter_tets(corners: Corners, first: int, pulls: Array, force: Array) -> None:
    """Add the forces on corners 1, 2 and 3 of the tetrahedra of a chunk; corner 0 takes the reaction."""
    for lane in range(CHUNK):
        e = first + lane
        o, p, q, r = corners[e, 0], corners[e, 1], corners[e, 2], corners[e, 3]
        for c in range(3):
            fp, fq, fr = pulls[c * CHUNK + lane], pulls[(3 + c) * CHUNK + lane], pulls[(6 + c) * CHUNK + lane]
            force[p, c] += fp
            force[q, c] += fq
            force[r, c] += fr
            force[o, c] -= fp + fq + fr
