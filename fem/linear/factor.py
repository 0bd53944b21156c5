"""What every linear solver hands back: a solve function and a description of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal["spd", "indefinite"]
"""Symmetric positive definite, or symmetric with both signs (saddle points)."""


class Solve(Protocol):
    """Maps right-hand sides (n,) or (n, m) to solutions of the same shape."""

    def __call__(self, right: Array, guess: Array | None = None) -> Array:
        """Solve; an iteration starts at `guess` (n,) or (n, m), a factorisation has no use for it."""


@dataclass
class Count:
    """Iterations of the last solve (the largest of its columns) and of all; zero where nothing iterates."""

    last: int = 0
    total: int = 0


@dataclass(frozen=True)
class Factor:
    """A matrix ready to be solved with: who does it, why, and what it took."""

    solver: str
    solve: Solve
    reason: str = "asked for"
    setup_seconds: float = 0.0
    stored: int = 0
    """Numbers the factor or the multigrid levels keep; 0 where the library does not tell."""
    count: Count = field(default_factory=Count)

    @property
    def iterations(self) -> int:
        """Iterations of the last solve."""
        return self.count.last

    def describe(self) -> dict[str, Any]:
        """Return the description for a run's statistics."""
        return {
            "linear_solver": self.solver,
            "linear_solver_reason": self.reason,
            "linear_solver_setup_seconds": self.setup_seconds,
            "linear_solver_stored": self.stored,
            "linear_solver_iterations": self.count.total,
        }
