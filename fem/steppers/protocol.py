"""What a stepper is: it takes a state over one step of the run's grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.state import State

Array = NDArray[np.float64]


class Stepper(Protocol):
    """Advances a state in place."""

    @property
    def stable_step(self) -> float:
        """Largest stable step [s]; infinity if every step is."""

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` from `begin` [s] to `end` [s], one step of the run's grid apart."""

    def statistics(self) -> dict[str, Any]:
        """Return what the manifest should tell (plain JSON values)."""

    def save(self) -> dict[str, Array]:
        """Return what the stepper itself remembers from step to step, by name."""

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""
