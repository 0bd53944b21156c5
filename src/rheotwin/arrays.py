"""Names of the arrays that functions take and return; corners of cells, some of which may coincide."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Reals = NDArray[Any]
"""Of either precision."""
Indices = NDArray[np.int64]
Integers = NDArray[np.int32]
Flags = NDArray[np.bool_]


def first_of_each(corners: NDArray[np.integer]) -> Flags:
    """Tell which corners of cells or faces (k, n) do not repeat an earlier one of the same cell."""
    count = len(corners)
    repeats = [np.zeros(corners.shape[1], bool), *((corners[:a] == corners[a]).any(axis=0) for a in range(1, count))]
    return ~np.array(repeats)


def corner_parts(corners: NDArray[np.integer], measures: Array) -> Array:
    """Return equal parts (k, n) of the measures of cells or faces with corners (k, n); of a repeated corner none."""
    own = first_of_each(corners)
    return np.where(own, measures / own.sum(axis=0), 0.0)
