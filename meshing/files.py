"""Mesh files: the one place that talks to meshio, which is loaded with the first file; surfaces of rigid tools."""

from __future__ import annotations

import contextlib
import io
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from rheotwin.arrays import Array, Indices, first_of_each
from rheotwin.errors import RheotwinError, nearest_name, visible
from rheotwin.meshing.cells import CELL_DIMENSION, MESH_TYPES, Mesh, build_mesh
from rheotwin.meshing.groups import mesh_geometry, named_groups
from rheotwin.meshing.guarded import Arrays, guarded
from rheotwin.meshing.mixed import MIXED, body_cell, cell_blocks, mixed_mesh
from rheotwin.meshing.topology import check_elements, oriented

KIND_OF_TYPE = {
    **{"line": "line", "triangle": "triangle", "quad": "quad"},
    **{"tetra": "tet", "pyramid": "pyramid", "wedge": "wedge", "hexahedron": "hex"},
}
TYPE_OF_KIND = {kind: cell_type for cell_type, kind in KIND_OF_TYPE.items()}
_QUAD = ((0, 1), (1, 2), (2, 3), (3, 0))
_UPRIGHT = tuple((k, k + 4) for k in range(4))
CURVED: dict[str, tuple[str, tuple[tuple[int, int], ...]]] = {
    "line3": ("line", ((0, 1),)),
    "triangle6": ("triangle", ((0, 1), (1, 2), (2, 0))),
    "quad8": ("quad", _QUAD),
    "quad9": ("quad", _QUAD),
    "tetra10": ("tetra", ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))),
    "hexahedron20": ("hexahedron", (*_QUAD, *((a + 4, b + 4) for a, b in _QUAD), *_UPRIGHT)),
    "hexahedron27": ("hexahedron", (*_QUAD, *((a + 4, b + 4) for a, b in _QUAD), *_UPRIGHT)),
}
"""Cells of second order: what they are by their corners, and the edges whose middles follow behind the corners."""
STRAIGHT = 1e-6
"""Share of its edge by which a middle may be off before that is said."""
WRITERS: dict[str, tuple[str, dict[str, Any]]] = {
    ".msh": ("gmsh", {}),
    ".vtu": ("vtu", {}),
    ".vtk": ("vtk", {}),
    ".inp": ("abaqus", {}),
    ".stl": ("stl", {}),
    ".mesh": ("medit", {}),
}
"""Suffixes we write, with the meshio format and its options."""
GROUP_FORMATS = (".inp",)
"""Suffixes we write whose files keep named groups."""
PREFERRED_READER = {".msh": "gmsh"}
"""The reader to try first where several formats share a suffix."""
MIXED_FORMATS = (".vtu", ".vtk", ".mesh")
"""Suffixes we write that take several kinds of cells."""
UNSUPPORTED = (".xdmf", ".xmf")
TRUST = "RHEOTWIN_TRUST_GEOMETRY"
"""Environment variable by which `--trust-geometry` reaches the processes of a command."""
GMSH_SECONDS = 1200.0
"""Processor time a geometry script may take [s]."""
FLAT = 1e-9
"""A coordinate that varies by less than this fraction of the size of the mesh counts as constant."""
NAMED_POINTS = 5
QUAD_HALVES = ((0, 1, 2), (0, 2, 3))
"""Corners of the two triangles a quadrilateral is split into."""


@dataclass(frozen=True)
class ImportedMesh:
    """A mesh from a file with its named groups: node indices per region, element indices per cell region."""

    mesh: Mesh
    regions: dict[str, Indices] = field(default_factory=dict)
    cell_regions: dict[str, Indices] = field(default_factory=dict)


def read_mesh(path: str | Path, *, drop_unused: bool = False) -> ImportedMesh:
    """Read a mesh file of any suffix meshio reads, or a gmsh .geo geometry; coordinates are taken as [m].

    Cells of the highest dimension make the body; a constant z (in 1D y and z) is dropped. Of cells of second order the
    corners are read. Simplices, pyramids and wedges are oriented; degenerate or inverted elements are refused, and so
    are points that no element uses unless `drop_unused`.
    """
    path = Path(path)
    raw = load_file(path)
    middles = _take_corners(raw, str(path))
    blocks = _body_cells(raw, str(path))
    kinds = list(dict.fromkeys(kind for kind, _ in blocks))
    cells = np.concatenate([block.ravel() for _, block in blocks])
    points = _flattened(np.asarray(raw.points, dtype=np.float64), cells, kinds[0], str(path))
    # points that only carry the geometry (arc centres) are gmsh's habit, not a fault of the file
    drop = drop_unused or is_script(path)
    kept = np.setdiff1d(_used_points(np.append(cells, middles), len(points), str(path), drop=drop), middles)
    renumber = np.full(len(points), -1)
    renumber[kept] = np.arange(len(kept))
    renumbered_blocks = [(kind, renumber[block]) for kind, block in blocks]
    if kinds[0] in MESH_TYPES and len(kinds) == 1:
        whole = np.concatenate([block for _, block in renumbered_blocks])
        mesh = oriented(build_mesh(kinds[0], points[kept].T, _library_order(whole, kinds[0]).T))
    else:
        for kind, block in renumbered_blocks:
            if not first_of_each(block.T).all():
                raise RheotwinError(f"{path}: a {kind} element has one point at two of its corners; repair the file")
        mesh = mixed_mesh(points[kept].T, renumbered_blocks)
    check_elements(mesh, str(path))
    nodes, elements = named_groups(raw, [TYPE_OF_KIND[kind] for kind in kinds])
    renumbered = {name: renumber[members] for name, members in nodes.items()}
    regions = {name: members[members >= 0] for name, members in renumbered.items()}
    return ImportedMesh(mesh, {name: members for name, members in regions.items() if len(members)}, elements)


def write_mesh(
    path: str | Path,
    mesh: Mesh,
    *,
    regions: Mapping[str, npt.NDArray[np.integer]] | None = None,
    cell_regions: Mapping[str, npt.NDArray[np.integer]] | None = None,
) -> None:
    """Write a mesh [m] in the format of the suffix, all or nothing; .inp files keep the named groups."""
    path = Path(path)
    kind, suffix = body_cell(mesh), path.suffix.lower()
    if suffix not in WRITERS:
        raise RheotwinError(
            f"{path}: cannot write a mesh with suffix '{suffix}'{nearest_name(suffix, WRITERS)}: "
            f"use one of {', '.join(WRITERS)}"
        )
    if suffix == ".stl" and kind != "triangle":
        raise RheotwinError(f"{path}: an STL file holds triangles only, not {kind} cells: use .vtu or .msh")
    if kind == MIXED and suffix not in MIXED_FORMATS:
        raise RheotwinError(f"{path}: cannot hold mixed cells: use one of {', '.join(MIXED_FORMATS)}")
    raw = _to_meshio(mesh)
    if suffix in GROUP_FORMATS:
        raw.point_sets = {name: np.asarray(members) for name, members in (regions or {}).items()}
        raw.cell_sets = {name: [np.asarray(members)] for name, members in (cell_regions or {}).items()}
    _write_atomically(path, raw, *WRITERS[suffix])


def readable_suffixes() -> list[str]:
    """Return the suffixes that `read_mesh` understands."""
    import meshio

    known = [suffix for suffix in meshio.extension_to_filetypes if suffix not in UNSUPPORTED]
    return [".geo", *known]


def load_file(path: Path) -> Any:
    """Return the meshio mesh of a file, or refuse it in one sentence."""
    import meshio

    if path.is_dir():
        raise RheotwinError(f"{path}: this is a folder: name a mesh file in it")
    if not path.exists():
        raise RheotwinError(f"{path}: no such mesh file")
    suffix = path.suffix.lower()
    if suffix not in readable_suffixes():
        raise RheotwinError(
            f"{path}: unknown mesh suffix '{suffix}'{nearest_name(suffix, readable_suffixes())}: "
            "use .msh, .vtu, .vtk, .stl, .inp, .geo or another format meshio reads"
        )
    if not path.is_file():
        raise RheotwinError(f"{path}: this is no regular file: name a mesh file")
    if is_script(path):
        with TemporaryDirectory() as folder:
            meshed = Path(folder) / "geometry.msh"
            meshed.write_bytes(geometry_mesh(path))
            return load_file(meshed)
    return _unpacked(guarded(path, lambda: _packed(_read(path, meshio.extension_to_filetypes[suffix]))))


def is_script(path: str | Path) -> bool:
    """Tell whether a file is a geometry script (.geo), which gmsh runs."""
    return Path(path).suffix.lower() == ".geo"


def geometry_mesh(path: Path) -> bytes:
    """Return the mesh (.msh) that gmsh makes of a geometry script; refuse one that nobody said may be run."""
    if os.environ.get(TRUST, "") in ("", "0"):
        raise RheotwinError(
            f"{path}: a .geo file is a program, which can read and write files and start others; read it, then let it "
            f"run with --trust-geometry (`rheotwin mesh {path.name} --trust-geometry --to body.inp` makes a plain mesh)"
        )

    def meshed() -> Arrays:
        with TemporaryDirectory() as folder:
            mesh_geometry(path, Path(folder) / "geometry.msh")
            return {"mesh": np.frombuffer((Path(folder) / "geometry.msh").read_bytes(), dtype=np.uint8)}

    return guarded(path, meshed, seconds=GMSH_SECONDS)["mesh"].tobytes()


def _read(path: Path, formats: Sequence[str]) -> Any:
    """Return what meshio reads from a file in the first of its formats that takes it."""
    import meshio

    reasons = []
    for name in sorted(formats, key=lambda name: name != PREFERRED_READER.get(path.suffix.lower())):
        # a malformed file makes meshio's readers print, exit or raise anything at all
        try:
            with _quietly():
                return meshio.read(path, file_format=name)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            reasons.append(_reason(error))
    raise RheotwinError(f"{path}: cannot be read as {' or '.join(formats)}{reasons[0]}: check or export it again")


def _packed(raw: Any) -> Arrays:
    """Return what is used of a meshio mesh as arrays by name, the names in the files as JSON."""
    arrays: Arrays = {"points": np.asarray(raw.points, dtype=np.float64)}
    if arrays["points"].ndim != 2 or not 1 <= arrays["points"].shape[1] <= 3:
        raise RheotwinError("its points do not have one to three coordinates: export it again")
    tags = raw.cell_data.get("gmsh:physical")
    about = {
        "cells": [block.type for block in raw.cells],
        "tags": tags is not None,
        "groups": {name: [int(item) for item in entry[:2]] for name, entry in raw.field_data.items() if len(entry) > 1},
        "points": list(raw.point_sets),
        "sets": [[name, [own is not None for own in sets]] for name, sets in raw.cell_sets.items()],
    }
    for number, block in enumerate(raw.cells):
        if not isinstance(block.data, np.ndarray) or block.data.ndim != 2:
            raise RheotwinError(f"cells of type {block.type} are not supported: export it with first-order cells")
        arrays[f"cells{number}"] = block.data.astype(np.int64)
        if tags is not None:
            arrays[f"tags{number}"] = np.asarray(tags[number])
    arrays |= {f"points{number}": _numbers(own) for number, own in enumerate(raw.point_sets.values())}
    for number, sets in enumerate(raw.cell_sets.values()):
        arrays |= {f"set{number}.{block}": _numbers(own) for block, own in enumerate(sets) if own is not None}
    return {**arrays, "about": np.array(json.dumps(about))}


def _numbers(members: Any) -> Indices:
    return np.asarray(members, dtype=np.int64).ravel()


def _unpacked(arrays: Arrays) -> Any:
    """Return the meshio mesh of `_packed`."""
    import meshio

    about = json.loads(str(arrays["about"]))
    blocks = range(len(about["cells"]))
    return meshio.Mesh(
        arrays["points"],
        [(kind, arrays[f"cells{number}"]) for number, kind in enumerate(about["cells"])],
        cell_data={"gmsh:physical": [arrays[f"tags{number}"] for number in blocks]} if about["tags"] else {},
        field_data={visible(name): np.array(entry) for name, entry in about["groups"].items()},
        point_sets={visible(name): arrays[f"points{number}"] for number, name in enumerate(about["points"])},
        cell_sets={
            visible(name): [arrays[f"set{number}.{block}"] if there else None for block, there in enumerate(sets)]
            for number, (name, sets) in enumerate(about["sets"])
        },
    )


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep meshio's messages and number warnings off the terminal: what matters becomes our one sentence."""
    silence = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silence[0], silence[1], np.errstate(all="ignore"):
        yield


def _reason(error: BaseException) -> str:
    """Return ' (what the reader said)' on one line, or nothing if it only gave up."""
    said = " ".join(str(error).split())
    # a bare key or exit status tells the user nothing
    if isinstance(error, SystemExit | LookupError) or not said:
        return ""
    return f" ({said[:120].rstrip('.')})"


def _take_corners(raw: Any, place: str) -> Indices:
    """Leave their corners to cells of second order; return the points this drops, and say how far they bend edges."""
    import meshio

    dropped, bent = [], 0.0
    for number, block in enumerate(raw.cells):
        if block.type not in CURVED or not len(block.data):
            continue
        kind, edges = CURVED[block.type]
        cells = np.asarray(block.data, dtype=np.int64)
        corners = int(np.max(edges)) + 1
        first, second = (np.asarray(raw.points)[cells[:, list(ends)]] for ends in zip(*edges, strict=True))
        middle = np.asarray(raw.points)[cells[:, corners : corners + len(edges)]]
        away, length = np.linalg.norm(middle - 0.5 * (first + second), axis=2), np.linalg.norm(second - first, axis=2)
        bent = max(bent, float(np.max(away / np.maximum(length, np.finfo(float).tiny))))
        dropped.append(np.setdiff1d(cells[:, corners:], cells[:, :corners]))
        raw.cells[number] = meshio.CellBlock(kind, cells[:, :corners])
    if bent > STRAIGHT:
        warnings.warn(
            f"{place}: cells of second order are read by their corners; their edges bend by up to {bent:.2g} of their "
            "length, which is lost: use smaller cells along curved surfaces",
            stacklevel=4,
        )
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *dropped]))


def _body_cells(raw: Any, place: str) -> list[tuple[str, Indices]]:
    """Return kind and cells (elements, vertices) of the blocks of the highest dimension, as in the file."""
    blocks = [block for block in raw.cells if len(block.data)]
    top = max((block.dim for block in blocks), default=0)
    if top == 0 or len(raw.points) == 0:
        raise RheotwinError(f"{place}: the mesh holds no elements, only {len(raw.points)} points")
    types = sorted({block.type for block in blocks if block.dim == top})
    unsupported = [name for name in types if name not in KIND_OF_TYPE]
    if unsupported:
        raise RheotwinError(
            f"{place}: cells of type {', '.join(unsupported)} are not supported: "
            f"export the mesh with {', '.join(KIND_OF_TYPE)} cells"
        )
    found = [(KIND_OF_TYPE[block.type], block.data.astype(np.int64)) for block in blocks if block.dim == top]
    if any(cells.min() < 0 or cells.max() >= len(raw.points) for _, cells in found):
        raise RheotwinError(f"{place}: an element refers to a point that is not in the file: export the mesh again")
    return found


def _flattened(points: Array, cells: Indices, kind: str, place: str) -> Array:
    """Return points (nodes, dimension) without constant surplus coordinates; refuse surfaces in space."""
    dimension = CELL_DIMENSION.get(kind, 3)
    used = points[np.unique(cells)]
    if not np.all(np.isfinite(used)):
        raise RheotwinError(f"{place}: a point has a coordinate that is not a finite number: repair the file")
    spread = np.ptp(used, axis=0)
    if np.any(spread[dimension:] > FLAT * spread.max()):
        raise RheotwinError(f"{place}: {_not_a_body(kind)}")
    if points.shape[1] < dimension:
        raise RheotwinError(f"{place}: {kind} cells need points with {dimension} coordinates")
    return points[:, :dimension]


def _not_a_body(kind: str) -> str:
    if kind == "line":
        return "lines in space are not a body: a 1D mesh lies along x, with y and z constant"
    return (
        f"a {kind} surface in space is not a body: fill it with tetrahedra (for instance with gmsh), "
        "or give a 2D mesh of constant z"
    )


def _used_points(cells: Indices, count: int, place: str, *, drop: bool) -> Indices:
    """Return the sorted points in use; refuse others unless they may be dropped."""
    used = np.unique(cells).astype(np.int64)
    unused = np.setdiff1d(np.arange(count), used, assume_unique=True)
    if len(unused) and not drop:
        more = ", ..." if len(unused) > NAMED_POINTS else ""
        first = ", ".join(str(index) for index in unused[:NAMED_POINTS]) + more
        raise RheotwinError(
            f"{place}: {len(unused)} of {count} points belong to no element (indices {first}): "
            "remove them, or drop them with drop_unused = true (--drop-unused)"
        )
    return used


def _library_order(cells: Indices, kind: str) -> Indices:
    """Return cells (elements, vertices) in scikit-fem's vertex order, which differs for hexahedra."""
    if kind != "hex":
        return cells
    from skfem.io.meshio import INV_HEX_MAPPING

    return cells[:, INV_HEX_MAPPING[:8]]


def _to_meshio(mesh: Mesh) -> Any:
    """Return the meshio mesh, cells as they follow, points padded to three coordinates (what most formats require)."""
    import meshio
    from skfem.io.meshio import HEX_MAPPING

    points = np.zeros((mesh.p.shape[1], 3))
    points[:, : mesh.p.shape[0]] = mesh.p.T
    runs = []
    for kind, cells, corners in cell_blocks(mesh):
        rows = np.ascontiguousarray(corners[HEX_MAPPING[:8] if kind == "hex" else ...].T)
        breaks = np.flatnonzero(np.diff(cells) > 1) + 1
        parts = zip(np.split(cells, breaks), np.split(rows, breaks), strict=True)
        runs += [(int(own[0]), (TYPE_OF_KIND[kind], some)) for own, some in parts]
    return meshio.Mesh(points, [run for _, run in sorted(runs, key=lambda run: run[0])])


def _write_atomically(path: Path, raw: Any, file_format: str, options: dict[str, Any]) -> None:
    """Write beside the target and rename, so that a failure leaves the target as it was."""
    import meshio

    partial = path.with_name(path.name + ".part")
    try:
        with _quietly():
            meshio.write(partial, raw, file_format=file_format, **options)
        partial.replace(path)
    except OSError as error:
        raise RheotwinError(
            f"{path}: cannot be written ({error.strerror or error}): choose a folder that can be written to"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def holds_surface(path: str | Path) -> bool:
    """Return whether a file has triangles or quads in space and no cells that fill a volume."""
    raw = load_file(Path(path))
    kinds, flat = set(raw.cells_dict), np.ptp(np.asarray(raw.points), axis=0)[2:].max(initial=0.0) == 0.0
    return bool(kinds & {"triangle", "quad"}) and not kinds & {"tetra", "hexahedron"} and not flat


def read_surface(path: str | Path) -> tuple[Array, Indices]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of a file; equal points are one, flat triangles dropped."""
    raw = load_file(Path(path))
    points = np.asarray(raw.points, dtype=np.float64)
    cells = raw.cells_dict
    parts = [cells[kind] for kind in ("triangle",) if kind in cells]
    parts += [cells["quad"][:, half] for half in QUAD_HALVES if "quad" in cells]
    if not parts or points.shape[1] != 3:
        raise RheotwinError(f"{path}: holds no triangles in space; export the surface as triangles")
    faces = np.concatenate(parts).astype(np.int64)
    outside = (faces < 0) | (faces >= len(points))
    if outside.any():
        raise RheotwinError(
            f"{path}: a triangle refers to point {faces[outside][0]} (counted from 0), but the file has {len(points)} "
            "points; export it again"
        )
    if not np.all(np.isfinite(points)):
        raise RheotwinError(f"{path}: has coordinates that are not finite numbers; export it again")
    vertices, renumber = np.unique(points, axis=0, return_inverse=True)
    triangles = renumber.reshape(-1)[faces]
    corners = vertices[triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    triangles = triangles[areas > 0.0]
    if len(triangles) == 0:
        raise RheotwinError(f"{path}: all its triangles are flat; export the surface again")
    used, compact = np.unique(triangles, return_inverse=True)
    return vertices[used], np.ascontiguousarray(compact.reshape(-1, 3), dtype=np.int64)
