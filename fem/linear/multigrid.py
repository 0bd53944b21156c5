"""Conjugate gradients with smoothed-aggregation multigrid: for large systems in space, where factors fill up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.linear.columns import solve_columns
from rheotwin.fem.linear.conjugate_gradient import Outcome, conjugate_gradient
from rheotwin.fem.linear.hierarchy import build_levels
from rheotwin.fem.linear.vcycle import Level

Array = NDArray[np.float64]

TOLERANCE = 1e-10
"""Residual over right-hand side at which a solve stops by default."""
MOST_ITERATIONS = 500
"""Iterations after which a solve is given up; a healthy one takes 10 to 40."""


@dataclass(frozen=True)
class Multigrid:
    """An SPD matrix in block rows with its multigrid levels."""

    matrix: BlockRows
    levels: tuple[Level, ...]
    tolerance: float = TOLERANCE

    @classmethod
    def of(cls, matrix: BlockRows, modes: NDArray[Any], tolerance: float = TOLERANCE) -> Multigrid:
        """Set up for a matrix from the columns (n, k) it should not see as stiff: its rigid body modes."""
        return cls(matrix, tuple(build_levels(matrix, modes)), tolerance)

    @property
    def stored(self) -> int:
        """Numbers kept on all levels."""
        rows = [level.matrix for level in self.levels]
        rows += [moved for level in self.levels for moved in (level.prolong, level.restrict) if moved is not None]
        return sum(item.values.size for item in rows)

    def solve(self, right: Array, guess: Array | None = None) -> Outcome:
        """Solve for one right-hand side (n,), or for up to COLUMNS (n, m), starting at `guess` or at zero."""
        iterate = conjugate_gradient if right.ndim == 1 else solve_columns
        outcome = iterate(self.matrix, self.levels, right, guess, self.tolerance, MOST_ITERATIONS)
        if not outcome.residual <= self.tolerance:
            raise RheotwinError(
                f"solvers.fem.linear_solver: amg stopped after {outcome.iterations} iterations at a residual of "
                f"{outcome.residual:.2g} of the load (wanted {self.tolerance:g}); choose pardiso or splu, or check "
                "that the supports hold every body"
            )
        return outcome
