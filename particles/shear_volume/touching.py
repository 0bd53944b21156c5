"""Contacts that push while volumes are kept: nodes that may not move along normals, taken out of the motion exactly.

    M^-1 becomes  M^-1 - M^-1 n (n^T M^-1 n)^-1 n^T M^-1    at a node held along n,
    and what the pressures P need from there is the impulse  -(n^T M^-1 A P)/(n^T M^-1 n)

As rows of their own among those of the patches the contacts would cost a third more iterations. Where two tools hold
one node, the second direction is made orthogonal to the first in M^-1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.rows import Rows
from rheotwin.kernels.compiled import compiled

FIXED = 1e-9
"""A patch that keeps less than this share of its mobility cannot follow any more."""


class Touching(NamedTuple):
    """Room for contacts: which `candidate` of contact, its `node`, `normal` (3), and the `direction` n (3) taken out.

    `before` is the contact at the same node that was listed before, or -1, and direction = normal - share times the
    direction there. `own` is n^T M^-1 n [1/kg], `impulse` along normals [N s]. `last` (N,) tells, while contacts are
    listed, the last one at each node, counted from 1.
    """

    candidate: Indices
    node: Indices
    normal: Array
    direction: Array
    before: Indices
    share: Array
    own: Array
    impulse: Array
    last: Indices


def room_for_touching(room: int, nodes: int) -> Touching:
    """Return room for as many contacts at `nodes`."""
    candidate, node, before = (np.zeros(room, np.int64) for _ in range(3))
    share, own, impulse = (np.zeros(room) for _ in range(3))
    normal, direction = np.zeros((room, 3)), np.zeros((room, 3))
    return Touching(candidate, node, normal, direction, before, share, own, impulse, np.zeros(nodes, np.int64))


@compiled
def list_contact(touching: Touching, found: int, k: int, node: int, force: Array, inverse_mass: Array) -> int:
    """Put candidate `k` behind `found` others, with the direction of its `force` (3,); return how many were added.

    None without a force, at a node that is held there anyway, and beyond two at one node.
    """
    size = np.sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2])
    before = touching.last[node] - 1
    if size == 0.0 or (before >= 0 and touching.before[before] >= 0):
        return 0
    normal, direction, mixed = touching.normal[found], touching.direction[found], 0.0
    for c in range(3):
        normal[c] = force[c] / size
        direction[c] = normal[c]
    free = _product(normal, normal, inverse_mass[node])
    if before >= 0:
        mixed = _product(normal, touching.direction[before], inverse_mass[node]) / touching.own[before]
        for c in range(3):
            direction[c] -= mixed * touching.direction[before, c]
    own = _product(direction, direction, inverse_mass[node])
    if not own > FIXED * free:
        return 0
    touching.candidate[found], touching.node[found], touching.before[found] = k, node, before
    touching.share[found], touching.own[found], touching.last[node] = mixed, own, found + 1
    return 1


@compiled
def _product(a: Array, b: Array, inverse_mass: Array) -> float:
    return float(a[0] * b[0] * inverse_mass[0] + a[1] * b[1] * inverse_mass[1] + a[2] * b[2] * inverse_mass[2])


@compiled
def forget_nodes(touching: Touching, count: int) -> None:
    """Make ready for another list: `last` is only for its making."""
    for j in range(count):
        touching.last[touching.node[j]] = 0


@compiled
def take_out(touching: Touching, count: int, inverse_mass: Array, change: Array) -> None:
    """Take from changes of velocity (N, 3) what goes along the normals of the first `count` contacts."""
    for j in range(count):
        node, n = touching.node[j], touching.direction[j]
        way = (n[0] * change[node, 0] + n[1] * change[node, 1] + n[2] * change[node, 2]) / touching.own[j]
        for c in range(3):
            change[node, c] -= way * inverse_mass[node, c] * n[c]


@compiled(allocates=True)
def reduce_mobility(touching: Touching, count: int, rows: Rows, diagonal: Array) -> None:
    """Put the diagonal of A^T M^-1 A without the motion along normals into `diagonal`; zero where nothing is left."""
    turned = rows.turned
    diagonal[:] = rows.diagonal
    for j in range(count):
        node = touching.node[j]
        place = np.searchsorted(rows.touched, node)
        for k in range(turned.start[place], turned.start[place + 1]):
            along = _product(turned.gradient[k], touching.direction[j], rows.inverse_mass[node])
            diagonal[turned.row[k]] -= along * along / touching.own[j]
    for i in range(diagonal.shape[0] if count > 0 else 0):
        if diagonal[i] < FIXED * rows.diagonal[i]:
            diagonal[i] = 0.0


@compiled
def answer(touching: Touching, count: int, inverse_mass: Array, push: Array) -> None:
    """Find the impulses of the first `count` contacts under impulses `push` (N, 3) [N s], and add them there."""
    for j in range(count):
        node, n = touching.node[j], touching.direction[j]
        touching.impulse[j] = -_product(n, push[node], inverse_mass[node]) / touching.own[j]
        for c in range(3):
            push[node, c] += touching.impulse[j] * n[c]
    for j in range(count):
        if touching.before[j] >= 0:
            touching.impulse[touching.before[j]] -= touching.share[j] * touching.impulse[j]
