"""The digital pushing operation: a rectangular punch handed over to the lattice of a body (calibration 5).

The punch is cut into cells of length l; what is left at its ends, m and n < l, makes smaller cells. Each cell
pushes at its centre with f* for a whole one, and where it hits a cell of the body at (s, t), vertices get

    f_a = s t/l^2 f*   f_b = (l - s) t/l^2 f*   f_c = (l - s)(l - t)/l^2 f*   f_d = s (l - t)/l^2 f*

each only where both its lengths are l/4 or more: near an edge or vertex the far ones get nothing ("clip").

    none           nothing is clipped: the forces have the sum and the moment of an even pressure
    renormalised   what is left of each f* is scaled up to f* again: the sum is kept
    paper          as printed: clipped parts are lost, ends of less than l/4 push nothing, and the corner where
                   both ends meet has (m^2 + n^2)/l^2 f* instead of m n/l^2 f*, the part of its area
"""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Clip = Literal["none", "renormalised", "paper"]

LEAST = 0.25
"""Share of a cell's length below which a part does not count."""
ON_GRID = 1e-9
"""Share of a cell's length that counts as rounding."""


def punch_shares(
    lattice: Array, center: Array, size: Array, cell: float | None = None, clip: Clip = "renormalised"
) -> Array:
    """Return the share (n,) of the punch's force at each lattice point (n, k) [m] of the pushed face, k = 1 or 2.

    The punch has its `center` (k,) [m] on the face and a `size` (k,) [m] along its axes; its cells have the length
    `cell` [m], by default that of the body's.
    """
    spacing, number = _grid(lattice)
    places, force = _punch_cells(size, spacing if cell is None else cell, clip)
    found = np.zeros(len(lattice))
    low = lattice.min(axis=0)
    steps = (center + places - low) / spacing
    last = np.array(number.shape) - 2
    corner = np.clip(np.floor(steps + ON_GRID).astype(np.int64), 0, last)
    inside = np.clip(steps - corner, 0.0, 1.0)
    if np.any(np.abs(steps - corner - inside) > ON_GRID):
        raise RheotwinError("the punch reaches beyond the lattice of the body; make it smaller or move its centre")
    weight, beyond = _vertex_shares(inside, clip), np.array(list(product((0, 1), repeat=lattice.shape[1])))
    nodes = number[tuple(np.moveaxis(corner[:, None] + beyond, -1, 0))]
    if np.any(nodes[weight > 0.0] < 0):
        raise RheotwinError("the punch reaches beyond the lattice of the body; make it smaller or move its centre")
    np.add.at(found, nodes.ravel(), (force[:, None] * weight).ravel())
    return found


def _grid(lattice: Array) -> tuple[float, Indices]:
    """Return the spacing of lattice points (n, k) and their numbers on the grid, -1 where there is none."""
    apart = np.concatenate([np.diff(np.unique(column)) for column in lattice.T])
    reach = float(np.ptp(lattice, axis=0).max())
    apart = apart[apart > ON_GRID * reach]
    if len(apart) == 0 or np.ptp(apart) > ON_GRID * reach or np.any(np.ptp(lattice, axis=0) <= ON_GRID * reach):
        raise RheotwinError("the pushed nodes are no square lattice along the scene's axes; select a side of voxels")
    spacing = float(np.mean(apart))
    index = np.rint((lattice - lattice.min(axis=0)) / spacing).astype(np.int64)
    number = np.full(index.max(axis=0) + 1, -1)
    number[tuple(index.T)] = np.arange(len(lattice))
    return spacing, number


def _punch_cells(size: Array, cell: float, clip: Clip) -> tuple[Array, Array]:
    """Return centres (c, k) [m] relative to the punch's and forces (c,) of its cells, for a pressure that sums to 1."""
    centers, lengths = zip(*(_cut(float(length), cell) for length in size), strict=True)
    places = np.array(list(product(*centers)))
    parts = np.array(list(product(*lengths))) / cell
    force = parts.prod(axis=1)
    if clip == "paper":
        ends = parts < 1.0
        force = np.where(ends.sum(axis=1) == 2, np.sum(parts**2, axis=1), force)
        force[np.any(parts < LEAST, axis=1)] = 0.0
    return places, force * cell ** len(size) / float(np.prod(size))


def _cut(length: float, cell: float) -> tuple[Array, Array]:
    """Cut a length into whole cells from its lower end and what is left; return centres from its middle, lengths."""
    whole = int(np.floor(length / cell + ON_GRID))
    lengths = np.full(whole, cell)
    if length - whole * cell > ON_GRID * cell:
        lengths = np.append(lengths, length - whole * cell)
    return np.cumsum(lengths) - 0.5 * lengths - 0.5 * length, lengths


def _vertex_shares(inside: Array, clip: Clip) -> Array:
    """Return the shares (c, 2^k) of the vertices of a cell hit at (c, k) in [0, 1], low ones first."""
    per_axis = np.stack([1.0 - inside, inside], axis=-1)
    choice = np.array(list(product((0, 1), repeat=inside.shape[1])))
    lengths = per_axis[:, np.arange(inside.shape[1]), choice]
    share = np.asarray(lengths.prod(axis=-1))
    if clip != "none":
        share[np.any(lengths < LEAST - ON_GRID, axis=-1)] = 0.0
    if clip == "renormalised":
        share /= share.sum(axis=1, keepdims=True)
    return share
