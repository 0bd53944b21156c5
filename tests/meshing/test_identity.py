"""Equal meshes, equal hashes; any change changes it."""

from __future__ import annotations

import numpy as np

from rheotwin.meshing import BoxShape, build_mesh, make_shape, mesh_hash


def test_hash_is_stable() -> None:
    """Stored value: the hash identifies meshes across machines and releases."""
    mesh = build_mesh("triangle", [[0, 1, 0], [0, 0, 1]], [[0], [1], [2]])
    assert mesh_hash(mesh) == "57302b165e20b526d0e82725a44ab0b40e6e7d4c5c3f1593bdad3df1c88ac7b4"


def test_hash_ignores_storage_but_not_content() -> None:
    mesh = make_shape(BoxShape((1.0, 1.0), (3, 2)))
    same = build_mesh("triangle", np.asfortranarray(mesh.p), mesh.t.astype(np.int64))
    assert mesh_hash(same) == mesh_hash(mesh)
    moved = mesh.p.copy()
    moved[0, 0] = 1e-300
    negative_zero = mesh.p.copy()
    negative_zero[0, 0] = -0.0
    assert mesh_hash(build_mesh("triangle", moved, mesh.t)) != mesh_hash(mesh)
    assert mesh_hash(build_mesh("triangle", negative_zero, mesh.t)) == mesh_hash(mesh)
    assert mesh_hash(build_mesh("triangle", mesh.p, mesh.t[[1, 2, 0]])) != mesh_hash(mesh)


def test_kind_is_part_of_the_identity() -> None:
    quad = make_shape(BoxShape((1.0, 1.0), (1, 1), cell="quad"))
    tet = build_mesh("tet", np.vstack([quad.p, [0, 0, 0, 1]]), quad.t)
    assert mesh_hash(quad) != mesh_hash(tet)
