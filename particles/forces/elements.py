"""Edges or cells with the network of one law each, as plain arrays for compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Elements(NamedTuple):
    """Edges (corners (M, 2), rest length) or cells (corners (nC, d+1), rest volume) with their networks.

    Arm arrays are (arms, elements).
    """

    corners: Indices
    rest: Array
    stiffness: Array
    viscosity: Array
    arm_stiffness: Array
    arm_decay: Array
    arm_gain: Array
