"""Unilateral contact inside Newton's method: an active set on the linearised equations, with any tangent.

In each iteration gaps g and normals N of all pairs (tool, node) are taken at the current positions and

    K du = r + N lambda,   g + N'(du) >= 0,   lambda >= 0,   lambda (g + N' du) = 0

is solved exactly: what touches moves by -N (N'N)^-1 g along its normals, and freely across them. With the projector
P = 1 - N (N'N)^-1 N', which joins components of single nodes only, and any stiffness s,

    (P K P + s (1 - P)) y = P (r - K d),   du = P y + d,   d = -N (N'N)^-1 g,   lambda = (N'N)^-1 N'(K du - r)

has the unknowns and the pattern of K: contact costs one more factor where what touches changes. Unlike the small-strain
step this needs no symmetric compliance: tangents of flowing bodies at large strain are not symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.contact.near_tools import ToolLook
from rheotwin.constraints.tools import AXIS, CYLINDER, RADIUS, SPHERE, RigidTool, pack_tools
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
    radius: Array
    """Of round tools [m], infinite for flat faces."""
    axis: Array
    """(k, 3) of cylinders, zero for all others."""
    gap: Array
    normal: Array

    def along(self, vectors: Array) -> Array:
        """Return the component of nodal vectors (N, d) along the normals."""
        return np.asarray(np.sum(vectors[self.node] * self.normal[:, : vectors.shape[1]], axis=-1))

    def forces(self, multipliers: Array, shape: tuple[int, int]) -> Array:
        """Return N lambda (N, d) [N]."""
        out = np.zeros(shape)
        np.add.at(out, self.node, multipliers[:, None] * self.normal[:, : shape[1]])
        return out

    @property
    def bending(self) -> Array:
        """Return dn/dx (k, 3, 3) [1/m] = (I - nn' - aa')/(gap + radius): how normals of round tools turn with nodes."""
        squares = [v[:, :, None] * v[:, None, :] for v in (self.normal, self.axis)]
        return np.asarray((np.eye(3) - sum(squares)) / (self.gap + self.radius)[:, None, None])

    def stiffness(self, multipliers: Array, shape: tuple[int, int]) -> Array:
        """Return -sum lambda dn/dx of each node (N, d, d) [N/m]: a round tool lets go of what slides off its top."""
        out = np.zeros((*shape, shape[1]))
        np.subtract.at(out, self.node, multipliers[:, None, None] * self.bending[:, : shape[1], : shape[1]])
        return out


class Tangent(Protocol):
    """The matrix K of a step on nodal vectors (N, d)."""

    def product(self, step: Array) -> Array:
        """Return K du."""

    def solve(self, right: Array, within: Array) -> Array:
        """Return P y of (P K P + s W) y = P r on free components, P = 1 - W, W (N, d, d) of each node."""


class ToolContact:
    """The tools of a problem and which components (N, d) their nodes can still move in."""

    def __init__(self, tools: Sequence[RigidTool], free: Flags) -> None:
        packed = pack_tools(tools)
        tool, node = np.repeat(np.arange(len(tools)), np.diff(packed.offset)), packed.candidate
        shape, geometry = packed.shape[tool, None], packed.geometry[tool]
        radius = np.where(np.isin(shape[:, 0], (SPHERE, CYLINDER)), geometry[:, RADIUS], np.inf)
        axis = np.where(shape == CYLINDER, geometry[:, AXIS : AXIS + 3], 0.0)
        self._free, self._looks = free, [(tool, ToolLook(tool, len(tool.candidates))) for tool in tools]
        self._all = ToolPairs(tool, node, radius, axis, np.zeros(len(node)), np.zeros((len(node), 3)))
        order, nobody = np.argsort(node, kind="stable"), np.zeros((2, 0), np.int64)
        met = [np.stack([order[:-k], order[k:]])[:, node[order[:-k]] == node[order[k:]]] for k in range(1, len(tools))]
        self._rivals = np.concatenate([nobody, *met], axis=1)
        """Pairs of pairs with the same node, those of the earlier tools first."""

    def pairs(self, positions: Array, time: float) -> ToolPairs:
        """Return all pairs at positions (N, d) [m]; those that cannot give way get an infinite gap.

        Of tools that press one node along one direction only the foremost matters.
        """
        places, pairs = padded(positions), self._all
        found = [look.at(tool.motion.at(time), places[tool.candidates]) for tool, look in self._looks]
        gap = np.concatenate([np.zeros(0), *(gaps for gaps, _ in found)])
        normal = np.concatenate([np.zeros((0, 3)), *(normals for _, normals in found)])
        gap[np.linalg.norm(self._movable(pairs.node, normal), axis=1) <= HELD] = np.inf
        first, second = self._rivals
        same = np.sum(normal[first] * normal[second], axis=1) > 1.0 - PARALLEL
        gap[np.where(gap[second] <= gap[first], first, second)[same]] = np.inf
        return replace(pairs, gap=gap, normal=normal)

    def _movable(self, node: Indices, normal: Array) -> Array:
        """Return what of normals is on free components (k, d)."""
        return np.where(self._free[node], normal[:, : self._free.shape[1]], 0.0)

    def touching(self, contacts: Contacts) -> Flags:
        """Mark the pairs (k,) that touched in the last step."""
        stride, mine = len(self._free), self._all
        return np.isin(mine.tool * stride + mine.node, contacts.tool * stride + contacts.node)

    def step(
        self, pairs: ToolPairs, tangent: Tangent, right: Array, held: Array, touching: Flags, slack: float
    ) -> tuple[Array, Array]:
        """Return the step (N, d) [m] that keeps tools out, and the multipliers (k,) [N] of all pairs.

        `right` r (N, d) [N] are the loads, `held` (N, d) [m] what components move by that are not free; gaps down to
        -`slack` [m] count as closed, and pairs that are `touching` probably will.
        """
        gap, active = pairs.gap + pairs.along(held), touching & np.isfinite(pairs.gap)
        right = right - tangent.product(held)
        for turn in range(ROUNDS):
            chosen, multipliers = np.flatnonzero(active), np.zeros(len(gap))
            step, multipliers[chosen] = self._closing(pairs, chosen, gap[chosen], tangent, right)
            wrong = np.where(active, multipliers <= 0.0, gap + pairs.along(step) < -slack)
            if not wrong.any():
                return held + step, multipliers
            if turn >= HASTY:
                # Murty's rule: exchanging only the first wrong pair ends after finitely many rounds.
                wrong &= np.arange(len(wrong)) == np.argmax(wrong)
            active ^= wrong
        raise np.linalg.LinAlgError

    def _closing(
        self, pairs: ToolPairs, chosen: Indices, gap: Array, tangent: Tangent, right: Array
    ) -> tuple[Array, Array]:
        """Return the step of free components (N, d) [m] that closes the gaps of chosen pairs, and their forces [N]."""
        node = pairs.node[chosen]
        n = self._movable(node, pairs.normal[chosen])
        inverse = np.linalg.solve(np.where(node[:, None] == node, n @ n.T, 0.0), n)
        within, closed = np.zeros((*right.shape, right.shape[1])), np.zeros_like(right)
        np.add.at(within, node, n[:, :, None] * inverse[:, None, :])
        np.subtract.at(closed, node, gap[:, None] * inverse)
        step = closed + tangent.solve(right - tangent.product(closed), within)
        if not np.isfinite(step).all():
            raise np.linalg.LinAlgError
        return step, np.sum(inverse * (tangent.product(step) - right)[node], axis=1)
