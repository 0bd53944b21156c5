"""A measured path as the straight pieces that it was meant to be: its noise would be slopes, and forces of dashpots.

Corners are added one by one where the straight pieces fit worst, and all of them are moved to where they fit best,
until what is left is the noise that second differences show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.validation.identification.record import TimeRecord

MOST_CORNERS = 40
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
        knots = np.concatenate([[time[0]], np.sort(np.clip(inner, time[0], time[-1])), [time[-1]]])
        columns = np.stack([np.interp(time, knots, unit) for unit in np.eye(len(knots))], axis=1)
        return np.asarray(columns @ np.linalg.lstsq(columns, values, rcond=None)[0])

    size = float(np.abs(values).max())
    for _ in range(MOST_CORNERS):
        left = values - path(corners[1:-1])
        if np.sqrt(np.mean(left**2)) <= max(LIKE_NOISE * noise, 1e-9 * size):
            return values - left
        smooth = np.convolve(left, np.ones(5), "same")
        new = float(time[1:-1][int(np.argmax(np.abs(smooth[1:-1])))])
        found = least_squares(
            lambda inner: (path(inner) - values) / size,
            np.sort(np.append(corners[1:-1], new)),
            diff_step=1e-6,
            x_scale=float(np.diff(time).min()),
        )
        corners = np.concatenate([corners[:1], np.sort(found.x), corners[-1:]])
    raise RheotwinError(f"{name}: its path is not made of {MOST_CORNERS} straight pieces; leave out --straight")
