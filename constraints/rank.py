"""What a set of volume constraints leaves of a body's freedom: counts, numerical rank and a sentence (spec 5, A8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd, svdvals
from scipy.sparse import csr_matrix

Array = NDArray[np.float64]

DENSE_LIMIT = 3000
"""Constraints up to which the rank is counted: its singular values take seconds beyond."""
RANK_TOLERANCE = 1e-10
"""A singular value below this fraction of the largest is a dependent constraint."""
PART = 1e-8
"""Squared part in a vanishing combination above which a constraint belongs to it."""
CROWDED = 0.75
"""Constraints per unknown above which a body locks; stable spaces stay at one half and below."""


@dataclass(frozen=True)
class RankReport:
    """Unknowns, constraints and their numerical rank (None: too many to count)."""

    kind: str
    unknowns: int
    constraints: int
    rank: int | None
    condition: float | None = None
    """Largest over smallest nonzero singular value, squared: that of A^T A for the constraints that count."""
    dependent: tuple[int, ...] = ()
    """Constraints that take part in a dependence, where they were looked for."""

    @property
    def free_modes(self) -> int | None:
        """Number of independent motions that keep all constraints."""
        return None if self.rank is None else self.unknowns - self.rank

    @property
    def locks(self) -> bool:
        """Tell whether the constraints are too many for the unknowns."""
        return self.constraints > CROWDED * self.unknowns

    def sentence(self) -> str:
        """Return the counts, and what to expect of them, in one sentence."""
        mode = "seed mode (one constraint per element)" if self.kind == "element" else f"constraints per {self.kind}"
        counts = f"{mode}: {self.unknowns} dof, {self.constraints} constraints"
        if self.rank is not None:
            counts += f", rank {self.rank}, {self.free_modes} free modes"
        redundant = self.rank is not None and self.rank < self.constraints
        dependent = f"; {self.constraints - (self.rank or 0)} constraints are dependent" if redundant else ""
        advice = ": expect locking, use constraints per node or per cell" if self.locks else ""
        return counts + dependent + advice


def rank_report(kind: str, gradient: csr_matrix, held: NDArray[np.bool_], *, which: bool = False) -> RankReport:
    """Count the rank of constraint gradients dR/dx (constraints, N d) on the components that are not `held` (N d,).

    `which` also finds the dependent ones: those with a part in the combinations of rows that vanish.
    """
    free = gradient[:, np.flatnonzero(~np.asarray(held).ravel())]
    constraints, unknowns = free.shape
    if min(constraints, unknowns) > DENSE_LIMIT:
        return RankReport(kind, unknowns, constraints, None)
    sizes = svdvals(free.toarray()) if free.nnz else np.zeros(1)
    rank = int(np.count_nonzero(sizes > RANK_TOLERANCE * sizes.max())) if sizes.max() > 0.0 else 0
    condition = float((sizes[0] / sizes[rank - 1]) ** 2) if rank else None
    dependent: tuple[int, ...] = ()
    if which and rank < constraints:
        left = svd(free.toarray(), full_matrices=False)[0][:, :rank] if rank else np.zeros((constraints, 0))
        missing = 1.0 - np.sum(left**2, axis=1)  # the square of each row's part in vanishing combinations
        dependent = tuple(int(i) for i in np.flatnonzero(missing > PART))
    return RankReport(kind, unknowns, constraints, rank, condition, dependent)
