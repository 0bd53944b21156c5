"""What a frame consists of: the cells, which stay, and the checked arrays, which change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.record.manifest import FieldInfo

if TYPE_CHECKING:
    pass

CellKind = Literal["line", "triangle", "quad", "tet", "hex"]

VTK_CELL_TYPES: dict[CellKind, int] = {"line": 3, "triangle": 5, "quad": 9, "tet": 10, "hex": 12}
"""VTK's number of each cell kind."""

VTK_NODE_ORDER: dict[CellKind, tuple[int, ...]] = {
    "line": (0, 1),
    "triangle": (0, 1, 2),
    "quad": (0, 1, 2, 3),
    "tet": (0, 1, 2, 3),
    "hex": (0, 3, 6, 2, 1, 5, 7, 4),
}
"""Place of each of VTK's nodes in a scikit-fem cell (which numbers a hexahedron by distance from node 0)."""


@dataclass(frozen=True)
class GridTopology:
    """The cells of all bodies, nodes in scikit-fem's order.

    `cells` (n_cells, nodes_per_cell), `body` (n_cells,) the index of each cell's body in the manifest,
    `points` the number of nodes.
    """

    cells: Indices
    cell_kind: CellKind
    body: Indices
    points: int

    def __post_init__(self) -> None:
        expected = (len(self.body), len(VTK_NODE_ORDER[self.cell_kind]))
        if self.cells.shape != expected:
            raise RheotwinError(
                f"grid: {self.cell_kind} cells with {len(self.body)} body indices need an array {expected}, "
                f"got {self.cells.shape}"
            )

    def vtk_cells(self) -> Indices:
        """Return the cells (n_cells, nodes_per_cell) with nodes in VTK's order."""
        return np.ascontiguousarray(self.cells[:, VTK_NODE_ORDER[self.cell_kind]], dtype=np.int64)


@dataclass(frozen=True)
class ToolSurface:
    """The surface of one rigid tool: points (n, 3) [m], faces in VTK's padded form [3, i, j, k, ...].

    Entries of two nodes ([2, i, j]) are drawn as lines: the outline of a tool in 2D.
    """

    name: str
    points: Array
    faces: Indices


def topology_from_vtk(vtk_cells: Indices, *, vtk_type: int, body: Indices, points: int) -> GridTopology:
    """Return the topology of cells (n_cells, nodes_per_cell) numbered in VTK's order."""
    kinds = {number: kind for kind, number in VTK_CELL_TYPES.items()}
    if vtk_type not in kinds or vtk_cells.shape[1] != len(VTK_NODE_ORDER[kinds[vtk_type]]):
        raise RheotwinError(
            f"VTK cell type {vtk_type} with {vtk_cells.shape[1]} nodes is not one that a record holds; "
            "run the scene again"
        )
    kind = kinds[vtk_type]
    back = np.argsort(VTK_NODE_ORDER[kind])
    cells = np.ascontiguousarray(vtk_cells[:, back], dtype=np.int64)
    return GridTopology(cells=cells, cell_kind=kind, body=np.asarray(body, dtype=np.int64), points=points)


def checked_frame(
    positions: Any, fields: Mapping[str, Any], *, points: int, expected: Mapping[str, FieldInfo], cells: int = 0
) -> tuple[Array, dict[str, Array]]:
    """Return positions (N, 3) [m] and every expected field as (N, components), or say which one is wrong.

    Fields on cells have as many rows as there are cells.
    """
    _check_names(fields, expected)
    arrays = {name: np.asarray(fields[name], dtype=np.float64) for name in expected}
    for name, info in expected.items():
        if arrays[name].ndim == 1:
            arrays[name] = arrays[name][:, None]
        _check_shape(f"field '{name}'", arrays[name], (cells if info.on_cells else points, info.components))
    place = np.asarray(positions, dtype=np.float64)
    _check_shape("positions", place, (points, 3))
    return place, arrays


def _check_names(given: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    missing = [name for name in expected if name not in given]
    surplus = [name for name in given if name not in expected]
    if missing or surplus:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing)
        parts += [f"has {', '.join(surplus)} unannounced"] * bool(surplus)
        raise RheotwinError(
            f"frame: the solver's result {' and '.join(parts)}; the manifest lists {', '.join(expected)}"
        )


def _check_shape(what: str, array: Array, shape: tuple[int, int]) -> None:
    if array.shape != shape:
        raise RheotwinError(f"frame: {what} must have the shape {shape}, the solver gave {array.shape}")


def time_tolerance(time: float) -> float:
    """Return the difference [s] below which two times are the same: 1e-12 max(1, |t|)."""
    return 1e-12 * max(1.0, abs(time))


def is_repeated(time: float, last: float | None) -> bool:
    """Return whether `time` is the one already written; a restart writes its first frame a second time."""
    return last is not None and abs(time - last) <= time_tolerance(last)
