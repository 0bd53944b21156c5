"""What an explicit one-step rule for y' = f(y, t) is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Rate(Protocol):
    """The right-hand side f(y, t); `after` tells from which side t is looked at."""

    def __call__(self, y: Array, time: float, *, after: bool) -> Array:
        """Return y'."""


@dataclass(frozen=True)
class ExplicitRule:
    """One rule: how it advances, and its growth factor on y' = z y for a step of 1."""

    name: str
    order: int
    advance: Callable[[Rate, Array, float, float], Array]
    """(f, y, begin, end) -> y at end; times in [s]."""
    growth: Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
    """R(h z); a mode is stable while |R| <= 1."""
    damped_limit: float
    """Largest stable h |z| on the negative real axis: h om of a CSM pair, h (rate of a dashpot)."""
