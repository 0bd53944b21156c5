"""Element measures, their sign, and the refusal of elements that have none."""

from __future__ import annotations

from math import factorial

import numpy as np
from skfem.quadrature import get_quadrature

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.meshing.cells import CELL_DIMENSION, CORNERS, SIMPLICES, Mesh, build_mesh, cell_kind

MEASURE_NAME = {1: "length", 2: "area", 3: "volume"}
MEASURE_UNIT = {1: "m", 2: "m2", 3: "m3"}
FLATNESS = 1e-12
"""A determinant below this fraction of the product of its edge lengths counts as zero (rounding of input)."""


def element_measures(mesh: Mesh) -> Array:
    """Return the signed measure of each element [m, m2 or m3], positive for a properly ordered element.

    Simplices: det / d!; quads and hexahedra: the determinant of scikit-fem's map, integrated exactly.
    """
    kind = cell_kind(mesh)
    if kind in SIMPLICES:
        measure: Array = _determinants(corner_frames(mesh, 0)) / factorial(CELL_DIMENSION[kind])
        return measure
    points, weights = get_quadrature(mesh.elem.refdom, 2)
    # scikit-fem's reference hexahedron is left-handed
    handedness = -1.0 if kind == "hex" else 1.0
    integrated: Array = handedness * (mesh.mapping().detDF(points) @ weights)
    return integrated


def _determinants(frames: Array) -> Array:
    """Return det of (elements, d, d), written out: on many small matrices LAPACK takes five times as long."""
    if frames.shape[1] == 1:
        return frames[:, 0, 0]
    if frames.shape[1] == 2:
        return np.asarray(frames[:, 0, 0] * frames[:, 1, 1] - frames[:, 0, 1] * frames[:, 1, 0])
    a, b, c = frames.transpose(1, 2, 0)
    return np.asarray(
        a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def corner_frames(mesh: Mesh, corner: int) -> Array:
    """Return the edge vectors (elements, edges, dimension) [m] leaving one local corner of each element."""
    vertex, *neighbours = CORNERS[cell_kind(mesh)][corner]
    frames: Array = (mesh.p[:, mesh.t[neighbours]] - mesh.p[:, None, mesh.t[vertex]]).transpose(2, 1, 0)
    return frames


def oriented(mesh: Mesh) -> Mesh:
    """Return the mesh with every simplex of positive measure (two vertices swapped where it was negative).

    Vertex order is free in a simplex. Quads and hexahedra are returned as they are: `check_elements` judges
    them.
    """
    kind = cell_kind(mesh)
    if kind not in SIMPLICES:
        return mesh
    negative = element_measures(mesh) < 0.0
    cells = mesh.t.copy()
    cells[-2:, negative] = cells[-2:, negative][::-1]
    return build_mesh(kind, mesh.p, cells)


def check_elements(mesh: Mesh, place: str) -> None:
    """Refuse a mesh with a degenerate or inverted element, naming `place`, the element and its measure.

    An element is good when the determinant at each of its corners is positive beyond rounding.
    """
    kind = cell_kind(mesh)
    worst = np.full(mesh.t.shape[1], np.inf)
    for corner in range(1 if kind in SIMPLICES else len(CORNERS[kind])):
        worst = np.minimum(worst, _relative_determinant(corner_frames(mesh, corner)))
    bad = np.flatnonzero(~(worst > FLATNESS))
    if len(bad) == 0:
        return
    element = int(bad[0])
    dimension = CELL_DIMENSION[kind]
    others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    raise RheotwinError(
        f"{place}: {kind} element {element}{others} is {_fault(float(worst[element]))}, its "
        f"{MEASURE_NAME[dimension]} is {element_measures(mesh)[element]:.6g} {MEASURE_UNIT[dimension]}: "
        f"{_remedy(kind)}"
    )


def _relative_determinant(frames: Array) -> Array:
    """Return det / product of edge lengths, zero where an edge has no length."""
    lengths = np.linalg.norm(frames, axis=2).prod(axis=1)
    relative: Array = np.linalg.det(frames) / np.where(lengths > 0.0, lengths, 1.0)
    return relative


def _fault(determinant: float) -> str:
    return "inverted" if determinant < -FLATNESS else "degenerate"


def _remedy(kind: str) -> str:
    if kind in SIMPLICES:
        return "move its vertices apart or remove it"
    return "every corner must be convex and its vertices in positive order (counter-clockwise seen from above)"
