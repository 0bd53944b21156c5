"""What a step of the solver `shear-volume` changes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.shear_volume.group import Memory

Array = NDArray[np.float64]


class State(NamedTuple):
    """What a step changes; vectors are (N, 3), multipliers those of patches that keep their volume.

    `..._voigt` are Voigt parts of softening networks, empty without; their stress is the last of the arms beside them.

    `part` (1,) is the step that led here where it was divided, else 0 [s]; `divided` (1,) counts such steps.
    """

    positions: Array
    velocities: Array
    force: Array
    contact_force: Array
    reaction: Array
    multipliers: Array
    part: Array
    divided: NDArray[np.int64]
    cotangent: Memory
    neo_hooke: Memory
    tets: Memory
    seed_arms: Array
    cell_arms: Array
    quadrilateral_arms: Array
    seed_voigt: Array
    cell_voigt: Array
    quadrilateral_voigt: Array


def copied(state: State) -> State:
    """Return a state with arrays of its own."""
    values: dict[str, Any] = {}
    for name, value in state._asdict().items():
        values[name] = Memory(*(array.copy() for array in value)) if isinstance(value, Memory) else value.copy()
    return State(**values)
