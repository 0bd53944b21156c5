"""Distance of two distributions, where data scatter: the area between their distribution functions.

    above = integral max(F_data - F_model, 0) dx / scale,    below = integral max(F_model - F_data, 0) dx / scale

F(x) is the share of a sample's values up to x. `above` counts where the model's values are the larger ones, `below`
where they are smaller: a shift by d gives d/scale on one side, too little scatter gives both. Their sum is the area
validation metric (Ferson, Oberkampf and Ginzburg 2008), their difference that of the means. One value alone is a step,
so that the metric also takes one run, one test or both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError


@dataclass(frozen=True)
class Area:
    """Area on both sides of the data, over the scale [1]."""

    above: float
    below: float

    @property
    def total(self) -> float:
        """Both sides together [1]."""
        return self.above + self.below


def area_metric(model: ArrayLike, data: ArrayLike, scale: float) -> Area:
    """Return the area between the distributions of two samples of any sizes; `scale` has their unit."""
    mine, theirs = (np.sort(np.asarray(sample, dtype=float), axis=None) for sample in (model, data))
    if not (mine.size and theirs.size and np.isfinite(mine).all() and np.isfinite(theirs).all() and scale > 0.0):
        raise RheotwinError("area metric: give at least one finite value on each side and a positive scale")
    places = np.union1d(mine, theirs)
    widths = np.diff(places) / scale
    gap = _shares(theirs, places[:-1]) - _shares(mine, places[:-1])
    return Area(float(np.maximum(gap, 0.0) @ widths), float(np.maximum(-gap, 0.0) @ widths))


def _shares(ordered: Array, places: Array) -> Array:
    """Return F at `places`."""
    return np.searchsorted(ordered, places, side="right") / ordered.size
