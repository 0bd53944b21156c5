"""A chain of Voigt units in series: the creep side of a channel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.errors import RheotwinError


@dataclass(frozen=True)
class VoigtChain:
    """Voigt units in series: springs `ks` [Pa], each parallel to its dashpot of `bs` [Pa s].

    A unit with k = 0 is a free dashpot, one with b = 0 a free spring. (In N/m and N s/m for an edge.)
    """

    ks: tuple[float, ...]
    bs: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.ks) != len(self.bs) or not self.ks:
            raise RheotwinError(
                f"a Voigt chain has {len(self.ks)} springs and {len(self.bs)} dashpots: give one of each per unit"
            )
        if not all(math.isfinite(value) for value in (*self.ks, *self.bs)):
            raise RheotwinError("a Voigt chain holds a spring or dashpot that is not finite: give finite values")
        if min(*self.ks, *self.bs) < 0 < max(*self.ks, *self.bs):
            raise RheotwinError(
                "the units of a series have constants of both signs, so they do not relax (a Lame "
                "constant can be negative): choose the modulus bulk, shear or young"
            )

    @property
    def rates(self) -> tuple[float, ...]:
        """Retardation rates k/b [1/s]; inf for a free spring."""
        return tuple(k / b if b else math.inf for k, b in zip(self.ks, self.bs, strict=True))

    @property
    def is_broken(self) -> bool:
        """Whether some unit has neither spring nor dashpot, so that the series passes no stress."""
        return any(k == 0 and b == 0 for k, b in zip(self.ks, self.bs, strict=True))

    def creep(self, t: ArrayLike) -> NDArray[np.float64]:
        """Strain under unit step stress [1/Pa] at times t [s], 0 before t = 0.

        J(t) = sum_i (1 - exp(-k_i t/b_i))/k_i; t/b for a free dashpot, 1/k for a free spring
        """
        if self.is_broken:
            raise RheotwinError("a part that passes no stress has no creep function: give it a spring or a dashpot")
        times = np.asarray(t, dtype=float)
        elapsed = np.maximum(times, 0.0)
        strain = sum(
            (_unit_creep(k, b, elapsed) for k, b in zip(self.ks, self.bs, strict=True)),
            np.zeros_like(elapsed),
        )
        return np.where(times < 0, 0.0, strain)


def _unit_creep(k: float, b: float, t: NDArray[np.float64]) -> NDArray[np.float64]:
    if b == 0:
        return np.full_like(t, 1 / k)
    return t / b if k == 0 else -np.expm1(-k * t / b) / k
