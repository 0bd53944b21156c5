"""Which nodes touch which tools during an explicit step, and what happens when they meet (spec 2.2, 8).

A node enters when its gap is gone, leaves when its tool would have to pull. At the meeting, and at a kink in the
tool's motion, impact is inelastic: the smallest impulses p >= 0 along the normals after which nothing moves into a
tool, S p + g' >= 0, p . (S p + g') = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.gap_rates import GapMotion, gap_motion
from rheotwin.constraints.stabilisation import Inertia
from rheotwin.constraints.tools import tool_gaps
from rheotwin.constraints.unilateral import solve_contact
from rheotwin.fem.contact import Contacts
from rheotwin.fem.model import Model
from rheotwin.tensors import padded

CONTACT_GAP = 1e-10
"""Gap, as a share of the body's size, below which a node touches: rounding of a tool that starts on the surface."""
NEAR = 1e-12
"""Share of the largest compliance below which a contact counts as unable to move."""


@dataclass(frozen=True)
class Touching:
    """Pairs of a tool and a node (row)."""

    tool: Indices
    node: Indices

    @classmethod
    def none(cls) -> Touching:
        """Return the empty set."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def kept(self, chosen: Flags) -> Touching:
        """Return the chosen pairs."""
        return Touching(self.tool[chosen], self.node[chosen])

    def motion(self, model: Model, time: float, u: Array, v: Array, *, after: bool, slack: float) -> GapMotion:
        """Return gaps and their rates in the state (u, v)."""
        shape = model.points.shape
        points = padded(model.points[self.node] + u.reshape(shape)[self.node])
        velocities = padded(v.reshape(shape)[self.node])
        count = len(self.node)
        out = GapMotion(np.empty(count), np.empty((count, 3)), np.empty(count), np.empty(count))
        for index in np.unique(self.tool):
            mine = self.tool == index
            part = gap_motion(model.tools[index], time, points[mine], velocities[mine], after=after, slack=slack)
            for target, values in zip(vars(out).values(), vars(part).values(), strict=True):
                target[mine] = values
        return out


def touching_pairs(model: Model, time: float, u: Array, before: Contacts) -> tuple[Touching, Flags]:
    """Return the pairs without a gap at `time` [s], those of the last step included, and which of them are new."""
    positions = padded(model.points + u.reshape(model.points.shape))
    known = set(zip(before.tool.tolist(), before.node.tolist(), strict=True))
    pairs = set(known)
    for index, tool in enumerate(model.tools):
        gaps, _ = tool_gaps(tool, time, positions[tool.candidates])
        near = tool.candidates[gaps <= CONTACT_GAP * model.problem.extent]
        pairs.update((index, int(node)) for node in near)
    ordered = sorted(pairs)
    if not ordered:
        return Touching.none(), np.zeros(0, dtype=bool)
    tools, nodes = (np.array(column, dtype=np.int64) for column in zip(*ordered, strict=True))
    return Touching(tools, nodes), np.array([pair not in known for pair in ordered])


class Pressing:
    """The forces or impulses of contacts with normals `rows` on a body of the inverse mass `base`.

    A node that its support holds along the normal cannot give way: there the support wins over the tool. Where
    several contacts press one node along one direction, a share of NEAR on the diagonal decides between them.
    """

    def __init__(self, base: Inertia, rows: csr_matrix) -> None:
        self._base, self.rows, self.columns = base, rows, csr_matrix(rows.T)
        coupling = base.coupling(rows, rows)
        schur = coupling if isinstance(coupling, np.ndarray) else coupling.toarray()
        own = schur.diagonal()
        self._movable = np.flatnonzero(own > NEAR * own.max(initial=0.0))
        square = schur[np.ix_(self._movable, self._movable)]
        shift = NEAR * own[self._movable].sum() / max(1, len(self._movable))
        self._square = 0.5 * (square + square.T) + shift * np.eye(len(square))

    def multipliers(self, demand: Array, *, unilateral: bool) -> Array:
        """Return L of S L + b = 0, or of S L + b >= 0 with L >= 0 and L . (S L + b) = 0."""
        out = np.zeros(len(demand))
        if len(self._movable):
            solve = solve_contact if unilateral else _solve_equal
            out[self._movable] = solve(self._square, demand[self._movable])
        return out

    def changes(self, multipliers: Array) -> Array:
        """Return M^-1 A L: accelerations [m/s2] of forces or velocity changes [m/s] of impulses."""
        return self._base.accelerations(self.columns @ multipliers)


def _solve_equal(square: Array, demand: Array) -> Array:
    return np.asarray(-np.linalg.solve(square, demand))
