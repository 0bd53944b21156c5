"""Edges of one nonlinear law, and what turns the law's numbers into theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.materials import NonlinearThreeElement

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class EdgeGroup:
    """Edges (n, 2) of one law with rest lengths [m].

    An edge has `share` [m] times each modulus and viscosity of the law, and `force_share` [m2] times each stress.
    """

    law: NonlinearThreeElement
    corners: Indices
    rest: Array
    share: Array
    force_share: Array


def column(groups: Sequence[EdgeGroup], values: Callable[[EdgeGroup], Array | float]) -> Array:
    """Return one constant of the edges of all groups, one after the other."""
    return np.concatenate([np.zeros(0), *(np.broadcast_to(values(group), len(group.rest)) for group in groups)])


def joined_corners(groups: Sequence[EdgeGroup]) -> Indices:
    """Return the ends (n, 2) of the edges of all groups, one after the other."""
    return np.ascontiguousarray(np.concatenate([np.zeros((0, 2), np.int64), *(group.corners for group in groups)]))
