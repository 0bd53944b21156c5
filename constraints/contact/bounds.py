"""Bounding boxes of faces in a binary tree per body: built once, refitted when the faces move.

Nodes are numbered in the order of a walk that goes down on the left first, so the left child follows its parent and
`skip` is where the walk goes on if a box is not entered: no stack. A node's faces are
order[first:last]; leaves are the nodes with skip = own number + 1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.vectors import Vector
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LEAF = 4
"""Most faces of a leaf."""


class Tree(NamedTuple):
    """Trees of all bodies, one after the other."""

    order: Indices
    """(F,) faces as the leaves have them."""
    first: Indices
    last: Indices
    skip: Indices
    root: Indices
    """(R + 1,) nodes root[r]:root[r + 1] belong to body r."""
    box: Array
    """(nodes, 6) smallest and largest coordinates [m]"""
    normals: Array
    """(nodes, 6) smallest and largest components of the faces' unit normals, as `bound_normals` left them"""


def build_tree(corners: Indices, points: Array, first_face: Indices) -> Tree:
    """Return the trees of faces with `corners` (F, 2 or 3) at points (N, 3) [m]; body r has first_face[r]:[r + 1]."""
    places = points[corners]
    parts = [_split(places, int(begin), int(end)) for begin, end in pairwise(first_face)]
    root = np.concatenate([[0], np.cumsum([len(nodes) for _, nodes, _ in parts])]).astype(np.int64)
    nodes = np.concatenate([np.zeros((0, 3), np.int64), *(nodes for _, nodes, _ in parts)])
    nodes[:, 2] += np.repeat(root[:-1], np.diff(root))
    first, last, skip = (np.ascontiguousarray(column) for column in nodes.T)
    box = np.concatenate([np.zeros((0, 6)), *(boxes for _, _, boxes in parts)])
    order = np.concatenate([np.zeros(0, np.int64), *(order for order, _, _ in parts)])
    return Tree(order, first, last, skip, root, box, normals=np.empty_like(box))


def _split(places: Array, begin: int, end: int) -> tuple[Indices, Indices, Array]:
    """Halve the faces begin:end at the median of their longest extent until LEAF are left.

    Returns their order, first, last and skip of each node (n, 3), and boxes (n, 6) [m]; `places` (F, k, 3) [m] are the
    corners of all faces.
    """
    centres, order = places.mean(axis=1), np.arange(begin, end)
    nodes: list[list[int]] = []
    boxes: list[Array] = []

    def go(low: int, high: int) -> None:
        number, part = len(nodes), order[low:high]
        inside = places[part].reshape(-1, 3)
        nodes.append([begin + low, begin + high, 0])
        boxes.append(np.concatenate([inside.min(axis=0), inside.max(axis=0)]))
        if high - low > LEAF:
            centre = centres[part]
            axis = int(np.argmax(np.ptp(centre, axis=0)))
            order[low:high] = part[np.argsort(centre[:, axis], kind="stable")]
            middle = (low + high) // 2
            go(low, middle)
            go(middle, high)
        nodes[number][2] = len(nodes)

    if end > begin:
        go(0, end - begin)
    return order, np.array(nodes, np.int64).reshape(-1, 3), np.array(boxes).reshape(-1, 6)


@compiled(inside=True)
def refit(
    order: Indices, first: Indices, last: Indices, skip: Indices, box: Array, normal_box: Array, face: Indices,
    x: Array, normals: Array,
) -> None:  # fmt: skip
    """Fit the boxes of a tree to faces (F, 3) at positions x (N, 3) [m], and those of normals to normals (F, 3).

    Leaves hold their faces, other nodes their children; corners below zero are none.
    """
    for node in range(skip.shape[0] - 1, -1, -1):
        left = node + 1
        right = skip[left] if skip[node] != left else left
        for c in range(3):
            if right != left:
                box[node, c] = min(box[left, c], box[right, c])
                box[node, 3 + c] = max(box[left, 3 + c], box[right, 3 + c])
                normal_box[node, c] = min(normal_box[left, c], normal_box[right, c])
                normal_box[node, 3 + c] = max(normal_box[left, 3 + c], normal_box[right, 3 + c])
                continue
            low, high, least, most = np.inf, -np.inf, np.inf, -np.inf
            for k in range(first[node], last[node]):
                f = order[k]
                least, most = min(least, normals[f, c]), max(most, normals[f, c])
                for corner in range(3):
                    if face[f, corner] >= 0:
                        value = x[face[f, corner], c]
                        low, high = min(low, value), max(high, value)
            box[node, c], box[node, 3 + c] = low, high
            normal_box[node, c], normal_box[node, 3 + c] = least, most


@compiled(inside=True)
def apart(box: Array, node: int, low: Vector, high: Vector) -> bool:
    """Tell whether the box of a node has nothing in common with that from low to high [m]."""
    separate: bool = (
        box[node, 0] > high[0]
        or box[node, 3] < low[0]
        or box[node, 1] > high[1]
        or box[node, 4] < low[1]
        or box[node, 2] > high[2]
        or box[node, 5] < low[2]
    )
    return separate


@compiled(inside=True)
def all_along(box: Array, node: int, first: Vector, last: Vector, most: float) -> bool:
    """Tell whether all normals in a node have more than `most` along all directions in the box first to last."""
    along: bool = (
        _least(box[node, 0], box[node, 3], first[0], last[0])
        + _least(box[node, 1], box[node, 4], first[1], last[1])
        + _least(box[node, 2], box[node, 5], first[2], last[2])
        > most
    )
    return along


@compiled(inside=True)
def _least(a: float, b: float, c: float, d: float) -> float:
    """Return the smallest product of a number in [a, b] and one in [c, d]."""
    return min(a * c, a * d, b * c, b * d)
