"""Columns of an inverse matrix, and the compliance of contacts that they make: W = H K^-1 H' + G (m M)^-1 G'."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.pairs import NODES
from rheotwin.fem.contact.rows import FRAME, TOOL, TURN, Rows
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import LAST, Stage

SHARING = 1e-9
"""Compliance, as a share of their own, that contacts between bodies get so that redundant ones share their force."""
ROOM = 8
"""Nodes that there is room for at first."""
NO_COLUMNS = LAST + 1
"""What ends a program where columns are missing."""


@dataclass
class NodeColumns:
    """Columns of an inverse matrix that belong to single nodes, computed once each and kept."""

    solve: Callable[[Array], Array]
    """Right-hand sides (size, n) on all components -> solutions, with held components kept at zero."""
    dimension: int
    size: int
    first: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    """Nodes whose components come first in what is kept: those that can touch anything."""

    def __post_init__(self) -> None:
        d, nodes = self.dimension, -(-self.size // self.dimension)
        order = np.concatenate([self.first, np.setdiff1d(np.arange(nodes), self.first)])
        order = (order[:, None] * d + np.arange(d)).ravel()
        self.order = order[order < self.size]
        """Component at each place."""
        self.place = np.full(nodes, -1)
        """(nodes,) where the columns of a node are kept, -1 where they are not known."""
        self.kept = np.zeros((0, d, self.size))
        """(room, d, size)"""

    def know(self, nodes: Indices) -> None:
        """Compute the columns of nodes that are not known yet; negative ones are none."""
        d, known = self.dimension, int(self.place.max(initial=-1)) + 1
        for node in nodes:
            if node < 0 or self.place[node] >= 0:
                continue
            if known == len(self.kept):
                self.kept = np.concatenate([self.kept, np.zeros((max(ROOM, known // 2), d, self.size))])
            units = np.zeros((self.size, d))
            units[node * d + np.arange(d), np.arange(d)] = 1.0
            self.kept[known] = self.solve(units)[self.order].T  # node by node, so that a restart repeats every bit
            self.place[node], known = known, known + 1

    def along(self, nodes: Indices, vectors: Array) -> Array:
        """Return the answer (size, n) to loads (n, 3) on nodes."""
        self.know(nodes)
        out = np.empty((self.size, len(nodes)))
        out[self.order] = np.einsum("nds,nd->sn", self.kept[self.place[nodes]], vectors[:, : self.dimension])
        return out


def compliance_stages(
    rows: Rows, near: Indices, columns: NodeColumns, ease: Array, missing: Indices, w: Array, *, share: bool
) -> list[Stage]:
    """Return the stages that write W (n k, n k) [m/N] of contacts, or end a program where columns are `missing`.

    Contacts know nodes by their rank in `near`. `ease` (T, 4): what tools give way by; `share`: contacts between bodies
    get so much more compliance that they share their force where they ask for the same.
    """
    k, d = rows.push.shape[1], columns.dimension
    return [
        Stage(_list_missing, (rows, near, columns.place, missing)),
        Stage(_responding(k, d), (rows, near, columns.place, columns.kept, w)),
        Stage(_complete, (rows, ease, SHARING if share else 0.0, w)),
    ]


def stages_alone(rows: Rows, nodes: Array, ease: Array, w: Array) -> list[Stage]:
    """Return the stages that write W of contacts whose nodes give way by `nodes` (N, d) and alone."""
    return [Stage(_respond_alone, (rows, nodes, w)), Stage(_complete, (rows, ease, 0.0, w))]


def spread_stage(rows: Rows, near: Indices, columns: NodeColumns, f: Array, most: int, out: Array) -> Stage:
    """Return the stage that writes how the first `most` components, in the order of `columns`, answer to forces."""
    return Stage(_spread, (rows, near, columns.place, columns.kept, f, most, out))


@compiled(inside=True, vectors=True)
def _list_missing(rows: Rows, near: Indices, place: Indices, missing: Indices) -> int:
    """List nodes of contacts whose columns are not known, -1 behind the last, and end the program if there are any."""
    found = 0
    for i in range(rows.count[0]):
        for a in range(NODES):
            node = rows.who[i, a]
            if node >= 0 and place[near[node]] < 0 and found < missing.shape[0]:
                missing[found] = near[node]
                found += 1
    for i in range(found, missing.shape[0]):
        missing[i] = -1
    return NO_COLUMNS if found > 0 else 0


@cache
def _responding(k: int, d: int) -> Any:
    """Return the stage that writes the lower half of W from kept columns."""

    @compiled(inside=True, vectors=True)
    def respond(rows: Rows, near: Indices, place: Indices, kept: Array, w: Array) -> None:
        push = rows.push
        for i in range(rows.count[0]):
            for j in range(i + 1):
                for e in range(k):
                    for g in range(k):
                        w[i * k + e, j * k + g] = 0.0
                for b in range(NODES):
                    if rows.who[j, b] < 0:
                        break
                    column = place[near[rows.who[j, b]]]
                    for a in range(NODES):
                        at = d * rows.who[i, a]
                        if at < 0:
                            break
                        for q in range(d):
                            for g in range(k):
                                other = push[j, g, b, q]
                                if other != 0.0:
                                    for e in range(k):
                                        total = 0.0
                                        for c in range(d):
                                            total += push[i, e, a, c] * kept[column, q, at + c]
                                        w[i * k + e, j * k + g] += total * other

    return respond


@compiled(inside=True, vectors=True)
def _respond_alone(rows: Rows, ease: Array, w: Array) -> None:
    push, k = rows.push, rows.push.shape[1]
    for i in range(rows.count[0]):
        for j in range(i + 1):
            for e in range(k):
                for g in range(k):
                    w[i * k + e, j * k + g] = 0.0
            for b in range(NODES):
                for a in range(NODES):
                    node = rows.who[j, b]
                    if node < 0 or rows.who[i, a] != node:
                        continue
                    for e in range(k):
                        for g in range(k):
                            for c in range(ease.shape[1]):
                                w[i * k + e, j * k + g] += push[i, e, a, c] * ease[node, c] * push[j, g, b, c]


@compiled(inside=True, vectors=True)
def _complete(rows: Rows, ease: Array, share: float, w: Array) -> None:
    """Add what tools give way by, and write the other half."""
    k = rows.push.shape[1]
    for i in range(rows.count[0]):
        tool = rows.who[i, TOOL]
        gives = tool >= 0 and ease[tool, 0] + ease[tool, 1] + ease[tool, 2] + ease[tool, 3] > 0.0
        for j in range(i + 1):
            for e in range(k):
                for g in range(k):
                    turn, other = 0.0, 0.0
                    for c in range(3 if gives and rows.who[j, TOOL] == tool else 0):
                        mine, theirs = rows.push[i, e, FRAME, c], rows.push[j, g, FRAME, c]
                        w[i * k + e, j * k + g] += mine * ease[tool, c] * theirs
                        turn += mine * rows.place[i, TURN + c]
                        other += theirs * rows.place[j, TURN + c]
                    if turn != 0.0:
                        w[i * k + e, j * k + g] += ease[tool, 3] * turn * other
                    if j < i:
                        w[j * k + g, i * k + e] = w[i * k + e, j * k + g]
        for c in range(i * k, i * k + k if tool < 0 else 0):
            w[c, c] *= 1.0 + share


@compiled(inside=True, vectors=True)
def _spread(rows: Rows, near: Indices, place: Indices, kept: Array, f: Array, most: int, out: Array) -> None:
    k, d = rows.push.shape[1], kept.shape[1]
    for c in range(most):
        out[c] = 0.0
    for i in range(rows.count[0]):
        for a in range(NODES):
            node = rows.who[i, a]
            if node < 0:
                break
            column = place[near[node]]
            for q in range(d):
                load = 0.0
                for e in range(k):
                    load += f[i * k + e] * rows.push[i, e, a, q]
                if load != 0.0:
                    answer = kept[column, q]
                    for c in range(most):
                        out[c] += load * answer[c]
