"""Rows of four numbers, one per particle, to vectors of eight and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rheotwin.particles.lanes import Lanes

BATCH = 8
"""Elements at once."""
ROW = 4
"""Numbers in the row of a vector, the last one unused."""
_LOW, _HIGH = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)


def columns(lanes: Lanes, rows: Sequence[Any]) -> list[Any]:
    """Turn eight rows x y z 0 into three vectors of eight x, y and z."""
    pick = lanes.shuffle
    pairs = [pick(rows[k], rows[k + 1], range(8)) for k in range(0, 8, 2)]
    left, right = (pick(pairs[k], pairs[k + 1], [0, 4, 8, 12, 1, 5, 9, 13]) for k in (0, 2))
    low, high = (pick(pairs[k], pairs[k + 1], [2, 6, 10, 14, 2, 6, 10, 14]) for k in (0, 2))
    return [pick(left, right, _LOW), pick(left, right, _HIGH), pick(low, high, _LOW)]


def rows_of(lanes: Lanes, x: Any, y: Any, z: Any) -> list[Any]:
    """Turn vectors of eight x, y and z into eight rows x y z 0."""
    pick, nothing, rows = lanes.shuffle, lanes.constant(0.0), []
    for half in (0, 4):
        woven = [half, half + 8, half + 1, half + 9, half + 2, half + 10, half + 3, half + 11]
        xy, z0 = pick(x, y, woven), pick(z, nothing, woven)
        rows += [pick(xy, z0, [2 * k, 2 * k + 1, 2 * k + 8, 2 * k + 9]) for k in range(4)]
    return rows
