"""What there is to say about one mesh: quality of its elements, identity, counts, extent, groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from rheotwin.arrays import Array
from rheotwin.meshing.cells import CELL_DIMENSION, EDGES, SIMPLICES, Mesh, cell_kind
from rheotwin.meshing.mixed import ALL_CORNERS, body_cell, cell_blocks
from rheotwin.meshing.topology import (
    MEASURE_NAME,
    MEASURE_UNIT,
    boundary_faces,
    element_edges,
    element_measures,
    lattice_edges,
)

WORST_LISTED = 5
SIMPLEX_TO_EQUILATERAL = {
    1: np.eye(1),
    2: np.linalg.inv(np.array([[1.0, 0.0], [0.5, np.sqrt(3.0) / 2.0]])),
    3: np.linalg.inv(
        np.array([[1.0, 0.0, 0.0], [0.5, np.sqrt(3.0) / 2.0, 0.0], [0.5, np.sqrt(3.0) / 6.0, np.sqrt(2.0 / 3.0)]])
    ),
}
"""Inverse edge vectors of the equilateral simplex of unit edge: the ideal a simplex is measured against."""
HASH_SHOWN = 16


@dataclass(frozen=True)
class QualityReport:
    """Summary of element quality: quality and edge ratio in [0, 1], angles [deg], measures [m, m2 or m3].

    Angles are those between edges in 2D and between faces in 3D; in 1D they are absent.
    `worst` lists (element, quality) from the lowest quality upwards.
    """

    kind: str
    elements: int
    quality_min: float
    quality_mean: float
    edge_ratio_min: float
    angle_min: float | None
    angle_max: float | None
    measure_min: float
    measure_max: float
    measure_total: float
    worst: tuple[tuple[int, float], ...]

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return asdict(self) | {"worst": [{"element": element, "quality": value} for element, value in self.worst]}

    def as_text(self) -> str:
        """Return a table for people."""
        dimension = CELL_DIMENSION[self.kind]
        name, unit = MEASURE_NAME[dimension], MEASURE_UNIT[dimension]
        rows = [
            ("quality (0..1)", f"min {self.quality_min:.4f}, mean {self.quality_mean:.4f}"),
            ("edge ratio (0..1)", f"min {self.edge_ratio_min:.4f}"),
            (f"{name} [{unit}]", f"total {self.measure_total:.6g}, {self.measure_min:.4g} to {self.measure_max:.4g}"),
            ("worst elements", ", ".join(f"{element} ({value:.4f})" for element, value in self.worst)),
        ]
        if self.angle_min is not None and self.angle_max is not None:
            label = "angle [deg]" if dimension == 2 else "dihedral angle [deg]"
            rows.insert(2, (label, f"{self.angle_min:.1f} to {self.angle_max:.1f}"))
        return "\n".join(f"{label:<21} {value}" for label, value in rows)


def quality_report(mesh: Mesh) -> QualityReport:
    """Return the quality summary of a mesh."""
    quality, measures = element_quality(mesh), element_measures(mesh)
    low, high = angle_range(mesh)
    worst = np.argsort(quality, kind="stable")[:WORST_LISTED]
    return QualityReport(
        kind=cell_kind(mesh),
        elements=len(quality),
        quality_min=float(quality.min()),
        quality_mean=float(quality.mean()),
        edge_ratio_min=float(edge_ratios(mesh).min()),
        angle_min=low,
        angle_max=high,
        measure_min=float(measures.min()),
        measure_max=float(measures.max()),
        measure_total=float(measures.sum()),
        worst=tuple((int(element), float(quality[element])) for element in worst),
    )


def element_quality(mesh: Mesh) -> Array:
    """Return the mean-ratio quality of each element in [0, 1]: 1 is ideal, 0 degenerate or inverted.

    q = d det(F)^(2/d) / |F|^2, with F the map from the ideal element: the equilateral simplex, or for all
    others the unit square or cube at each corner, of which the worst counts.
    """
    found = np.empty(mesh.t.shape[1])
    for block in cell_blocks(mesh):
        frames = [block.frames(mesh.p, corner) for corner in range(len(ALL_CORNERS[block.kind]))]
        if block.kind in SIMPLICES:
            frames = [np.matmul(SIMPLEX_TO_EQUILATERAL[len(mesh.p)], frames[0])]
        found[block.cells] = np.min([_mean_ratio(frame) for frame in frames], axis=0)
    return found


def edge_ratios(mesh: Mesh) -> Array:
    """Return shortest over longest edge of each element, in [0, 1]."""
    ends = mesh.p[:, mesh.t[EDGES[cell_kind(mesh)].T]]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=0)
    ratios: Array = np.where(lengths > 0.0, lengths, np.inf).min(axis=0) / lengths.max(axis=0)
    return ratios


def angle_range(mesh: Mesh) -> tuple[float | None, float | None]:
    """Return smallest and largest angle between edges (2D) or faces (3D) of all elements [deg]."""
    if len(mesh.p) == 1:
        return None, None
    low, high = np.inf, -np.inf
    for block in cell_blocks(mesh):
        for corner in range(len(ALL_CORNERS[block.kind])):
            angles = _corner_angles(block.frames(mesh.p, corner))
            low, high = min(low, float(angles.min())), max(high, float(angles.max()))
    return float(np.degrees(low)), float(np.degrees(high))


def _mean_ratio(maps: Array) -> Array:
    """Return d det^(2/d) / |F|^2 of square matrices (elements, d, d)."""
    dimension = maps.shape[-1]
    determinant = np.maximum(np.linalg.det(maps), 0.0)
    squares = (maps**2).sum(axis=(1, 2))
    ratio: Array = dimension * determinant ** (2.0 / dimension) / np.where(squares > 0.0, squares, 1.0)
    return np.minimum(ratio, 1.0)


def _corner_angles(frames: Array) -> Array:
    """Return the angles [rad] at a corner: between its two edges, or around each of its three edges."""
    if frames.shape[1] == 2:
        return _angle(frames[:, 0], frames[:, 1])
    angles = []
    for axis in range(3):
        along = frames[:, axis] / np.linalg.norm(frames[:, axis], axis=1, keepdims=True)
        first, second = (_across(frames[:, (axis + turn) % 3], along) for turn in (1, 2))
        angles.append(_angle(first, second))
    return np.concatenate(angles)


def _across(vectors: Array, along: Array) -> Array:
    """Return vectors minus their part along unit vectors."""
    across: Array = vectors - (vectors * along).sum(axis=1, keepdims=True) * along
    return across


def _angle(first: Array, second: Array) -> Array:
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosine = (first * second).sum(axis=1) / np.where(lengths > 0.0, lengths, 1.0)
    angle: Array = np.arccos(np.clip(cosine, -1.0, 1.0))
    return angle


def mesh_hash(mesh: Mesh) -> str:
    """Return the SHA-256 (hexadecimal) of cell kind, points and cells in little-endian 64-bit form.

    Node and element order and vertex order count; negative zero is the same point as zero.
    """
    points = np.ascontiguousarray(mesh.p.T + 0.0, dtype="<f8")
    cells = np.ascontiguousarray(mesh.t.T, dtype="<i8")
    header = f"{cell_kind(mesh)} {points.shape} {cells.shape}\n"
    return sha256(header.encode("ascii") + points.tobytes() + cells.tobytes()).hexdigest()


@dataclass(frozen=True)
class MeshSummary:
    """Counts, extent [m], quality and identity of one mesh, with the sizes of its named groups."""

    name: str
    kind: str
    dimension: int
    nodes: int
    elements: int
    edges: int
    lattice_edges: int
    boundary_faces: int
    boundary_nodes: int
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    identity: str
    quality: QualityReport
    regions: dict[str, int]
    cell_regions: dict[str, int]

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return asdict(self) | {"quality": self.quality.as_dict()}

    def as_text(self) -> str:
        """Return a table for people."""
        lattice = "" if self.lattice_edges == self.edges else f", {self.lattice_edges} lattice edges"
        extent = " x ".join(f"[{a:.6g}, {b:.6g}]" for a, b in zip(self.lowest, self.highest, strict=True))
        rows = [
            ("cells", f"{self.elements} {self.kind}, {self.dimension}D"),
            ("nodes", f"{self.nodes}, {self.boundary_nodes} on the boundary"),
            ("topology", f"{self.edges} edges{lattice}, {self.boundary_faces} boundary faces"),
            ("extent [m]", extent),
        ]
        after = [("identity", self.identity[:HASH_SHOWN])]
        after += [(f"region {name}", f"{count} nodes") for name, count in self.regions.items()]
        after += [(f"cell region {name}", f"{count} elements") for name, count in self.cell_regions.items()]
        return "\n".join([self.name, _table(rows), _indented(self.quality.as_text()), _table(after)])


def summarise(
    name: str,
    mesh: Mesh,
    *,
    regions: Mapping[str, npt.NDArray[np.integer]] | None = None,
    cell_regions: Mapping[str, npt.NDArray[np.integer]] | None = None,
) -> MeshSummary:
    """Return the summary of a mesh and its named groups."""
    faces = boundary_faces(mesh)
    return MeshSummary(
        name=name,
        kind=body_cell(mesh),
        dimension=len(mesh.p),
        nodes=mesh.p.shape[1],
        elements=mesh.t.shape[1],
        edges=len(element_edges(mesh)),
        lattice_edges=len(lattice_edges(mesh)),
        boundary_faces=len(faces),
        boundary_nodes=len(np.unique(faces)),
        lowest=tuple(mesh.p.min(axis=1).tolist()),
        highest=tuple(mesh.p.max(axis=1).tolist()),
        identity=mesh_hash(mesh),
        quality=quality_report(mesh),
        regions={group: len(members) for group, members in (regions or {}).items()},
        cell_regions={group: len(members) for group, members in (cell_regions or {}).items()},
    )


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(f"  {label:<21} {value}" for label, value in rows)


def _indented(text: str) -> str:
    return "\n".join(f"  {row}" for row in text.splitlines())
