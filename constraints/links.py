"""Rigid links: pairs of nodes that keep their distance, R = (|d|^2 - L^2)/(2 L) with d = x_j - x_i (spec 5).

    dR/dx_j = d/L = -dR/dx_i,      Q = |d'|^2/L

A polynomial of degree two: its gradient half-way between two places times the way between them is the difference of
its values, so forces along that gradient do no work in a step that begins and ends with R = 0. At |d| = L the
multiplier is the force that pushes the ends apart [N], minus the tension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled


@dataclass(frozen=True)
class RigidLink:
    """A link of a scene: one member, or a chain of several, each a pair of nodes (n, 2) of length (n,) [m]."""

    name: str
    nodes: Indices
    lengths: Array

    @property
    def members(self) -> tuple[str, ...]:
        """Name of each member."""
        count = len(self.nodes)
        return (f"links.{self.name}",) if count == 1 else tuple(f"links.{self.name}[{k}]" for k in range(count))


@dataclass(frozen=True)
class LinkConstraints:
    """Constraints that keep the distances (n,) [m] of pairs of nodes (n, 2) among N nodes of d components."""

    nodes: Indices
    lengths: Array
    size: int
    """N d."""

    @property
    def count(self) -> int:
        """Number of constraints."""
        return len(self.nodes)

    def _between(self, vectors: Array) -> Array:
        return np.asarray(vectors[self.nodes[:, 1]] - vectors[self.nodes[:, 0]])

    def value(self, positions: Array) -> Array:
        """Return R (n,) [m] at positions (N, d) [m]."""
        link = self._between(positions)
        return np.asarray((np.einsum("kc,kc->k", link, link) - self.lengths**2) / (2.0 * self.lengths))

    def gradient(self, positions: Array) -> csr_matrix:
        """Return A^T = dR/dx (n, N d); component c of node i is column i d + c."""
        d = positions.shape[1]
        slope = self._between(positions) / self.lengths[:, None]
        columns = (self.nodes[:, :, None] * d + np.arange(d)).ravel()
        starts = 2 * d * np.arange(self.count + 1)
        return csr_matrix((np.stack([-slope, slope], axis=1).ravel(), columns, starts), shape=(self.count, self.size))

    def curvature(self, positions: Array, velocities: Array) -> Array:
        """Return Q (n,) [m/s2] at velocities (N, d) [m/s]."""
        speed = self._between(velocities)
        return np.asarray(np.einsum("kc,kc->k", speed, speed) / self.lengths)

    def tension(self, positions: Array, multipliers: Array) -> Array:
        """Return the force (n,) [N] with which each link pulls its ends together, given its multiplier."""
        return np.asarray(-multipliers * np.linalg.norm(self._between(positions), axis=1) / self.lengths)


def link_constraints(links: tuple[RigidLink, ...], shape: tuple[int, ...]) -> LinkConstraints:
    """Return all members of links, in their order, on node vectors of a shape (N, d)."""
    return LinkConstraints(
        nodes=np.concatenate([np.zeros((0, 2), np.int64), *(link.nodes for link in links)]),
        lengths=np.concatenate([np.zeros(0), *(link.lengths for link in links)]),
        size=int(np.prod(shape)),
    )


class Links(NamedTuple):
    """Links as the compiled loop reads them: nodes (n, 2) and lengths (n,) [m]."""

    node: Indices
    length: Array


@compiled
def fill_links(links: Links, x: Array, v: Array, gradient: Array, value: Array, curvature: Array) -> None:
    """Put gradients (2 n, 3), two entries a link, R and Q at positions and velocities (N, 3) into the last three."""
    for k in range(links.node.shape[0]):
        start, end, length = links.node[k, 0], links.node[k, 1], links.length[k]
        square, speed = 0.0, 0.0
        for c in range(3):
            along, rate = x[end, c] - x[start, c], v[end, c] - v[start, c]
            gradient[2 * k, c], gradient[2 * k + 1, c] = -along / length, along / length
            square += along * along
            speed += rate * rate
        value[k] = 0.5 * (square / length - length)
        curvature[k] = speed / length
