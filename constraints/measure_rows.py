"""Areas and volumes of patches as rows of the compiled constraint solver: the formulas of `measure`, one pass each.

S = (g_1 . a + g_2 . b)/2,   V = (g_1 . a + g_2 . b + g_3 . c)/3      (Euler: S, V have degree 2, 3 in the edges)
2D  Q = det[a'; b'],         3D  Q = (det[a'; b'; c] + det[a'; b; c'] + det[a; b'; c'])/3      (E8)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.measure import MeasureConstraints, simplex_gradients_into

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Edge = tuple[float, float, float]


class Measures(NamedTuple):
    """Patches as the compiled loop reads them: shares `start[m]:start[m + 1]` of elements make up constraint m.

    `slot` (shares, corners) is where each corner of each share stands among the entries of the gradient, and
    `element_gradient` (elements, corners, 3) is room.
    """

    simplices: Indices
    start: Indices
    element: Indices
    share: Array
    slot: Indices
    rest: Array
    element_gradient: Array


def pack_measures(constraints: MeasureConstraints | None, corners: int = 3) -> Measures:
    """Pack the constraints of patches; none for a body of simplices with `corners`."""
    if constraints is None:
        none = np.zeros(0, np.int64)
        return Measures(
            np.zeros((0, corners), np.int64),
            np.zeros(1, np.int64),
            none,
            np.zeros(0),
            np.zeros((0, corners), np.int64),
            np.zeros(0),
            np.zeros((0, corners, 3)),
        )
    shares, simplices = constraints.patches.shares, constraints.patches.simplices
    return Measures(
        simplices=simplices,
        start=shares.indptr.astype(np.int64),
        element=shares.indices.astype(np.int64),
        share=shares.data.astype(np.float64),
        slot=constraints.node_slots,
        rest=constraints.rest,
        element_gradient=np.zeros((*simplices.shape, 3)),
    )


@njit(cache=True)
def _det(a: Edge, b: Edge, c: Edge) -> float:
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])


@njit(cache=True)
def _edge(vectors: Array, end: int, start: int) -> Edge:
    """Return the difference of two vectors; a tuple, which costs no memory in the loop."""
    return (
        vectors[end, 0] - vectors[start, 0],
        vectors[end, 1] - vectors[start, 1],
        vectors[end, 2] - vectors[start, 2],
    )


@njit(cache=True)
def _measure_and_curvature(corners: Indices, gradient: Array, x: Array, v: Array) -> tuple[float, float]:
    """Return S and Q of one triangle, V and Q of one tet."""
    first, count = corners[0], corners.shape[0]
    measure = 0.0
    for corner in range(1, count):
        for c in range(3):
            measure += gradient[corner, c] * (x[corners[corner], c] - x[first, c])
    p, q = _edge(v, corners[1], first), _edge(v, corners[2], first)
    if count == 3:
        return measure / 2.0, p[0] * q[1] - p[1] * q[0]
    a, b, c_ = _edge(x, corners[1], first), _edge(x, corners[2], first), _edge(x, corners[3], first)
    r = _edge(v, corners[3], first)
    return measure / 3.0, (_det(p, q, c_) + _det(p, b, r) + _det(a, q, r)) / 3.0


@njit(cache=True)
def fill_measures(measures: Measures, x: Array, v: Array, gradient: Array, value: Array, curvature: Array) -> None:
    """Put the entries of gradients, R and Q at positions and velocities (N, 3) into the last three."""
    if measures.rest.shape[0] == 0:
        return
    simplices, own = measures.simplices, measures.element_gradient
    simplex_gradients_into(simplices, x, own)
    gradient[:] = 0.0
    for m in range(measures.rest.shape[0]):
        total, bend = -measures.rest[m], 0.0
        for k in range(measures.start[m], measures.start[m + 1]):
            element, share = measures.element[k], measures.share[k]
            measure, curve = _measure_and_curvature(simplices[element], own[element], x, v)
            total += share * measure
            bend += share * curve
            for corner in range(simplices.shape[1]):
                for c in range(3):
                    gradient[measures.slot[k, corner], c] += share * own[element, corner, c]
        value[m], curvature[m] = total, bend
