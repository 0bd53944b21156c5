"""From the links of a scene to pairs of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.feasible import require_feasible, require_followable
from rheotwin.constraints.links import RigidLink
from rheotwin.errors import RheotwinError
from rheotwin.problem import Prescribed, ProblemBody, held_by
from rheotwin.scene import Scene
from rheotwin.selection import nearest_node

Array = NDArray[np.float64]

NO_LENGTH = 1e-12
"""Ends closer than this share of the bodies' extent have no distance to keep."""


def build_links(
    scene: Scene, bodies: Mapping[str, ProblemBody], points: Array, prescribed: Sequence[Prescribed]
) -> tuple[RigidLink, ...]:
    """Resolve links; refuse those without a length, those no shape can have and those supports pull apart."""
    if scene.links and scene.axisymmetric:
        raise RheotwinError("links: an axisymmetric scene has rings and no points to join; leave them out")
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    found = []
    for name, link in scene.links.items():
        nodes = [bodies[end.body].first_node + _nearest(bodies[end.body], end.at) for end in link.between]
        pairs = np.array(list(pairwise(nodes)), dtype=np.int64)
        rest = np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1)
        short = np.flatnonzero(rest <= NO_LENGTH * extent)
        if len(short):
            first, second = pairs[short[0]]
            what = "is one node" if first == second else f"are nodes {first} and {second} at one place"
            raise RheotwinError(
                f"links.{name}.between: what is closest to points {short[0]} and {short[0] + 1} {what}, so the link "
                "has no length and no direction; move one of the points"
            )
        lengths = rest if link.length is None else np.full(len(pairs), link.length)
        found.append(RigidLink(name, pairs, lengths))
    owners = held_by(prescribed, points.shape)
    require_followable(found, points, owners, [item.motion for item in prescribed])
    require_feasible(found, points, owners >= 0)
    return tuple(found)


def _nearest(body: ProblemBody, at: Sequence[float]) -> int:
    return nearest_node(body.mesh.p.T, np.asarray(at))
