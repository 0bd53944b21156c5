"""Unilateral contact inside Newton's method: an active set on the linearised equations, with any tangent.

In each iteration gaps and normals of all pairs (tool, node) are taken at the current positions and

    g + N'(du) >= 0,   lambda >= 0,   lambda (g + N' du) = 0,      du = du_free + K^-1 N lambda

is solved exactly. Unlike the small-strain step this needs no symmetric compliance: tangents of flowing
bodies at large strain are not symmetric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.tools import AXIS, CYLINDER, RADIUS, SPHERE, RigidTool, tool_gaps
from rheotwin.fem.contact import Contacts
from rheotwin.tensors import padded

PARALLEL = 1e-9
"""Normals whose product is closer to one than this press along the same direction."""
HELD = 1e-6
"""Part of a normal on free components below which a support holds the node against the tool."""
HASTY, ROUNDS = 12, 400
"""Rounds of exchanging all wrong pairs at once, then all rounds: afterwards one by one, which cannot cycle."""


@dataclass(frozen=True)
class ToolPairs:
    """Every (tool, node) that can touch, (k,), at given positions: gaps [m] and unit normals n (k, 3)."""

    tool: Indices
    node: Indices
    gap: Array
    normal: Array
    bending: Array
    """dn/dx (k, 3, 3) [1/m]: how normals of round tools turn with the node."""

    def along(self, vectors: Array, chosen: Indices | None = None) -> Array:
        """Return the component of nodal vectors (N, d) along the normals, of all or chosen pairs."""
        pick = slice(None) if chosen is None else chosen
        normal = self.normal[pick, : vectors.shape[1]]
        return np.asarray(np.sum(vectors[self.node[pick]] * normal, axis=-1))

    def forces(self, multipliers: Array, shape: tuple[int, int]) -> Array:
        """Return N lambda (N, d) [N]."""
        out = np.zeros(shape)
        np.add.at(out, self.node, multipliers[:, None] * self.normal[:, : shape[1]])
        return out

    def stiffness(self, multipliers: Array, shape: tuple[int, int]) -> Array:
        """Return -sum lambda dn/dx of each node (N, d, d) [N/m]: a round tool lets go of what slides off its top."""
        out = np.zeros((*shape, shape[1]))
        np.subtract.at(out, self.node, multipliers[:, None, None] * self.bending[:, : shape[1], : shape[1]])
        return out


@dataclass(frozen=True)
class ToolContact:
    """The tools of a problem and which components (N, d) their nodes can still move in."""

    tools: tuple[RigidTool, ...]
    free: Flags

    @cached_property
    def _listed(self) -> tuple[Indices, Indices]:
        """Tools and nodes of all pairs."""
        counts = [len(tool.candidates) for tool in self.tools]
        nodes = np.concatenate([np.zeros(0, np.int64), *(tool.candidates for tool in self.tools)])
        return np.repeat(np.arange(len(counts)), counts), nodes.astype(np.int64)

    def pairs(self, positions: Array, time: float) -> ToolPairs:
        """Return all pairs at positions (N, d) [m]; those that cannot give way get an infinite gap."""
        places, d = padded(positions), positions.shape[1]
        tool, node = self._listed
        found = [tool_gaps(t, time, places[t.candidates]) for t in self.tools]
        gap = np.concatenate([gaps for gaps, _ in found] or [np.zeros(0)])
        normal = np.concatenate([normals for _, normals in found] or [np.zeros((0, 3))])
        movable = np.linalg.norm(np.where(self.free[node], normal[:, :d], 0.0), axis=1) > HELD
        bending = [_bending(t, *pair) for t, pair in zip(self.tools, found, strict=True)]
        gap = np.where(movable & _foremost(node, normal, gap), gap, np.inf)
        return ToolPairs(tool, node, gap, normal, np.concatenate(bending or [np.zeros((0, 3, 3))]))

    def touching(self, contacts: Contacts) -> Flags:
        """Mark the pairs (k,) that touched in the last step."""
        tool, node = self._listed
        stride = len(self.free)
        return np.isin(tool * stride + node, contacts.tool * stride + contacts.node)

    def correct(
        self, pairs: ToolPairs, free_step: Array, touching: Flags, answer: Callable[[Array], Array], slack: float
    ) -> tuple[Array, Array]:
        """Return the step (N, d) [m] that keeps tools out, and the multipliers (k,) [N] of all pairs.

        `answer` maps loads (size, n) to displacements by the tangent; gaps down to -`slack` [m] count as closed.
        """
        active = np.isfinite(pairs.gap) & (touching | (pairs.gap + pairs.along(free_step) < 0.0))
        multipliers, step = np.zeros(len(pairs.gap)), free_step
        columns: dict[int, Array] = {}
        for turn in range(ROUNDS):
            chosen = np.flatnonzero(active)
            multipliers[:] = 0.0
            step = free_step
            if len(chosen):
                block = self._columns(pairs, chosen, columns, answer)
                compliance = np.stack([pairs.along(column, chosen) for column in block], axis=1)
                multipliers[chosen] = np.linalg.solve(compliance, -(pairs.gap + pairs.along(free_step))[chosen])
                step = free_step + np.tensordot(multipliers[chosen], block, axes=1)
            wrong = np.where(active, multipliers <= 0.0, pairs.gap + pairs.along(step) < -slack)
            if not wrong.any():
                return step, multipliers
            if turn >= HASTY:
                # Murty's rule: exchanging only the first wrong pair ends after finitely many rounds.
                wrong &= np.arange(len(wrong)) == np.argmax(wrong)
            active ^= wrong
        raise np.linalg.LinAlgError

    def _columns(
        self, pairs: ToolPairs, chosen: Indices, known: dict[int, Array], answer: Callable[[Array], Array]
    ) -> Array:
        """Return K^-1 n (n, N, d) of the chosen pairs, computing those not yet known together."""
        missing = [int(pair) for pair in chosen if int(pair) not in known]
        if missing:
            count, d = self.free.shape
            loads = np.zeros((count, d, len(missing)))
            loads[pairs.node[missing], :, np.arange(len(missing))] = pairs.normal[missing, :d]
            answers = answer(loads.reshape(count * d, -1)).reshape(count, d, -1)
            known.update({pair: answers[:, :, k] for k, pair in enumerate(missing)})
        return np.stack([known[int(pair)] for pair in chosen])


def _bending(tool: RigidTool, gap: Array, normal: Array) -> Array:
    """Return dn/dx (n, 3, 3) [1/m] = (I - nn' - aa')/(gap + radius), a the axis of a cylinder; zero for flat faces."""
    if tool.shape not in (SPHERE, CYLINDER):
        return np.zeros((len(gap), 3, 3))
    flat = np.eye(3) - normal[:, :, None] * normal[:, None, :]
    if tool.shape == CYLINDER:
        axis = tool.geometry[AXIS : AXIS + 3]
        flat -= np.outer(axis, axis)
    return np.asarray(flat / (gap + tool.geometry[RADIUS])[:, None, None])


def _foremost(node: Indices, normal: Array, gap: Array) -> Flags:
    """Mark the pairs to keep: of tools that press one node along one direction only the foremost matters."""
    keep = np.ones(len(node), dtype=bool)
    for shared in np.flatnonzero(np.bincount(node) > 1):
        rivals = np.flatnonzero(node == shared)
        for pair in rivals:
            same = rivals[(normal[rivals] @ normal[pair] > 1.0 - PARALLEL) & keep[rivals] & (rivals != pair)]
            keep[pair] = not np.any(gap[same] <= gap[pair])
    return keep
