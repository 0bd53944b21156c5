"""Where a step with contact ends, the contacts that pushed in it, and how well both agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.contact.rows import Rows

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

SLID = 1e-2
"""How much a foot's share of a face counts against a gap's share of the body's size."""


@dataclass(frozen=True)
class Motion:
    """Where a step ends: displacement increment (size,) [m] and poses (T, 4) of the tools, and their rates."""

    du: Array
    pose: Array
    velocity: Array
    rate: Array


@dataclass(frozen=True)
class Touched:
    """The contacts of a step."""

    rows: Rows
    multiplier: Array
    """(n, k) [N] normal force and friction in the balance of the step."""
    moved: Array
    """rel (n, k) [m]: change of gap and slip over the step."""
    begin: Array
    """Gap (n,) [m] at the beginning of the step."""
    state: Indices
    parting: Array
    """(n,) [m/s] normal rate with which a bounce leaves; 0 otherwise."""
    defect: float
    """[m] by which the worst contact misses its law."""

    @property
    def end(self) -> Array:
        """Gap (n,) [m] at the end of the step."""
        return np.asarray(self.begin + self.moved[:, 0])

    def at(self, later: Rows) -> Touched:
        """Return the contacts with the places they have in rows found later."""
        point = self.rows.point.copy()
        _, mine, theirs = np.intersect1d(self.rows.slot, later.slot, return_indices=True)
        point[mine] = later.point[theirs]
        return replace(self, rows=replace(self.rows, point=point))

    def kept(self, chosen: Indices | Flags) -> Touched:
        """Return the chosen contacts."""
        names = ("multiplier", "moved", "begin", "state", "parting")
        columns = {name: getattr(self, name)[chosen] for name in names}
        return replace(self, rows=self.rows.kept(chosen), **columns)


@dataclass(frozen=True)
class Found:
    """Contacts found where a motion ends, with rel (n, k) there and the gap it began with."""

    rows: Rows
    moved: Array
    begin: Array

    def kept(self, chosen: Indices | Flags) -> Found:
        """Return the chosen contacts."""
        return Found(self.rows.kept(chosen), self.moved[chosen], self.begin[chosen])


def mismatch(touched: Touched, found: Found, extent: float) -> float:
    """Return how far gaps of pushing contacts are from what was foreseen [m]; infinite if contacts come or go."""
    if not np.isin(found.rows.slot, touched.rows.slot).all():
        return np.inf
    pushing = touched.kept(touched.multiplier[:, 0] > 0.0)
    slots, then, now = np.intersect1d(pushing.rows.slot, found.rows.slot, return_indices=True)
    if len(slots) < len(pushing.rows):
        return np.inf
    gaps = float(np.abs(pushing.end[then] - found.rows.gap[now]).max(initial=0.0))
    # A foot that moved on leaves a moment behind; one that moved to the next face has the same place there.
    before, after = pushing.rows.kept(then), found.rows.kept(now)
    same = np.all(before.node == after.node, axis=1)
    return max(gaps, SLID * float(np.abs(before.weight - after.weight)[same].max(initial=0.0)) * extent)
