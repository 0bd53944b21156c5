"""Whether particles fill a box: their place in its rows, found from positions, however they are numbered or turned."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SAME_PLACE = 1e-7
"""Coordinates closer than this share of the body's extent belong to one row."""
DIRECTIONS = 13
"""Most edge directions that are tried as axes: a lattice has 13."""


def bodies(edges: Indices, count: int) -> Indices:
    """Return the number of the connected body that each of `count` particles belongs to."""
    ones = np.ones(len(edges), dtype=np.int8)
    return np.asarray(connected_components(csr_matrix((ones, edges.T), shape=(count, count)), directed=False)[1])


def box_places(points: Array, vectors: Array) -> Indices | None:
    """Return the places (N, 3) of points (N, 3) [m] in a box of rows, None if they do not fill one.

    `vectors` (M, 3) are the body's edges: their directions are tried as axes after those of the coordinates.

    >>> box_places(np.array([[0.0, 5.0, 0.0], [0.0, 2.0, 0.0]]), np.zeros((0, 3))).tolist()
    [[0, 1, 0], [0, 0, 0]]
    """
    for axes in _frames(vectors):
        places = _ranks(points @ axes.T)
        counts = (places.max(axis=0) + 1).tolist()
        if prod(counts) == len(points):
            numbers = np.ravel_multi_index(tuple(places.T), tuple(counts))
            if len(np.unique(numbers)) == len(points):
                return places
    return None


def _frames(vectors: Array) -> Iterator[Array]:
    """Yield frames of three orthogonal unit vectors, the commonest pairs of edge directions first."""
    yield np.eye(3)
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors[lengths > 0.0] / lengths[lengths > 0.0, None]
    if not len(units):
        return
    rounded = np.round(units, 6) + 0.0
    leading = rounded[np.arange(len(rounded)), np.argmax(rounded != 0.0, axis=1)]
    _, first, counts = np.unique(rounded * np.sign(leading)[:, None], axis=0, return_index=True, return_counts=True)
    common = units[first[np.argsort(-counts, kind="stable")[:DIRECTIONS]]]
    for k, one in enumerate(common):
        for other in common[k + 1 :]:
            if abs(one @ other) < 1e-6:
                second = other - (other @ one) * one
                second /= np.linalg.norm(second)
                yield np.stack([one, second, np.cross(one, second)])


def _ranks(coordinates: Array) -> Indices:
    """Number the distinct values of every column in increasing order."""
    apart = SAME_PLACE * max(np.ptp(coordinates, axis=0).max(), np.finfo(float).tiny)
    ranks = np.empty(coordinates.shape, dtype=np.int64)
    for axis in range(3):
        order = np.argsort(coordinates[:, axis], kind="stable")
        steps = np.diff(coordinates[order, axis], prepend=coordinates[order[0], axis]) > apart
        ranks[order, axis] = np.cumsum(steps)
    return ranks
