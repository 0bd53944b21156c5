"""Where matter tears slaves are added, where it is compressed they are taken away (spec section 3.9).

Every fourth step: of two slaves closer than .15 h the younger goes, as do those without a master within 2 h. A pair of
masters that were neighbours at the start breaks once it is 2 h apart, for good, and proposes two slaves, one for each
of its masters:

    (x_s + 2 x_m)/3,   s: the slave nearest to the middle of the pair

A slave is added where there are no more than on the lattice, sum_s' w + w(0) <= sum_lattice w, unless another was just
added within .15 h. Slaves keep their order, so that a number tells the age. Pieces hang together by pairs that are
whole, or still share a slave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import LAST
from rheotwin.particles.slave.cloud import Masters, Slaves
from rheotwin.particles.slave.lists import UNMADE, Lists
from rheotwin.problem import Problem

EVERY = 4
"""Steps from one look to the next."""
CLOSE = 0.15
"""Share of h within which there is one slave."""
FULL_SLAVES = LAST + 2
"""Answer of a stage that may need more room for slaves."""
ADDED, REMOVED, BROKEN, FIRST, DONE, LACKING = range(6)
"""Columns of `Splits.counts`: since time zero; the step that first changed the nodes and that of the last look, -1
before; room for slaves that was lacking."""


class Splits(NamedTuple):
    """Pairs (P, 2) of masters, which are whole (P,); `counts`; the slave that began at each node (N,), -1 once it is
    gone, and the master it rides with then (N,); heads (2^k,) and links (S,) of the search for close slaves.
    """

    pairs: NDArray[np.int32]
    whole: Flags
    counts: Indices
    where: Indices
    rider: Indices
    heads: NDArray[np.int32]
    links: NDArray[np.int32]


def neighbours(problem: Problem) -> NDArray[np.int32]:
    """Return the pairs of masters (P, 2) that share a face, all bodies one after the other."""
    found, first = [np.zeros((0, 2), np.int64)], 0
    for body in problem.bodies:
        two = body.mesh.f2t[:, body.mesh.f2t[1] >= 0].T
        found.append(np.sort(two, axis=1) + first)
        first += body.mesh.t.shape[1]
    pairs = np.concatenate(found)
    return pairs[np.lexsort(pairs.T[::-1])].astype(np.int32)


@compiled(inside=True)
def find_linked(splits: Splits, lists: Lists, linked: Flags) -> None:
    """Tell which pairs (P,) are whole, or have a slave that both masters see."""
    for k in range(splits.pairs.shape[0]):
        linked[k] = splits.whole[k]
        a, b = splits.pairs[k, 0], splits.pairs[k, 1]
        i, j, m, n = 0, 0, lists.count[a], lists.count[b]
        while not linked[k] and i < m and j < n:
            s, t = lists.index[a, i], lists.index[b, j]
            linked[k] = s == t and lists.weight[a, i] > 0.0 and lists.weight[b, j] > 0.0
            i, j = i + (s <= t), j + (t <= s)


def pieces(pairs: NDArray[np.int32], linked: Flags, masters: int) -> Indices:
    """Return the number of the piece of each master (M,), from the largest one on."""
    kept = pairs[linked]
    graph = csr_matrix((np.ones(len(kept), bool), (kept[:, 0], kept[:, 1])), (masters, masters))
    labels = connected_components(graph, directed=False)[1]
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[labels])


def room_for_links(room: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return heads and links of the search for close slaves."""
    return np.zeros(1 << int(np.ceil(np.log2(2 * room))), np.int32), np.zeros(room, np.int32)


@compiled(inside=True, vectors=True)
def spline(square: float, per: float) -> float:
    """Return the cubic spline, 1 at its centre, at a squared distance [m2]; `per` is 1/h."""
    q = np.sqrt(square) * per
    far, near = max(2.0 - q, 0.0), max(1.0 - q, 0.0)
    value: float = 0.25 * far * far * far - near * near * near
    return value


def lattice_density() -> float:
    """Return the sum of w over a lattice of spacing h, at one of its points."""
    steps = np.arange(-2, 3)
    q = np.sqrt(sum(axis.astype(float) ** 2 for axis in np.meshgrid(steps, steps, steps)))
    return float(np.sum(0.25 * np.maximum(2.0 - q, 0.0) ** 3 - np.maximum(1.0 - q, 0.0) ** 3))


DENSEST = lattice_density() * (1.0 + 1e-9)


@compiled(inside=True, vectors=True)
def split(masters: Masters, slaves: Slaves, lists: Lists, splits: Splits, adds: bool, h: float, number: float) -> int:
    """Look for pairs to break, slaves to take away and to add; make lists anew (two stages back) where any was."""
    counts, x = splits.counts, masters.x
    if number % EVERY != 0 or number <= counts[DONE]:
        return 0
    parting, reach = 0, 4.0 * h * h
    for k in range(splits.pairs.shape[0]):
        parting += 1 if splits.whole[k] and _square(x, splits.pairs[k, 0], x, splits.pairs[k, 1]) > reach else 0
    if slaves.count[0] + 2 * parting > slaves.x.shape[0]:
        counts[LACKING] = slaves.count[0] + 2 * parting
        return FULL_SLAVES
    counts[DONE] = int(number)
    before = slaves.count[0]
    if parting:
        _break_pairs(masters, slaves, lists, splits, adds, h, int(number))
    added = slaves.count[0] - before
    removed = _remove(masters.x, slaves, splits, CLOSE * h, before, int(number)) if number > 0 else 0
    if added or removed:
        counts[ADDED] += added
        counts[REMOVED] += removed
        lists.age[0] = UNMADE
        return -2
    return 0


@compiled(inside=True, vectors=True)
def _square(a: Array, i: int, b: Array, j: int) -> float:
    """Return the squared distance of two rows."""
    x, y, z = a[i, 0] - b[j, 0], a[i, 1] - b[j, 1], a[i, 2] - b[j, 2]
    square: float = x * x + y * y + z * z
    return square


@compiled(inside=True, vectors=True)
def _break_pairs(
    masters: Masters, slaves: Slaves, lists: Lists, splits: Splits, adds: bool, h: float, number: int
) -> None:
    """Break pairs that are too far apart, and add the slaves they ask for."""
    x, y, reach, old, counts = masters.x, slaves.x, 4.0 * h * h, slaves.count[0], splits.counts
    for k in range(splits.pairs.shape[0]):
        a, b = splits.pairs[k, 0], splits.pairs[k, 1]
        if not splits.whole[k] or not _square(x, a, x, b) > reach:
            continue
        splits.whole[k] = False
        counts[BROKEN] += 1
        if counts[FIRST] < 0:
            counts[FIRST] = number
        px, py, pz = 0.5 * (x[a, 0] + x[b, 0]), 0.5 * (x[a, 1] + x[b, 1]), 0.5 * (x[a, 2] + x[b, 2])
        nearest, least = -1, np.inf
        for m in (a, b):
            for row in range(lists.count[m]):
                s = lists.index[m, row]
                u, v, w = y[s, 0] - px, y[s, 1] - py, y[s, 2] - pz
                away = u * u + v * v + w * w
                closer = away < least or (away == least and s < nearest)
                if closer and _square(y, s, x, m) < reach:  # what lists hold beyond depends on their age
                    nearest, least = s, away
        for m in (a, b):
            if nearest < 0 or not adds:
                continue
            n = slaves.count[0]
            for c in range(3):
                y[n, c] = (y[nearest, c] + 2.0 * x[m, c]) / 3.0
            if _has_room(y, old, n, h):
                y[n, 3] = 1.0
                for c in range(4):
                    slaves.v[n, c], slaves.sum[n, c], slaves.drift[n, c], slaves.push[n, c] = 0.0, 0.0, 0.0, 0.0
                slaves.origin[n], slaves.anchor[n] = -1, -1
                slaves.count[0] = n + 1


@compiled(inside=True, vectors=True)
def _has_room(y: Array, old: int, n: int, h: float) -> bool:
    """Tell whether slave n may be added to those before it, of which those from `old` on are new."""
    per, density = 1.0 / h, 1.0
    for s in range(n):
        square = _square(y, s, y, n)
        if s >= old and square < CLOSE * CLOSE * h * h:
            return False
        if square < 4.0 * h * h:
            density += spline(square, per)
    return density <= DENSEST


@compiled(inside=True, vectors=True)
def _remove(masters: Array, slaves: Slaves, splits: Splits, close: float, before: int, number: int) -> int:
    """Take away slaves closer than `close` [m] to an older one, and those below `before` without mass; return how many.

    Cells are twice as wide, so that a ball around a slave is in eight of them; their numbers are hashed into chains.
    """
    y, heads, links, counts, kept = slaves.x, splits.heads, splits.links, splits.counts, 0
    per, many, square = 0.5 / close, slaves.count[0], close * close
    heads[:] = -1
    for s in range(many):
        fx, fy, fz = y[s, 0] * per - 0.5, y[s, 1] * per - 0.5, y[s, 2] * per - 0.5
        i, j, k = int(np.floor(fx)), int(np.floor(fy)), int(np.floor(fz))
        alone = s >= before or slaves.sum[s, 3] > 0.0
        for corner in range(8):
            other = heads[_bucket(i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2), heads.shape[0])]
            while other >= 0:
                alone = alone and not _square(y, s, y, other) < square
                other = links[other]
        if not alone:
            node = slaves.origin[s]
            if node >= 0:
                splits.where[node], least = -1, np.inf
                for m in range(masters.shape[0]):
                    away = _square(y, s, masters, m)
                    if away < least:
                        splits.rider[node], least = m, away
                if counts[FIRST] < 0:
                    counts[FIRST] = number
            continue
        if kept < s:
            for c in range(4):
                y[kept, c], slaves.v[kept, c], slaves.sum[kept, c] = y[s, c], slaves.v[s, c], slaves.sum[s, c]
                slaves.drift[kept, c], slaves.push[kept, c] = slaves.drift[s, c], slaves.push[s, c]
            slaves.origin[kept], slaves.anchor[kept] = slaves.origin[s], slaves.anchor[s]
        if slaves.origin[kept] >= 0:
            splits.where[slaves.origin[kept]] = kept
        i, j, k = int(np.floor(fx + 0.5)), int(np.floor(fy + 0.5)), int(np.floor(fz + 0.5))
        bucket = _bucket(i, j, k, heads.shape[0])
        links[kept], heads[bucket] = heads[bucket], kept
        kept += 1
    slaves.count[0] = kept
    gone: int = many - kept
    return gone


@compiled(inside=True)
def _bucket(i: int, j: int, k: int, size: int) -> int:
    """Return where a cell's chain begins in a table of 2^k."""
    mixed = (i * 73856093) ^ (j * 19349663) ^ (k * 83492791)
    return (mixed ^ (mixed >> 15)) & (size - 1)
