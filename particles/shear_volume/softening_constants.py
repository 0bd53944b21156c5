"""Constants of elements whose series dashpot softens, one row of numbers for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheotwin.materials import SofteningChannel
from rheotwin.particles.network import Constants

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class SofteningConstants:
    """Rest measure [m3] (E,), 0 in elements that do not soften, and per volume k, c1, c_max, c_min, f1, f2 and B."""

    size: Array
    spring: Array
    voigt: Array
    stiff: Array
    soft: Array
    start: Array
    end: Array
    exponent: Array

    @property
    def rows(self) -> tuple[Array, ...]:
        """k [Pa], c1, c_max, c_min [Pa s], f1, f2 [Pa], B [1/Pa]."""
        return self.spring, self.voigt, self.stiff, self.soft, self.start, self.end, self.exponent

    def with_tangents(self, constants: Constants) -> Constants:
        """Return the constants of the same elements with the largest stiffness and viscosity these can show added."""
        gain = self.stiff / (self.voigt + self.stiff)
        return replace(
            constants,
            stiffness=constants.stiffness + self.size * self.spring * gain**2,
            viscosity=constants.viscosity + self.size * self.voigt * gain,
        )

    def repeated(self, times: int, share: Array) -> SofteningConstants:
        """Return every element `times` times, as rows of strains, with `share` (E,) as its measure where it softens."""
        size = np.where(self.size > 0.0, share, 0.0)
        return SofteningConstants(*(np.repeat(row, times) for row in (size, *self.rows)))


def stack_softening(
    channels: Sequence[SofteningChannel | None], which: Indices, size: Array
) -> SofteningConstants | None:
    """Give element e the constants of channel which_e and the measure size_e; None if none of them softens."""
    soft = [channel is not None for channel in channels]
    if not np.any(np.array(soft, dtype=bool)[which]):
        return None
    table = np.array([_row(channel) for channel in channels]).T[:, which]
    return SofteningConstants(np.where(np.array(soft)[which], size, 0.0), *table)


def joined(parts: Sequence[tuple[SofteningConstants | None, int]]) -> SofteningConstants | None:
    """Return the constants of several sorts of elements, one after the other; the number goes with those of None."""
    if all(part is None for part, _ in parts):
        return None
    filled = [_nothing(count) if part is None else part for part, count in parts]
    return SofteningConstants(
        *(np.concatenate(rows) for rows in zip(*((p.size, *p.rows) for p in filled), strict=True))
    )


def _row(channel: SofteningChannel | None) -> tuple[float, ...]:
    if channel is None:
        return 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0
    return (
        channel.spring,
        channel.voigt_viscosity,
        channel.series_viscosity,
        channel.soft_viscosity,
        channel.from_stress,
        channel.to_stress,
        channel.exponent,
    )


def _nothing(count: int) -> SofteningConstants:
    return SofteningConstants(np.zeros(count), *(np.full(count, value) for value in _row(None)))
