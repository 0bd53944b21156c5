"""Rows of contacts between bodies that a rotation of all their nodes leaves alone, so that their forces have no moment.

A row e . sum w_i du_i pushes on its nodes with w_i e. The moment of these pushes is C = (sum w_i x_i) x e: zero for
the normal, because sum w_i x_i = g n, but g n x t for friction, which acts on both sides of the gap. Both bodies should
meet in one point, so the row is that of the nodes once the turn that all of them share is taken out:

    push on node i = w_i e + omega x r_i,      I omega = -C,      I = sum (r_i.r_i 1 - r_i r_i^T)

with r_i from the centre of the nodes. Their sum is that of w_i e, nothing. As slip, the row measures what is left of
sum w_i du_i without that turn, which is no slip: work and force agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FLAT = 1e-12
"""Nodes on one line cannot turn about it: that is where det I is below this share of (trace I)^3."""


def plain(weight: Array, frame: Array) -> Array:
    """Return w_i e, the pushes (n, k, 4, 3) of rows with `weight` (n, 4) and `frame` (n, k, 3)."""
    return np.asarray(weight[:, None, :, None] * frame[:, :, None, :])


def balanced(weight: Array, frame: Array, place: Array, present: NDArray[np.bool_], dimension: int) -> Array:
    """Return the pushes (n, k, 4, 3) without moment of rows on nodes at `place` (n, 4, 3) [m].

    `present` (n, 4) says where there is a node, whatever its weight: with all corners of a face the nodes never lie on
    one line, about which they could not turn.
    """
    there = present[:, :, None]
    centre = np.sum(there * place, axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1)
    arm = there * (place - centre)
    inertia = _inertia(arm, dimension)
    out = plain(weight, frame)
    for _ in range(2):  # the second time takes what rounding left
        couple = np.cross(arm[:, None], out).sum(axis=2)
        omega = -np.einsum("nab,nkb->nka", inertia, couple)
        out = out + np.cross(omega[:, :, None, :], arm[:, None, :, :])
    return out


def _inertia(arm: Array, dimension: int) -> Array:
    """Return I^-1 (n, 3, 3) of unit masses at `arm` (n, 4, 3), zero where it is singular; in 2D that about z."""
    square = np.einsum("nia,nib->nab", arm, arm)
    trace = np.trace(square, axis1=1, axis2=2)
    inertia = trace[:, None, None] * np.eye(3) - square
    out: Array = np.zeros_like(inertia)
    if dimension == 2:
        out[:, 2, 2] = np.divide(1.0, trace, out=np.zeros_like(trace), where=trace > 0.0)
        return out
    solid = np.linalg.det(inertia) > FLAT * (2.0 * trace) ** 3
    out[solid] = np.linalg.inv(inertia[solid])
    return out
