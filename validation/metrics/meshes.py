"""Values of one mesh at points of another, and distances of points to the surface of a body.

Values are taken by the shape functions of the element a point lies in, so that two runs have common points, whatever
meshes they have. The shape difference is that of the calibration papers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import skfem
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, vstack

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.record.grid import VTK_NODE_ORDER, CellKind
from rheotwin.validation.run_view import RunView

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


def surface_of(nodes: Array, cells: Indices, cell_kind: str) -> Any:
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


Cells = Indices

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
    local = _local(mesh.mapping(), nearest[:, :axes].T[:, :, None], found)
    columns = mesh.t[:, found]
    weights = np.stack([element.lbasis(local, a)[0][:, 0] for a in range(len(columns))])
    rows = np.broadcast_to(np.arange(len(wanted)), columns.shape)
    matrix = csr_matrix((weights.ravel(), (rows.ravel(), columns.ravel())), shape=(len(wanted), len(nodes)))
    return Transfer(matrix, distance)


def _local(mapping: Any, x: Array, cells: Indices) -> Array:
    """Return X(x) by Newton's method, kept near `cells`: the locator takes points up to 0.1 % outside for its own."""
    if isinstance(mapping, skfem.MappingAffine):
        return np.asarray(mapping.invF(x, tind=cells))
    local: Array = np.full(x.shape, 0.5)
    for _ in range(50):
        step = np.einsum("ijkl,jkl->ikl", mapping.invDF(local, cells), x - mapping.F(local, cells))
        before, local = local, np.clip(local + step, -0.01, 1.01)
        if np.abs(local - before).max(initial=0.0) < 1e-12:
            return local
    raise RheotwinError("transfer: some points have no place in their cell; are its sides folded?")


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


SAME = 1e-6
"""Nodes that differ by less than this share of the extent are the same."""
OUTSIDE = 0.5
"""How far nodes may lie outside of the other mesh, in its cell sizes: a round side is drawn by chords."""

Values = Callable[[Array], Array]


def same_nodes(run: RunView, other: RunView) -> bool:
    """Tell whether two runs have the same nodes; equal mesh hashes identify them, else rest positions have to do."""
    if run.rest.shape != other.rest.shape:
        return False
    hashes = run.mesh_hash, other.mesh_hash
    if None not in hashes and hashes[0] != hashes[1]:
        return False
    return bool(np.abs(run.rest - other.rest).max() <= SAME * max(np.ptp(other.rest), 1e-300))


def at_nodes_of(target: RunView, source: RunView) -> Values:
    """Return what takes nodal values (..., N, components) of `source` to the nodes of `target`.

    That is the source's own interpolation: exact for whatever its elements can represent.
    """
    return (lambda values: values) if same_nodes(target, source) else between(target, source)


def between(target: RunView, source: RunView) -> Transfer:
    """Return the transfer to the nodes of `target`, body by body: what touches does not mix."""
    parts, places = [], []
    for body in np.unique(target.cell_body):
        nodes = np.unique(target.cells[target.cell_body == body])
        own = source.cells[source.cell_body == body]
        parts.append(transfer(source.rest, own, source.cell_kind, target.rest[nodes]))
        places.append(nodes)
    order = np.argsort(np.concatenate(places))
    matrix = vstack([part.matrix for part in parts], format="csr")[order]
    return Transfer(matrix, np.concatenate([part.distance for part in parts])[order])


def pairing_obstacle(run: RunView, reference: RunView) -> str | None:
    """Return in words why two runs have no points in common, None if they have."""
    if same_nodes(run, reference):
        return None
    because = None
    if run.dimension != reference.dimension:
        because = f"{run.dimension}D and {reference.dimension}D"
    elif set(run.cell_body) != set(reference.cell_body):
        because = f"{len(set(run.cell_body))} and {len(set(reference.cell_body))}"
    elif _outside(run, reference) or _outside(reference, run):
        because = "the nodes of one lie outside of the other"
    if because is None:
        return None
    return (
        f"'{run.shown}' and '{reference.shown}' have different bodies ({because}), "
        "so displacements are not compared point by point; forces and residuals still are."
    )


def _outside(run: RunView, other: RunView) -> bool:
    """Tell whether nodes of a run lie well outside of another one's body."""
    extent, cells = np.ptp(other.rest, axis=0), max(len(other.cells), 1)
    size = float(np.prod(extent[extent > 0.0]) / cells) ** (1.0 / other.dimension)
    return bool(between(run, other).distance.max(initial=0.0) > OUTSIDE * size)
