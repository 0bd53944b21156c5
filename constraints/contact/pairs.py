"""What a contact is, whoever takes part in it: a weighted sum of nodes against a unit normal (spec 8).

    gap  g = n . (sum_i w_i x_i - p)          g < 0 inside; p on the tool, 0 between bodies
    force on node i = w_i (lambda n + t),     lambda >= 0 normal, t tangential

A vertex at a tool has the one weight 1. A vertex at a face of a body has 1 and minus the shares R_i of its foot
point, an edge at an edge (1 - a), a, -(1 - b), -b: between bodies the weights sum to zero, so that the forces do,
and their moment is that of n x (sum w_i x_i) = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NODES = 4
"""Most nodes of one contact."""
NO_NODE = -1
NO_TOOL = -1


class Pairs(NamedTuple):
    """Contacts found at one instant; the first `count[0]` rows are valid, the others are room for more."""

    count: Indices  # type: ignore[assignment]  # nobody asks a tuple of arrays how often it has one
    """(1,)"""
    node: Indices
    """(P, 4) global nodes, NO_NODE where there are fewer."""
    weight: Array
    """(P, 4)"""
    normal: Array
    """(P, 3) from the face, edge or tool towards the vertex or first edge."""
    gap: Array
    """(P,) [m] at the positions they were found at."""
    tool: Indices
    """(P,) index of the tool, NO_TOOL between bodies."""
    point: Array
    """(P, 3) [m] where the contact is: the foot on the tool, face or edge."""
    slot: Indices
    """(P,) where the history of this contact is kept from step to step; no two pairs share one."""


def room_for_pairs(most: int) -> Pairs:
    """Return room for `most` contacts, none found yet."""
    return Pairs(
        count=np.zeros(1, np.int64),
        node=np.full((most, NODES), NO_NODE, np.int64),
        weight=np.zeros((most, NODES)),
        normal=np.zeros((most, 3)),
        gap=np.zeros(most),
        tool=np.full(most, NO_TOOL, np.int64),
        point=np.zeros((most, 3)),
        slot=np.zeros(most, np.int64),
    )


def more_pairs(pairs: Pairs) -> Pairs:
    """Return room for twice as many contacts, with those found so far."""
    room = room_for_pairs(2 * max(1, len(pairs.gap)))
    for old, new in zip(pairs[1:], room[1:], strict=True):
        new[: len(old)] = old
    room.count[:] = pairs.count
    return room
