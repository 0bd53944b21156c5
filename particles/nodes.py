"""What never changes about the nodes of a body in a compiled loop."""

from __future__ import annotations

from typing import NamedTuple

from rheotwin.arrays import Array


class Nodes(NamedTuple):
    """Constant node data; `rest` (N, 3) [m], `weight` (N, 3) [N], `mass` (N,) [kg], `runaway` [m].

    `free` (N, 3) is 1 where a component may move and 0 where a support holds it.
    """

    rest: Array
    free: Array
    mass: Array
    weight: Array
    runaway: float
