"""Constraints before a run: which depend on or contradict each other, and which nothing can follow (spec 5, A8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd, svdvals
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array
from rheotwin.constraints.links import LinkConstraints, RigidLink
from rheotwin.constraints.motion import Motion
from rheotwin.errors import RheotwinError

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


SETTLED = 1e-6
"""A link whose length cannot be reached to this share of itself contradicts the others."""
AT_REST = 1e-9
"""A link this close to its length, as a share of it, starts with it."""
SEARCH = 400
"""Most evaluations of the search for a shape that all links agree on."""
ILL = 1e8
"""Conditioning of A^T M^-1 A beyond which constraints count as nearly dependent."""
NAMED, LISTED = 5, 50
"""Most constraints named in a sentence and in a run's statistics."""
FEW = 1000
"""Constraints up to which the dependent ones are looked for by name: it takes several times as long as counting."""


@dataclass(frozen=True)
class ConstraintReport:
    """What the constraints of a model leave free, and which of them depend on each other."""

    rank: RankReport
    dependent: tuple[str, ...] = ()

    @property
    def independent(self) -> bool:
        """Tell whether all forces are well determined, as far as that was looked at."""
        rank = self.rank
        complete = rank.rank == rank.constraints
        return complete and (rank.condition is None or rank.condition < ILL)

    def sentence(self) -> str | None:
        """Return what is redundant in one sentence, None if nothing is."""
        if not self.dependent:
            return None
        shown = ", ".join(self.dependent[:NAMED]) + (" and others" if len(self.dependent) > NAMED else "")
        return (
            f"constraints: {shown} depend on each other or on the supports, so that their own forces are not "
            "determined (only the sum is); remove the redundant ones"
        )

    def entries(self) -> dict[str, Any]:
        """Return counts, rank, conditioning and dependent constraints for a run's statistics."""
        return {
            "constraints": self.rank.constraints,
            "constraint_rank": self.rank.rank,
            "constraint_conditioning": self.rank.condition,
            "dependent_constraints": list(self.dependent[:LISTED]),
        }


def constraint_report(
    names: Sequence[str], gradient: csr_matrix, held: NDArray[np.bool_], *, kind: str = "constraints"
) -> ConstraintReport:
    """Look at named rows dR/dx (C, N d) on the components that are not `held` (N d,), each scaled to unit length."""
    size = np.sqrt(np.asarray(gradient.multiply(gradient).sum(axis=1)).ravel())
    scaled = csr_matrix(diags(1.0 / np.where(size > 0.0, size, 1.0)) @ gradient)
    report = rank_report(kind, scaled, held, which=len(names) <= FEW)
    return ConstraintReport(report, tuple(names[i] for i in report.dependent))


def require_feasible(links: Sequence[RigidLink], points: Array, held: NDArray[np.bool_]) -> None:
    """Refuse links whose lengths no shape has; points and `held` are (N, d).

    From the shape at rest the nodes of links go where all lengths are kept best, in the least squares of R.
    """
    if not links:
        return
    names = [name for link in links for name in link.members]
    nodes, local = np.unique(np.concatenate([link.nodes for link in links]), return_inverse=True)
    places, free = points[nodes], ~held[nodes]
    lengths = np.concatenate([link.lengths for link in links])
    rows = LinkConstraints(local.reshape(-1, 2), lengths, places.size)
    if np.all(np.abs(rows.value(places)) <= AT_REST * lengths):
        return
    at, moving = places.copy(), np.flatnonzero(free.ravel())

    def placed(unknown: Array) -> Array:
        at.ravel()[moving] = unknown
        return np.asarray(at)

    left = rows.value(places)
    if len(moving):
        from scipy.optimize import least_squares

        found = least_squares(
            lambda unknown: rows.value(placed(unknown)),
            places.ravel()[moving],
            jac=lambda unknown: csr_matrix(rows.gradient(placed(unknown))[:, moving]),
            tr_solver="lsmr",
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
            max_nfev=SEARCH,
        )
        left = found.fun
    worst = np.flatnonzero(np.abs(left) > SETTLED * lengths)
    if len(worst):
        shown = ", ".join(names[i] for i in worst[:NAMED])
        raise RheotwinError(
            f"{shown}: no shape has the length asked for, with what other links and supports keep; change `length` or "
            "leave it out for the distance at rest"
        )


def require_followable(
    links: Sequence[RigidLink], points: Array, owners: NDArray[np.int64], motions: Sequence[Motion]
) -> None:
    """Refuse links between held nodes whose supports change their distance; `owners` (N, d) is -1 where free."""
    for link in links:
        for name, ends, length in zip(link.members, link.nodes, link.lengths, strict=True):
            if np.any(owners[ends] < 0):
                continue
            times = np.unique(np.concatenate([[0.0], *(motions[k].times for k in np.unique(owners[ends]))]))
            times = np.union1d(times, 0.5 * (times[1:] + times[:-1]))
            for time in times:
                place = points[ends].copy()
                for (row, c), owner in np.ndenumerate(owners[ends]):
                    place[row, c] += motions[owner].at(time)[c]
                distance = float(np.linalg.norm(place[1] - place[0]))
                if abs(distance - length) > SETTLED * length:
                    raise RheotwinError(
                        f"{name}: supports hold both its ends, at {time:.6g} s {distance:.6g} m apart instead of "
                        f"{length:.6g} m; let one end go or remove the link"
                    )
