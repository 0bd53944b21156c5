"""What a stepper is: it takes a state over one step of the run's grid."""

from __future__ import annotations

from typing import Any, Protocol

from rheotwin.fem.state import State


class Stepper(Protocol):
    """Advances a state in place."""

    @property
    def stable_step(self) -> float:
        """Largest stable step [s]; infinity if every step is."""

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` from `begin` [s] to `end` [s], one step of the run's grid apart."""

    def statistics(self) -> dict[str, Any]:
        """Return what the manifest should tell (plain JSON values)."""
