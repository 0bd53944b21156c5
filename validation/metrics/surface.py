"""Shape difference of the calibration papers: distances of captured points to the surface of a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.validation.metrics.over_time import Array

NOISE = 0.05e-2
"""Distances below this [m] are noise of the cameras and do not count (calibration spec, 6)."""
FAR = 0.25e-2
"""Distance [m] above which a point counts as far."""


@dataclass(frozen=True)
class ShapeDifference:
    """How far captured points lie from a body, over all times.

    `total` is S [m], the sum of the distances from `NOISE` on; `points` their number N, small ones included;
    `far` the number of points above `FAR`, `per_time` the part of S [m], both one per time.
    """

    total: float
    points: int
    far: tuple[int, ...]
    per_time: tuple[float, ...]

    @property
    def mean(self) -> float:
        """S/N [m]."""
        return self.total / self.points if self.points else float("nan")


def surface_of(nodes: Array, cells: NDArray[np.int64], cell_kind: str) -> Any:
    """Return the outer surface (in 2D the outline, in 1D the line) of a body with `nodes` (N, 3) [m]."""
    from rheotwin.validation.run_view import body_grid

    grid = body_grid(nodes, cells, cell_kind)
    if cell_kind == "line":
        return grid
    if cell_kind in ("triangle", "quad"):
        return grid.extract_surface(algorithm="dataset_surface").extract_feature_edges(
            boundary_edges=True, feature_edges=False, manifold_edges=False, non_manifold_edges=False
        )
    return grid.extract_surface(algorithm="dataset_surface").triangulate()


def surface_distance(points: ArrayLike, surface: Any) -> Array:
    """Return the unsigned distance [m] of points (M, 3) [m] to a surface of `surface_of`, inside or outside."""
    wanted = np.asarray(points, dtype=float).reshape(-1, 3)
    if not len(wanted):
        return np.zeros(0)
    _, nearest = surface.find_closest_cell(wanted, return_closest_point=True)
    return np.asarray(np.linalg.norm(wanted - np.asarray(nearest).reshape(-1, 3), axis=1))


def shape_difference(distances: list[Array], *, noise: float = NOISE, far: float = FAR) -> ShapeDifference:
    """Return S from the distances [m] of the points of each time.

    S = sum over times and points of the distances >= `noise`: the small ones carry no information, and their
    sum would fall as a fit gets worse (calibration spec, erratum 3).
    """
    parts = tuple(float(values[values >= noise].sum()) for values in distances)
    return ShapeDifference(
        total=float(sum(parts)),
        points=sum(len(values) for values in distances),
        far=tuple(int((values > far).sum()) for values in distances),
        per_time=parts,
    )
