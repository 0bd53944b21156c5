"""Values of one mesh at points of another: the shape functions of the element a point lies in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import skfem
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from rheotwin.errors import RheotwinError
from rheotwin.record.grid import VTK_NODE_ORDER, CellKind
from rheotwin.validation.metrics.over_time import Array

Cells = NDArray[np.int64]

_SKFEM: dict[CellKind, tuple[Any, Any]] = {
    "line": (skfem.MeshLine, skfem.ElementLineP1),
    "triangle": (skfem.MeshTri, skfem.ElementTriP1),
    "quad": (skfem.MeshQuad, skfem.ElementQuad1),
    "tet": (skfem.MeshTet, skfem.ElementTetP1),
    "hex": (skfem.MeshHex, skfem.ElementHex1),
}


@dataclass(frozen=True)
class Transfer:
    """Values at M points from values at N nodes: `matrix` (M, N) of shape functions, rows add up to one.

    `distance` (M,) [m] is how far outside the mesh a point lies; such a point takes the value of the nearest
    point of the mesh.
    """

    matrix: csr_matrix
    distance: Array

    def __call__(self, values: ArrayLike) -> Array:
        """Return values (..., M, components) at the points of nodal values (..., N, components)."""
        nodal = np.asarray(values, dtype=float)
        moved = np.moveaxis(nodal, -2, 0)
        mapped = self.matrix @ moved.reshape(moved.shape[0], -1)
        return np.moveaxis(mapped.reshape(-1, *moved.shape[1:]), 0, -2)


def transfer(nodes: Array, cells: Cells, cell_kind: CellKind, points: ArrayLike) -> Transfer:
    """Return the transfer from a mesh, `nodes` (N, 3) [m] and VTK `cells` (C, k), to `points` (M, 3) [m].

    N_a(X) with x(X) = sum_a N_a(X) x_a: exact for every field that is in the mesh's own space, so in particular
    for linear ones. Interior points go to the element they lie in, points outside to the nearest one.
    """
    wanted = np.asarray(points, dtype=float).reshape(-1, 3)
    found, nearest, distance = _closest(nodes, cells, cell_kind, wanted)
    ordered = cells[:, np.argsort(VTK_NODE_ORDER[cell_kind])]
    make_mesh, make_element = _SKFEM[cell_kind]
    element, axes = make_element(), make_mesh.elem.refdom.dim()
    # sort_t only exists where vertices may be re-sorted; columns must be those of the record's nodes
    mesh = make_mesh(np.ascontiguousarray(nodes[:, :axes].T), np.ascontiguousarray(ordered.T), validate=False)
    local = mesh.mapping().invF(nearest[:, :axes].T[:, :, None], tind=found)
    columns = mesh.t[:, found]
    weights = np.stack([element.lbasis(local, a)[0][:, 0] for a in range(len(columns))])
    rows = np.broadcast_to(np.arange(len(wanted)), columns.shape)
    matrix = csr_matrix((weights.ravel(), (rows.ravel(), columns.ravel())), shape=(len(wanted), len(nodes)))
    return Transfer(matrix, distance)


def _closest(nodes: Array, cells: Cells, cell_kind: CellKind, points: Array) -> tuple[Cells, Array, Array]:
    """Return the nearest cell of each point, the point of it that is nearest and its distance [m]."""
    from rheotwin.validation.run_view import body_grid

    if not np.isfinite(points).all():
        raise RheotwinError("transfer: some points are not finite; leave them out")
    found, nearest = body_grid(nodes, cells, cell_kind).find_closest_cell(points, return_closest_point=True)
    at = np.atleast_1d(np.asarray(found, dtype=np.int64))
    if (at < 0).any():
        raise RheotwinError("transfer: the mesh has no cells near some points; is the body the same?")
    close = np.asarray(nearest, dtype=float).reshape(-1, 3)
    distance = np.linalg.norm(points - close, axis=1)
    # the locator's own rounding is no distance, and an interior point keeps its exact place
    inside = distance < 1e-7 * max(float(np.ptp(nodes, axis=0).max()), 1e-300)
    close[inside], distance[inside] = points[inside], 0.0
    return at, close, distance
