"""The identity of a mesh: equal meshes have equal hashes on every machine."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from rheotwin.meshing.cells import Mesh, cell_kind


def mesh_hash(mesh: Mesh) -> str:
    """Return the SHA-256 (hexadecimal) of cell kind, points and cells in little-endian 64-bit form.

    Node and element order and vertex order count; negative zero is the same point as zero.
    """
    points = np.ascontiguousarray(mesh.p.T + 0.0, dtype="<f8")
    cells = np.ascontiguousarray(mesh.t.T, dtype="<i8")
    header = f"{cell_kind(mesh)} {points.shape} {cells.shape}\n"
    return sha256(header.encode("ascii") + points.tobytes() + cells.tobytes()).hexdigest()
