"""The rotation in a deformation: F = R U with R a proper rotation and U symmetric."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def polar_rotation(deformation: Array, dimension: int) -> Array:
    """Return R (..., 3, 3) of deformation gradients F (..., 3, 3), in plane strain (2) or in space (3).

    In the plane tan(phi) = (F_yx - F_xy)/(F_xx + F_yy). In space F = A S B' by singular values and
    R = A diag(1, 1, det(A B')) B', which is a proper rotation for any F.
    """
    if dimension == 2:
        return _plane_rotation(deformation)
    left, _, right = np.linalg.svd(deformation)
    left[..., 2] *= np.sign(np.linalg.det(left) * np.linalg.det(right))[..., None]
    return np.asarray(left @ right)


def _plane_rotation(deformation: Array) -> Array:
    cosine = deformation[..., 0, 0] + deformation[..., 1, 1]
    sine = deformation[..., 1, 0] - deformation[..., 0, 1]
    length = np.hypot(cosine, sine)
    rotation = np.zeros_like(deformation)
    rotation[..., 0, 0] = rotation[..., 1, 1] = cosine / length
    rotation[..., 1, 0] = sine / length
    rotation[..., 0, 1] = -rotation[..., 1, 0]
    rotation[..., 2, 2] = 1.0
    return rotation


def axial(matrix: Array) -> Array:
    """Return the vector v (..., 3) with [v]x = M - M'."""
    return np.stack(
        [
            matrix[..., 2, 1] - matrix[..., 1, 2],
            matrix[..., 0, 2] - matrix[..., 2, 0],
            matrix[..., 1, 0] - matrix[..., 0, 1],
        ],
        axis=-1,
    )


def cross_matrix(vector: Array) -> Array:
    """Return [v]x (..., 3, 3), the matrix of w -> v x w."""
    out = np.zeros((*vector.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = vector[..., 0], vector[..., 1], vector[..., 2]
    out[..., 1, 2], out[..., 2, 0], out[..., 0, 1] = -vector[..., 0], -vector[..., 1], -vector[..., 2]
    return out


def spread(matrix: Array) -> Array:
    """Return tr(M) I - M (..., 3, 3), the matrix with [(tr(M) I - M) v]x = [v]x M + M' [v]x."""
    trace = np.trace(matrix, axis1=-2, axis2=-1)
    return np.asarray(trace[..., None, None] * np.eye(3) - matrix)
