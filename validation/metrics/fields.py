"""Errors of nodal fields over time: displacement, velocity, stress, on common points with their volumes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.validation.metrics.over_time import Array, scale

_TWICE = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""How often XX, YY, ZZ, XY, YZ, XZ occur in sigma : sigma."""


def nodal_norm(field: ArrayLike, weights: ArrayLike) -> Array:
    """Return |u|(t) = sqrt(sum_n w_n |u_n|^2 / sum_n w_n), one value per frame, in the unit of the field."""
    values, shares = np.asarray(field, dtype=float), np.asarray(weights, dtype=float)
    squares = np.einsum("fnc,fnc->fn", values, values)
    return np.asarray(np.sqrt(squares @ shares / shares.sum()))


def field_error(field: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return e(t) = |u - u_ref|(t) / max_t |u_ref|(t), one value per frame [1].

    The norm is `nodal_norm` with tributary volumes; the largest reference norm in time is the scale,
    so that a body back at rest does not divide by zero.
    """
    difference = np.asarray(field, dtype=float) - np.asarray(reference, dtype=float)
    return nodal_norm(difference, weights) / scale(nodal_norm(reference, weights).max())


def displacement_error(displacement: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 displacement error per frame [1]; see `field_error`."""
    return field_error(displacement, reference, weights)


def velocity_error(velocity: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 velocity error per frame [1]; see `field_error`."""
    return field_error(velocity, reference, weights)


def stress_error(stress: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 error per frame [1] of stresses (F, N, 6) [Pa], XX, YY, ZZ, XY, YZ, XZ.

    `field_error` in the norm sigma : sigma of the tensor, which no turn of the axes changes: shears count twice.
    """
    root = np.sqrt(_TWICE)
    return field_error(np.asarray(stress) * root, np.asarray(reference) * root, weights)
