"""A measured path as the straight pieces that it was meant to be: its noise would be slopes, and forces of dashpots.

Corners are added one by one where the straight pieces fit worst, and all of them are moved to where they fit best,
until what is left is the noise that second differences show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solveh_banded
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.validation.identification.record import TimeRecord

MOST_CORNERS, STEPS = 24, 20
LIKE_NOISE = 1.05
"""Rms of what straight pieces leave, over the noise, at which there are corners enough."""


def straightened(record: TimeRecord) -> TimeRecord:
    """Return the record with every prescribed displacement or force made of straight pieces."""
    x, f, start = record.displacement.copy(), record.force.copy(), 0
    for phase in record.phases:
        part = slice(start, phase.end)
        if phase.drive != "free":
            values = x if phase.drive == "displacement" else f
            values[part] = straight_pieces(record.time[part], values[part], record.name)
        start = phase.end
    return replace(record, displacement=x, force=f)


def straight_pieces(time: Array, values: Array, name: str = "path") -> Array:
    """Return the nearest path of as few straight pieces as leave no more than noise."""
    noise = 1.4826 * float(np.median(np.abs(np.diff(values, 2)))) / np.sqrt(6.0)
    corners = np.array([time[0], time[-1]])

    def path(inner: Array) -> Array:
        return through_corners(time, values, np.sort(np.clip(inner, time[0], time[-1])))

    size = float(np.abs(values).max())
    for _ in range(MOST_CORNERS):
        left = values - path(corners[1:-1])
        if np.sqrt(np.mean(left**2)) <= max(LIKE_NOISE * noise, 1e-9 * size):
            return values - left
        smooth = np.convolve(left, np.ones(5), "same")
        new = float(time[1:-1][int(np.argmax(np.abs(smooth[1:-1])))])
        with threadpool_limits(1):  # matrices are slim
            found = least_squares(
                lambda inner: (path(inner) - values) / size,
                np.sort(np.append(corners[1:-1], new)),
                diff_step=1e-6,
                x_scale=float(np.diff(time).min()),
                max_nfev=STEPS,
            )
        corners = np.concatenate([corners[:1], np.sort(found.x), corners[-1:]])
    raise RheotwinError(f"{name}: its path is not made of {MOST_CORNERS} straight pieces; leave out --straight")


def through_corners(time: Array, values: Array, inner: Array) -> Array:
    """Return the nearest path with corners at these times: hat functions, so normal equations of three diagonals."""
    knots = np.concatenate([time[:1], inner, time[-1:]])
    piece = np.clip(np.searchsorted(knots, time, "right") - 1, 0, len(knots) - 2)
    late = (time - knots[piece]) / np.maximum(np.diff(knots), 1e-300)[piece]
    early, many = 1.0 - late, len(knots)

    def summed(first: Array, second: Array) -> Array:
        return np.asarray(np.bincount(piece, first, many) + np.bincount(piece + 1, second, many))

    main = summed(early**2, late**2)
    beside = np.concatenate([[0.0], np.bincount(piece, early * late, many)[:-1]])
    ridge = 1e-13 * main.max()  # between corners without a sample
    at = solveh_banded(np.stack([beside, main + ridge]), summed(early * values, late * values))
    return np.asarray(early * at[piece] + late * at[piece + 1])
