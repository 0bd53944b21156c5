"""Which nodes a `where` table of the scene selects, on the rest shape in scene coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.problem import ProblemBody
from rheotwin.scene import Where

SIDES: dict[str, tuple[str, float]] = {
    "left": ("x", 0.0),
    "right": ("x", 1.0),
    "front": ("y", 0.0),
    "back": ("y", 1.0),
    "bottom": ("last", 0.0),
    "top": ("last", 1.0),
}
"""Side name -> (axis, which end of the bounding box); `last` is y in 2D and z in 3D."""


def select_nodes(where: Where, points: Array, regions: dict[str, Indices], place: str) -> Indices:
    """Return the indices of the selected points (n, d) [m]; an empty selection is a fault at `place`."""
    tolerance = 1e-9 * float(np.max(np.ptp(points, axis=0)))
    if where.side is not None:
        chosen = _on_side(where.side, points, tolerance, place)
    elif where.box is not None:
        chosen = _in_box(where.box.model_dump(exclude_none=True), points, tolerance)
    elif where.nearest is not None:
        chosen = np.array([nearest_node(points, np.asarray(where.nearest))])
    else:
        chosen = _in_region(str(where.region), regions, place)
    if chosen.size == 0:
        low, high = points.min(axis=0), points.max(axis=0)
        raise RheotwinError(
            f"{place}: selects no node; the body spans {np.round(low, 9).tolist()} to {np.round(high, 9).tolist()} "
            "[m]; move the selection into it"
        )
    return chosen


def node_at(body: ProblemBody, at: Sequence[float]) -> int:
    """Return the number, among the nodes of all bodies, of the node of a body closest to a point of its rest shape."""
    return body.first_node + nearest_node(body.mesh.p.T, np.asarray(at))


def nearest_node(points: Array, target: Array) -> int:
    """Return the index of the point closest to `target`."""
    return int(np.argmin(np.sum((points - target) ** 2, axis=1)))


def _on_side(side: str, points: Array, tolerance: float, place: str) -> Indices:
    axis_name, end = SIDES[side]
    dimension = points.shape[1]
    axis = {"x": 0, "y": 1, "last": dimension - 1}[axis_name]
    if (axis_name == "y" and dimension != 3) or (axis_name == "last" and dimension == 1):
        raise RheotwinError(
            f"{place}: side '{side}' does not exist in {dimension}D; use one of the other sides or a box"
        )
    coordinate = points[:, axis]
    target = coordinate.max() if end else coordinate.min()
    return np.flatnonzero(np.abs(coordinate - target) <= tolerance)


def _in_box(box: dict[str, tuple[float, float]], points: Array, tolerance: float) -> Indices:
    inside = np.ones(len(points), dtype=bool)
    for name, (low, high) in box.items():
        coordinate = points[:, "xyz".index(name)]
        inside &= (coordinate >= low - tolerance) & (coordinate <= high + tolerance)
    return np.flatnonzero(inside)


def _in_region(region: str, regions: dict[str, Indices], place: str) -> Indices:
    if region not in regions:
        known = ", ".join(sorted(regions)) or "none: only mesh files with named groups have regions"
        raise RheotwinError(f"{place}: no region {region!r}{nearest_name(region, regions)}; known regions: {known}")
    return regions[region]
