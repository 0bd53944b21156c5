"""Nodes on the surface of a body: those of its outer faces, not of the seam between coarse and fine cells.

Where fine cells meet a coarse one both have faces without a neighbour, yet the body goes on behind them. Such faces lie
on each other: a fine one has all corners among the corners of a coarse one and the nodes that hang on its edges.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rheotwin.meshing import HangingNodes, boundary_faces
from rheotwin.problem import ProblemBody

Indices = NDArray[np.int64]


def surface_nodes(body: ProblemBody) -> Indices:
    """Return the sorted nodes on the body's surface, in its own numbers."""
    faces = boundary_faces(body.mesh).astype(np.int64)
    if len(body.hanging):
        faces = faces[~_in_seam(faces, body.hanging)]
    return np.unique(faces)


def _in_seam(faces: Indices, hanging: HangingNodes) -> NDArray[np.bool_]:
    """Return which faces (n, corners) lie on faces of cells of another size."""
    on_edge = defaultdict(set)
    for node, start, end in zip(hanging.node.tolist(), hanging.start.tolist(), hanging.end.tolist(), strict=True):
        on_edge[frozenset((start, end))].add(node)
    around: dict[int, list[int]] = defaultdict(list)
    for number, face in enumerate(faces.tolist()):
        for node in face:
            around[node].append(number)
    seam = np.zeros(len(faces), dtype=np.bool_)
    for number, face in enumerate(faces.tolist()):
        inside = {node for pair in combinations(face, 2) for node in on_edge.get(frozenset(pair), ())}
        covered = inside.union(face)
        for other in {other for node in inside for other in around[node]}:
            if covered.issuperset(faces[other].tolist()):
                seam[[number, other]] = True
    return seam
