"""Vectors in space, and small algebra on (..., 6) symmetric tensors ordered (XX, YY, ZZ, XY, YZ, XZ)."""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array

INDEX_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
"""Row and column of each stored component."""

TRACE = np.zeros((6, 6))
"""Maps a strain to its trace times the unit tensor."""
TRACE[:3, :3] = 1.0
TWICE = 2.0 * np.eye(6)
"""Maps a strain to twice itself."""


def von_mises(stress: Array) -> Array:
    """Return sqrt(3/2 s:s) of the deviator s [Pa] for stresses (..., 6)."""
    mean = stress[..., :3].mean(axis=-1, keepdims=True)
    normal = np.sum((stress[..., :3] - mean) ** 2, axis=-1)
    shear = np.sum(stress[..., 3:] ** 2, axis=-1)
    return np.asarray(np.sqrt(1.5 * (normal + 2.0 * shear)))


def padded(vectors: Array) -> Array:
    """Return vectors (n, d) of one, two or three components as (n, 3), with zeros behind."""
    out = np.zeros((len(vectors), 3))
    out[:, : vectors.shape[1]] = vectors
    return out
