"""What contacts remember from step to step, by slot: active or sliding, J, the feature entered, the last impulse.

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
