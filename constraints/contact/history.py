"""What contacts remember from step to step, by slot: active or sliding, J, the feature entered, the last impulse.

J = int g dt runs while a contact is active, is clamped to J <= 0 and forgotten when it ends (spec 8).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NO_FEATURE = -1


class History(NamedTuple):
    """One row per slot; `listed[:count[0]]` are the slots that hold anything, so that no step visits all."""

    active: NDArray[np.bool_]
    sliding: NDArray[np.bool_]
    integral: Array
    """J [m s]"""
    feature: Indices
    """The face a vertex entered through; only meaningful where active."""
    impulse: Array
    """(S, 3) [N s] of the last step, on the vertex or first edge."""
    listed: Indices
    count: Indices


def no_history(slots: int) -> History:
    """Return the history of contacts that never were."""
    return History(
        active=np.zeros(slots, np.bool_),
        sliding=np.zeros(slots, np.bool_),
        integral=np.zeros(slots),
        feature=np.full(slots, NO_FEATURE, np.int64),
        impulse=np.zeros((slots, 3)),
        listed=np.zeros(slots, np.int64),
        count=np.zeros(1, np.int64),
    )


@njit(cache=True)
def forget(history: History) -> None:
    """Clear every listed slot but for its feature, which means nothing without `active`."""
    active, sliding, integral = history.active, history.sliding, history.integral
    impulse, listed = history.impulse, history.listed
    for row in range(history.count[0]):
        slot = listed[row]
        active[slot] = False
        sliding[slot] = False
        integral[slot] = 0.0
        impulse[slot, 0], impulse[slot, 1], impulse[slot, 2] = 0.0, 0.0, 0.0
    history.count[0] = 0
