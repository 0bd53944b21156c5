"""Contacts of one step linearised: how their gap and slip follow from the nodes and the tools' poses.

    rel = sum w_i du_i - dp(dq),      dp = displacement of the tool's surface where it touches,
    row k of a contact = e_k . rel,   e_0 = n (gap), e_1.. tangents (slip)

Between bodies the turn that all nodes of a contact share is taken out of rel, so that no row has a moment (`turning`).

A tool's surface moves by dp = dq_123 + dq_4 a x r about its axis a.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.constraints.contact.setup import POSE_SIZE
from rheotwin.constraints.tools import AXIS, CENTER, RigidTool

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def frames(normal: Array, directions: int) -> Array:
    """Return orthonormal rows (n, directions, 3) of contacts: the normal, then tangents; in 2D the one in the plane."""
    out = np.zeros((len(normal), directions, 3))
    out[:, 0] = normal
    if directions == 2:
        out[:, 1] = np.stack([-normal[:, 1], normal[:, 0], np.zeros(len(normal))], axis=1)
    if directions == 3:
        least = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
        first = np.cross(normal, least)
        out[:, 1] = first / np.linalg.norm(first, axis=1, keepdims=True)
        out[:, 2] = np.cross(normal, out[:, 1])
    return out


@dataclass(frozen=True)
class Rows:
    """Contacts (n) with their frames, at the positions they were found at."""

    node: Indices
    """(n, 4) rows of the model, 0 where the weight is."""
    weight: Array
    frame: Array
    """(n, k, 3)"""
    push: Array
    """(n, k, 4, 3) of a unit force along each row on each node: w_i e, between bodies without moment, see `turning`."""
    gap: Array
    """[m]"""
    tool: Indices
    point: Array
    slot: Indices
    law: Indices
    """Row of the packed laws."""

    def __len__(self) -> int:
        return len(self.gap)

    def kept(self, chosen: Indices | NDArray[np.bool_]) -> Rows:
        """Return the chosen contacts."""
        return Rows(*(getattr(self, item.name)[chosen] for item in fields(self)))

    def matrix(self, size: int, dimension: int) -> csr_matrix:
        """Return H (n k, size): from all displacement components to the rows."""
        n, k = self.frame.shape[:2]
        weights = self.push[..., :dimension]
        columns = np.broadcast_to(
            self.node[:, None, :, None] * dimension + np.arange(dimension), (n, k, self.node.shape[1], dimension)
        )
        rows = np.broadcast_to(np.arange(n * k).reshape(n, k, 1, 1), columns.shape)
        return csr_matrix((weights.ravel(), (rows.ravel(), columns.ravel())), shape=(n * k, size))

    @cached_property
    def nodes(self) -> Indices:
        """Rows of the model that take part."""
        return np.unique(self.node[np.any(self.push != 0.0, axis=(1, 3))])

    def on_tools(self, tools: tuple[RigidTool, ...], pose: Array) -> Array:
        """Return -e . d(dp)/dq (n k, T 4) in the given poses (T, 4)."""
        n, k = self.frame.shape[:2]
        out = np.zeros((n, k, len(tools), POSE_SIZE))
        for index in np.unique(self.tool[self.tool >= 0]):
            mine = np.flatnonzero(self.tool == index)
            geometry = tools[index].geometry
            arm = self.point[mine] - geometry[CENTER : CENTER + 3] - pose[index, :3]
            turn = np.cross(geometry[AXIS : AXIS + 3], arm)
            out[mine, :, index, :3] = -self.frame[mine]
            out[mine, :, index, 3] = -np.einsum("nkc,nc->nk", self.frame[mine], turn)
        return out.reshape(n * k, -1)

    def surface_motion(self, tools: tuple[RigidTool, ...], before: Array, after: Array) -> Array:
        """Return dp (n, 3) [m]: how the tool's points at the contacts came there from the poses `before` (T, 4)."""
        out = np.zeros((len(self), 3))
        for index in np.unique(self.tool[self.tool >= 0]):
            mine = np.flatnonzero(self.tool == index)
            geometry = tools[index].geometry
            center, axis = geometry[CENTER : CENTER + 3], geometry[AXIS : AXIS + 3]
            y = self.point[mine] - center - after[index, :3]
            turn = before[index, 3] - after[index, 3]
            earlier = (
                np.cos(turn) * y + np.sin(turn) * np.cross(axis, y) + (1.0 - np.cos(turn)) * np.outer(y @ axis, axis)
            )
            out[mine] = self.point[mine] - (center + before[index, :3] + earlier)
        return out

    def along(self, vectors: Array) -> Array:
        """Return the components (n k,) of vectors (n, 3) in the frames."""
        return np.asarray(np.einsum("nkc,nc->nk", self.frame, vectors)).ravel()

    def forces(self, multipliers: Array) -> Array:
        """Return vectors (n, 3) of components (n, k) in the frames."""
        return np.asarray(np.einsum("nk,nkc->nc", multipliers, self.frame))

    def on_nodes(self, multipliers: Array) -> Array:
        """Return the pushes (n, 4, 3) of components (n, k) in the frames on their nodes."""
        return np.asarray(np.einsum("nk,nkic->nic", multipliers, self.push))
