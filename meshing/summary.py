"""What there is to say about one mesh: kind, counts, topology, extent, quality, identity, groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rheotwin.meshing.cells import CELL_DIMENSION, Mesh, cell_kind
from rheotwin.meshing.identity import mesh_hash
from rheotwin.meshing.quality import QualityReport, quality_report
from rheotwin.meshing.topology import boundary_faces, element_edges, lattice_edges

HASH_SHOWN = 16


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

    def as_dict(self) -> dict[str, Any]:
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
    kind = cell_kind(mesh)
    faces = boundary_faces(mesh)
    return MeshSummary(
        name=name,
        kind=kind,
        dimension=CELL_DIMENSION[kind],
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
