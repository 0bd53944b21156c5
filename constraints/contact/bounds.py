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
    centres = points[corners].mean(axis=1)
    parts = [_split(centres, int(begin), int(end)) for begin, end in pairwise(first_face)]
    root = np.concatenate([[0], np.cumsum([len(skip) for _, _, _, skip in parts])]).astype(np.int64)
    nothing = [np.zeros(0, np.int64)]
    tree = Tree(
        order=np.concatenate(nothing + [order for order, _, _, _ in parts]),
        first=np.concatenate(nothing + [first for _, first, _, _ in parts]),
        last=np.concatenate(nothing + [last for _, _, last, _ in parts]),
        skip=np.concatenate(nothing + [part[3] + start for part, start in zip(parts, root[:-1], strict=True)]),
        root=root,
        box=np.empty((root[-1], 6)),
        normals=np.empty((root[-1], 6)),
    )
    refit(tree, np.ascontiguousarray(corners), points)
    return tree


@compiled(allocates=True)
def _split(centres: Array, begin: int, end: int) -> tuple[Indices, Indices, Indices, Indices]:
    """Halve the faces begin:end at the median of their longest extent until LEAF are left."""
    order = np.arange(begin, end)
    most = 2 * max(1, end - begin)
    first, last = np.empty(most, np.int64), np.empty(most, np.int64)
    skip = np.empty(most, np.int64)
    waiting = np.empty((64, 2), np.int64)
    count, nodes = 0, 0
    if end > begin:
        waiting[0, 0], waiting[0, 1] = 0, end - begin
        count = 1
    while count > 0:
        count -= 1
        low, high = waiting[count, 0], waiting[count, 1]
        first[nodes], last[nodes] = begin + low, begin + high
        nodes += 1
        if high - low <= LEAF:
            continue
        axis, widest = 0, -1.0
        for c in range(3):
            smallest, largest = np.inf, -np.inf
            for k in range(low, high):
                smallest, largest = min(smallest, centres[order[k], c]), max(largest, centres[order[k], c])
            if largest - smallest > widest:
                axis, widest = c, largest - smallest
        part = order[low:high].copy()
        order[low:high] = part[np.argsort(centres[part, axis])]
        middle = (low + high) // 2
        waiting[count, 0], waiting[count, 1] = middle, high
        waiting[count + 1, 0], waiting[count + 1, 1] = low, middle
        count += 2
    for node in range(nodes - 1, -1, -1):
        leaf = last[node] - first[node] <= LEAF
        skip[node] = node + 1 if leaf else skip[skip[node + 1]]
    return order, first[:nodes], last[:nodes], skip[:nodes]


@compiled
def refit(tree: Tree, corners: Indices, x: Array) -> None:
    """Fit the boxes to corners (F, k) at positions x (N, 3) [m]; corners below zero are none."""
    _bound(tree, tree.box, corners, x)


@compiled
def bound_normals(tree: Tree, normals: Array) -> None:
    """Fit the boxes of normals to the unit normals (F, 3) of the faces."""
    _bound(tree, tree.normals, None, normals)


@compiled
def _widen(box: Array, node: int, value: Array) -> None:
    """Let the box of a node hold a value (3,), too."""
    for c in range(3):
        box[node, c], box[node, 3 + c] = min(box[node, c], value[c]), max(box[node, 3 + c], value[c])


@compiled
def _bound(tree: Tree, box: Array, rows: Indices | None, values: Array) -> None:
    """Let the boxes of leaves hold the given rows of their faces, and those of other nodes their children.

    `rows` (F, k) below zero are none; without them each face has one value of its own.
    """
    for node in range(tree.skip.shape[0] - 1, -1, -1):
        left = node + 1
        if tree.skip[node] == left:
            for c in range(3):
                box[node, c], box[node, 3 + c] = np.inf, -np.inf
            for k in range(tree.first[node], tree.last[node]):
                if rows is None:
                    _widen(box, node, values[tree.order[k]])
                else:
                    for row in rows[tree.order[k]]:
                        if row >= 0:
                            _widen(box, node, values[row])
        else:
            right = tree.skip[left]
            for c in range(3):
                box[node, c] = min(box[left, c], box[right, c])
                box[node, 3 + c] = max(box[left, 3 + c], box[right, 3 + c])


@compiled
def apart(tree: Tree, node: int, low: Vector, high: Vector) -> bool:
    """Tell whether the box of a node has nothing in common with that from low to high [m]."""
    box = tree.box
    separate: bool = (
        box[node, 0] > high[0]
        or box[node, 3] < low[0]
        or box[node, 1] > high[1]
        or box[node, 4] < low[1]
        or box[node, 2] > high[2]
        or box[node, 5] < low[2]
    )
    return separate


@compiled
def all_along(tree: Tree, node: int, first: Vector, last: Vector, most: float) -> bool:
    """Tell whether all normals in a node have more than `most` along all directions in the box first to last."""
    box = tree.normals
    along: bool = (
        _least(box[node, 0], box[node, 3], first[0], last[0])
        + _least(box[node, 1], box[node, 4], first[1], last[1])
        + _least(box[node, 2], box[node, 5], first[2], last[2])
        > most
    )
    return along


@compiled
def _least(a: float, b: float, c: float, d: float) -> float:
    """Return the smallest product of a number in [a, b] and one in [c, d]."""
    return min(a * c, a * d, b * c, b * d)


@compiled
def bound_flags(tree: Tree, rows: Indices, flags: NDArray[np.bool_], found: NDArray[np.bool_]) -> None:
    """Set `found` (nodes,) where a face in a node has a row whose flag is set; rows (F, k) below zero are none."""
    for node in range(tree.skip.shape[0] - 1, -1, -1):
        left = node + 1
        found[node] = False
        if tree.skip[node] == left:
            for k in range(tree.first[node], tree.last[node]):
                for row in rows[tree.order[k]]:
                    if row >= 0 and flags[row]:
                        found[node] = True
        else:
            found[node] = found[left] or found[tree.skip[left]]
