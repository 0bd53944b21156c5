"""What a contact is, whoever takes part in it: a weighted sum of nodes against a unit normal (spec 8).

    gap  g = n . (sum_i w_i x_i - p)          g < 0 inside; p on the tool, 0 between bodies
    force on node i = w_i (lambda n + t),     lambda >= 0 normal, t tangential

A vertex at a tool has the one weight 1. A vertex at a face of a body has 1 and minus the shares R_i of its foot
point, an edge at an edge (1 - a), a, -(1 - b), -b: between bodies the weights sum to zero, so that the forces do,
and their moment is that of n x (sum w_i x_i) = 0.

From step to step a slot remembers whether it is active or sliding, the feature entered, the last impulse, and J:
J = int g dt runs while a contact is active, is clamped to J <= 0 and forgotten when it ends (spec 8).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
Marks = NDArray[np.int8]

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


NO_FEATURE = -1
FREE, FIRST, SECOND = 0, 1, 2
"""Marks of slots: not listed, or those that steps write in turn."""
LISTED, RENEWED, STAMP = 0, 1, 2
"""Entries of `History.filled`."""


class History(NamedTuple):
    """One row per slot; `listed[:filled[LISTED]]` are the slots that hold anything, so that no step visits all.

    `filled[RENEWED]` counts those that this step has written so far, which have the `mark` `filled[STAMP]`.
    """

    active: Flags
    sliding: Flags
    integral: Array
    """J [m s]"""
    feature: Indices
    """The face a vertex entered through; only meaningful where active."""
    impulse: Array
    """(S, 3) [N s] of the last step, on the vertex or first edge."""
    listed: Indices
    filled: Indices
    mark: Marks


def no_history(slots: int) -> History:
    """Return the history of contacts that never were."""
    return History(
        active=np.zeros(slots, np.bool_),
        sliding=np.zeros(slots, np.bool_),
        integral=np.zeros(slots),
        feature=np.full(slots, NO_FEATURE, np.int64),
        impulse=np.zeros((slots, 3)),
        listed=np.zeros(slots, np.int64),
        filled=np.array([0, 0, SECOND]),
        mark=np.zeros(slots, np.int8),
    )


@compiled(inside=True, vectors=True)
def note_slot(slot: int, mark: Marks, listed: Indices, stamp: int, filled: int, renewed: int) -> tuple[int, int]:
    """Mark a slot as written in this step, list it if it held nothing; return how many are listed and renewed now."""
    before, mark[slot] = mark[slot], stamp
    if before == FREE:
        listed[np.uintp(filled)] = np.intp(slot)
        filled += 1
    return filled, renewed + (before != stamp)


@compiled(inside=True)
def forget_others(history: History) -> None:
    """Clear what no step but the one before has written, but for features: they mean nothing without `active`."""
    active, sliding, integral, mark, filled = (
        history.active,
        history.sliding,
        history.integral,
        history.mark,
        history.filled,
    )
    impulse, listed, stamp, kept = history.impulse, history.listed, filled[STAMP], 0
    if filled[RENEWED] < filled[LISTED]:
        for row in range(filled[LISTED]):
            slot = listed[row]
            if mark[slot] == stamp:
                listed[kept] = slot
                kept += 1
            else:
                active[slot], sliding[slot], integral[slot], mark[slot] = False, False, 0.0, FREE
                impulse[slot, 0], impulse[slot, 1], impulse[slot, 2] = 0.0, 0.0, 0.0
        filled[LISTED] = kept
    filled[RENEWED], filled[STAMP] = 0, FIRST + SECOND - stamp


@compiled(inside=True)
def count_uses(node: Indices, count: Indices, uses: Indices) -> None:
    """Count the pairs that each node is in."""
    for p in range(count[0]):
        for k in range(NODES):
            if node[p, k] >= 0:
                uses[node[p, k]] += 1
