"""What gmsh and its like give beside cells: named groups of a mesh file, and meshes of geometry files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rheotwin.arrays import Indices
from rheotwin.errors import RheotwinError


def named_groups(raw: Any, body_types: Collection[str]) -> tuple[dict[str, Indices], dict[str, Indices]]:
    """Return node groups and element groups of a meshio mesh.

    A group of cells of any kind (a boundary line, a surface, a part) names its nodes; a group holding cells
    of `body_types`, those the body is made of, names those elements too.
    """
    nodes: dict[str, list[Indices]] = {}
    elements: dict[str, list[Indices]] = {}
    first = 0
    for block, cells in enumerate(raw.cells):
        for name, members in _members(raw, block):
            nodes.setdefault(name, []).append(np.asarray(cells.data)[members].ravel())
            if cells.type in body_types:
                elements.setdefault(name, []).append(first + members)
        first += len(cells.data) if cells.type in body_types else 0
    for name, members in raw.point_sets.items():
        nodes.setdefault(name, []).append(np.asarray(members, dtype=np.int64).ravel())
    return _merged(nodes), _merged(elements)


def _members(raw: Any, block: int) -> Iterator[tuple[str, Indices]]:
    """Yield (name, cells of one block) for its sets and its tagged physical groups."""
    for name, sets in raw.cell_sets.items():
        # gmsh repeats its physical groups as sets, beside bookkeeping sets of its own
        if not name.startswith("gmsh:") and name not in raw.field_data and sets[block] is not None:
            yield name, np.asarray(sets[block], dtype=np.int64)
    if "gmsh:physical" not in raw.cell_data:
        return
    tags = np.asarray(raw.cell_data["gmsh:physical"][block])
    dimension = raw.cells[block].dim
    for name, (tag, group_dimension) in raw.field_data.items():
        if group_dimension == dimension:
            yield name, np.flatnonzero(tags == tag)


def _merged(groups: dict[str, list[Indices]]) -> dict[str, Indices]:
    merged = {name: np.unique(np.concatenate(parts)).astype(np.int64) for name, parts in groups.items()}
    return {name: members for name, members in merged.items() if len(members)}


def mesh_geometry(geometry: Path, target: Path) -> None:
    """Mesh a .geo file in its own highest dimension and sizes, and write the mesh to `target` (.msh)."""
    gmsh = _library(geometry)
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.open(str(geometry))
        gmsh.model.mesh.generate(gmsh.model.getDimension())
        gmsh.write(str(target))
    # the binding raises bare Exception, with the last message of its log
    except Exception as error:
        said = " ".join(str(error).split()) or "gmsh gives no reason"
        raise RheotwinError(f"{geometry}: gmsh cannot mesh this geometry ({said}): correct the file") from error
    finally:
        gmsh.finalize()


def _library(geometry: Path) -> ModuleType:
    """Return the gmsh module, or say how to get it."""
    try:
        import gmsh
    # a missing system library surfaces as OSError
    except (ImportError, OSError) as error:
        raise RheotwinError(
            f'{geometry}: .geo files need gmsh: install it with `pip install "rheotwin[gmsh]"` '
            "or mesh the file elsewhere and give the .msh"
        ) from error
    module: ModuleType = gmsh
    return module
