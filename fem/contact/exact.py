"""Exact unilateral contact of a finite-element body with rigid tools, by Schur complement (no refactorising).

One step's displacement is du = du_free + K^-1 N lambda. The columns of K^-1 that belong to touched nodes are
computed once each and kept, so a step with contact costs a dense problem of the size of the contact zone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.tools import RigidTool, tool_gaps
from rheotwin.constraints.unilateral import solve_contact
from rheotwin.errors import NoRoom, Stopped
from rheotwin.fem.contact.columns import NodeColumns
from rheotwin.tensors import padded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

PARALLEL = 1e-9
"""Normals whose product is closer to one than this press along the same direction."""

ROUNDS = 12
"""Rounds of adding newly touched nodes and turning the normals of curved tools."""
HELD = 1e-12
"""Share of the largest compliance below which a node counts as held along its contact normal."""


@dataclass(frozen=True)
class Contacts:
    """Touched pairs of one step: tool index, node, unit normal (n, 3) and multiplier [N] (at mid-step)."""

    tool: Indices
    node: Indices
    normal: Array
    multiplier: Array

    @classmethod
    def none(cls) -> Contacts:
        """Return the empty set."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0))


@dataclass(frozen=True)
class ContactSolver:
    """Finds the contacts of a step from the columns of K^-1."""

    tools: tuple[RigidTool, ...]
    columns: NodeColumns

    def _touched(self, positions: Array, end: float, known: set[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return (tool, node) pairs that penetrate at `positions` (N, 3), and those known already."""
        pairs = set(known)
        for index, tool in enumerate(self.tools):
            gaps, _ = tool_gaps(tool, end, positions[tool.candidates])
            pairs.update((index, int(node)) for node in tool.candidates[gaps < 0.0])
        return sorted(pairs)

    def step(self, start: Array, du_free: Array, end: float) -> tuple[Array, Contacts]:
        """Return the displacement increment (size,) that keeps every tool out, and the contacts.

        `start` (N, 3) are the positions before the step; gaps and normals are taken at the end of the step and
        linearised again until the touched set and the normals of curved tools have settled.
        """
        du, contacts = du_free, Contacts.none()
        pairs: list[tuple[int, int]] = []
        for _ in range(ROUNDS):
            positions = start + self._in_space(du)
            touched = self._touched(positions, end, set(pairs))
            if not touched or (touched == pairs and self._settled(contacts, positions, end)):
                break
            pairs = touched
            du, contacts = self._solve_pairs(pairs, start, positions, du_free, end)
        else:
            self._require_outside(start + self._in_space(du), end)
        active = contacts.multiplier > 0.0
        return du, Contacts(
            contacts.tool[active], contacts.node[active], contacts.normal[active], contacts.multiplier[active]
        )

    def _require_outside(self, positions: Array, end: float) -> None:
        """Accept contacts that keep flipping between two faces of a tool only while they stay outside of it."""
        for tool in self.tools:
            gaps, _ = tool_gaps(tool, end, positions[tool.candidates])
            if gaps.min(initial=0.0) < -1e-6 * float(np.ptp(positions, axis=0).max()):
                raise Stopped(
                    f"tools.{tool.name}: its contact did not settle at t = {end:.6g} s; reduce solvers.fem.step",
                    time=end,
                )

    def _in_space(self, du: Array) -> Array:
        """Return an increment of all components as vectors (N, 3)."""
        return padded(du.reshape(-1, self.columns.dimension))

    def _settled(self, contacts: Contacts, positions: Array, end: float) -> bool:
        """Tell whether active contacts touch to 1e-10 of the positions and nothing penetrates more."""
        gaps, _ = self._pair_gaps(contacts.tool, contacts.node, positions, end)
        scale = 1e-10 * float(np.abs(positions).max())
        active = contacts.multiplier > 0.0
        return bool(np.all(gaps >= -scale) and np.all(np.abs(gaps[active]) <= scale))

    def _pair_gaps(self, tool: Indices, node: Indices, positions: Array, end: float) -> tuple[Array, Array]:
        gaps, normals = np.empty(len(node)), np.empty((len(node), 3))
        for index in np.unique(tool):
            chosen = tool == index
            gaps[chosen], normals[chosen] = tool_gaps(self.tools[index], end, positions[node[chosen]])
        return gaps, normals

    def _solve_pairs(
        self, pairs: list[tuple[int, int]], start: Array, positions: Array, du_free: Array, end: float
    ) -> tuple[Array, Contacts]:
        """Solve the contact problem of the given pairs, linearised at `positions`."""
        tool, node = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        gaps, normals = self._pair_gaps(tool, node, positions, end)
        d, columns = self.columns.dimension, self.columns.along(node, normals)
        moved = self._in_space(du_free) + start - positions
        free_gaps = gaps + np.sum(normals * moved[node], axis=1)
        rows = columns.reshape(-1, d, len(pairs))[node]
        compliance = np.einsum("kdj,kd->kj", rows, normals[:, :d])
        # A node that its support holds along the normal cannot give way: there the support wins over the tool.
        own = np.diag(compliance)
        movable = np.flatnonzero((own > HELD * own.max()) & _foremost(node, normals, free_gaps))
        square = compliance[np.ix_(movable, movable)]
        try:
            multipliers = solve_contact(0.5 * (square + square.T), free_gaps[movable])
        except NoRoom as fault:
            pressing = " and ".join(f"tools.{self.tools[index].name}" for index in np.unique(tool[movable]))
            raise Stopped(
                f"contact: what {pressing} press has no room left at t = {end:.6g} s, {fault.missing:.2g} m are "
                "missing; keep the tools further apart, or restrict one with `bodies`",
                time=end,
            ) from None
        contacts = Contacts(tool[movable], node[movable], normals[movable], multipliers)
        return du_free + columns[:, movable] @ multipliers, contacts


def _foremost(node: Indices, normals: Array, gaps: Array) -> NDArray[np.bool_]:
    """Mark the pairs to keep: of tools that press one node along one direction only the foremost matters."""
    keep = np.ones(len(node), dtype=bool)
    for shared in np.flatnonzero(np.bincount(node) > 1):
        pairs = np.flatnonzero(node == shared)
        for pair in pairs:
            rivals = pairs[(normals[pairs] @ normals[pair] > 1.0 - PARALLEL) & keep[pairs] & (pairs != pair)]
            keep[pair] = not np.any(gaps[rivals] <= gaps[pair])
    return keep
