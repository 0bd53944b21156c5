"""Shared shapes and the two surface integrals every closed mesh must satisfy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rheotwin.meshing import BoxShape, CylinderShape, LShape, Mesh, SphereShape, make_shape

SHAPES = {
    "line": BoxShape((2.0,), (5,)),
    "box-triangle": BoxShape((2.0, 1.0), (4, 3)),
    "box-alternating": BoxShape((2.0, 1.0), (4, 3), pattern="alternating"),
    "box-quad": BoxShape((2.0, 1.0), (4, 3), cell="quad"),
    "box-five": BoxShape((2.0, 1.0, 0.5), (4, 3, 2)),
    "box-six": BoxShape((2.0, 1.0, 0.5), (4, 3, 2), pattern="six"),
    "box-hex": BoxShape((2.0, 1.0, 0.5), (4, 3, 2), cell="hex"),
    "disc-triangle": SphereShape(0.7, 7, "triangle"),
    "disc-quad": SphereShape(0.7, 6, "quad"),
    "ball-tet": SphereShape(0.7, 6, "tet"),
    "ball-hex": SphereShape(0.7, 5, "hex"),
    "cylinder-tet": CylinderShape(0.7, 1.2, (6, 3), "tet"),
    "cylinder-hex": CylinderShape(0.7, 1.2, (5, 3), "hex"),
    "l-triangle": LShape((2.0, 3.0), (5, 4), (0.5, 1.3)),
    "l-quad": LShape((2.0, 3.0), (5, 4), (0.5, 1.3), cell="quad"),
    "l-tet": LShape((2.0, 3.0, 1.0), (5, 4, 2), (0.5, 1.3)),
    "l-hex": LShape((2.0, 3.0, 1.0), (5, 4, 2), (0.5, 1.3), cell="hex"),
}


@pytest.fixture(params=list(SHAPES))
def any_mesh(request: pytest.FixtureRequest) -> Mesh:
    return make_shape(SHAPES[request.param])


@pytest.fixture(params=[name for name in SHAPES if name != "line"])
def solid_mesh(request: pytest.FixtureRequest) -> Mesh:
    """Every shape in two and three dimensions."""
    return make_shape(SHAPES[request.param])


@pytest.fixture
def area_vectors() -> Callable[[np.ndarray], np.ndarray]:
    """Area vectors (faces, dimension) of faces given by corner points (faces, corners, dimension)."""

    def compute(corners: np.ndarray) -> np.ndarray:
        if corners.shape[1] == 2:
            along = corners[:, 1] - corners[:, 0]
            return np.stack([along[:, 1], -along[:, 0]], axis=1)
        if corners.shape[1] == 3:
            return 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        # the area vector of a bilinear patch is half the cross product of its diagonals
        return 0.5 * np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])

    return compute


@pytest.fixture
def enclosed_measure(area_vectors: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], float]:
    """Measure enclosed by outward faces: (1/d) integral of x . n, by Gauss points on bilinear patches."""

    def compute(corners: np.ndarray) -> float:
        if corners.shape[1] < 4:
            return float((corners.mean(axis=1) * area_vectors(corners)).sum() / corners.shape[2])
        total = 0.0
        nodes = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))
        for u in nodes:
            for v in nodes:
                weights = np.array([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
                du, dv = np.array([v - 1, 1 - v, v, -v]), np.array([u - 1, -u, u, 1 - u])
                x, xu, xv = (np.einsum("k,fkd->fd", w, corners) for w in (weights, du, dv))
                total += 0.25 * float((x * np.cross(xu, xv)).sum()) / 3.0
        return total

    return compute
