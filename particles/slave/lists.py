"""Which slaves a master sees.

A list holds the slaves within 2 h + skin of each master in the order of their numbers. So a kept list differs from a
new one by slaves of weight zero alone, and no result depends on when lists were made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import LAST
from rheotwin.particles.slave.cloud import Masters, Slaves

Small = NDArray[np.int32]

SKIN = 0.12
"""Share of h by which lists reach further than 2 h: less than the .179 to the next shell of the lattice."""
ROOM = 8
"""Cells of the search for every master."""
UNMADE = -1
"""Age of lists that are to be made."""
FULL_LISTS = LAST + 1
"""Answer of a stage that found more slaves near a master than a list has room for."""


class Lists(NamedTuple):
    """Slaves near each master: numbers (M, stride), how many (M,), weights (M, stride) before division by their sum.

    `geometry` (M, 12): xbar - x [m], 1/sum w (0 without slaves), the inverse of K [1/m2] (0 without stress), whether
    the velocity field is affine, the number of slaves with weight. `from_masters`, `from_slaves`: places when the
    lists were made. `age`: steps since, rebuilds, most slaves of a master. Of one master at a time: `offset`
    (stride, 4) of its slaves [m] and their squares (1, stride).
    """

    index: Small  # type: ignore[assignment]
    count: Small  # type: ignore[assignment]
    weight: Array
    geometry: Array
    offset: Array
    square: Array
    from_masters: Array
    from_slaves: Array
    age: Indices
    cells: Small
    sorted: Small
    cell_of: Small


def new_lists(masters: Masters, slaves: Slaves, stride: int) -> Lists:
    """Return lists to be made, of at most so many slaves."""
    many = len(masters.x)
    return Lists(
        index=np.zeros((many, stride), np.int32),
        count=np.zeros(many, np.int32),
        weight=np.zeros((many, stride)),
        geometry=np.zeros((many, 12)),
        offset=np.zeros((stride, 4)),
        square=np.zeros((1, stride)),
        from_masters=np.zeros((many, 4)),
        from_slaves=np.zeros((slaves.room, 4)),
        age=np.array([UNMADE, 0, 0]),
        cells=np.zeros(ROOM * many + 4096, np.int32),
        sorted=np.zeros(many, np.int32),
        cell_of=np.zeros(many, np.int32),
    )


@compiled(inside=True, vectors=True)
def _moved(masters: Masters, slaves: Slaves, lists: Lists) -> float:
    """Return the largest squared way [m2] since lists were made, beside that of all masters together."""
    x, old, many = masters.x, lists.from_masters, masters.x.shape[0]
    ux, uy, uz = 0.0, 0.0, 0.0
    for m in range(many):
        ux, uy, uz = ux + (x[m, 0] - old[m, 0]), uy + (x[m, 1] - old[m, 1]), uz + (x[m, 2] - old[m, 2])
    ux, uy, uz, most = ux / many, uy / many, uz / many, 0.0
    for m in range(many):
        a, b, c = x[m, 0] - old[m, 0] - ux, x[m, 1] - old[m, 1] - uy, x[m, 2] - old[m, 2] - uz
        most = max(most, a * a + b * b + c * c)
    x, old = slaves.x, lists.from_slaves
    for s in range(slaves.count[0]):
        a, b, c = x[s, 0] - old[s, 0] - ux, x[s, 1] - old[s, 1] - uy, x[s, 2] - old[s, 2] - uz
        most = max(most, a * a + b * b + c * c)
    return most


@compiled(inside=True, vectors=True)
def keep_lists(masters: Masters, slaves: Slaves, lists: Lists, h: float) -> int:
    """Make the lists anew where something has moved by half the skin since they were made."""
    limit = 0.5 * SKIN * h
    if lists.age[0] >= 0 and _moved(masters, slaves, lists) < limit * limit:
        lists.age[0] += 1
        return 0
    lists.age[0], lists.age[2] = 0, make_lists(masters.x, slaves.x, slaves.count[0], lists, h)
    lists.age[1] += 1
    if lists.age[2] > lists.index.shape[1]:
        lists.age[0] = UNMADE
        return FULL_LISTS
    for m in range(masters.x.shape[0]):
        for c in range(3):
            lists.from_masters[m, c] = masters.x[m, c]
    for s in range(slaves.count[0]):
        for c in range(3):
            lists.from_slaves[s, c] = slaves.x[s, c]
    return 0


@compiled(inside=True, vectors=True)
def make_lists(x: Array, slaves: Array, count: int, lists: Lists, h: float) -> int:
    """Fill the lists, and return how many slaves a master sees at most.

    Masters are sorted into cells of half the reach, whose grid is folded until it has no more than `ROOM` cells for
    each: cells far apart may share a place, at least five apart, and what is too far is left out by its distance.
    """
    many, reach = x.shape[0], (2.0 + SKIN) * h
    edge = 0.5 * reach
    per, square = 1.0 / edge, reach * reach
    lx, ly, lz = x[0, 0], x[0, 1], x[0, 2]
    ux, uy, uz = lx, ly, lz
    for m in range(many):
        lx, ly, lz = min(lx, x[m, 0]), min(ly, x[m, 1]), min(lz, x[m, 2])
        ux, uy, uz = max(ux, x[m, 0]), max(uy, x[m, 1]), max(uz, x[m, 2])
    nx, ny, nz = _cells(ux - lx, per), _cells(uy - ly, per), _cells(uz - lz, per)
    cells, order, cell_of, place = lists.cells, lists.sorted, lists.cell_of, lists.from_masters
    while nx * ny * nz >= cells.shape[0]:
        if nx >= ny and nx >= nz:
            nx = nx // 2 + 3
        elif ny >= nz:
            ny = ny // 2 + 3
        else:
            nz = nz // 2 + 3
    cells[: nx * ny * nz + 1] = 0
    for m in range(many):
        i = int(np.floor((x[m, 0] - lx) * per)) % nx
        j = int(np.floor((x[m, 1] - ly) * per)) % ny
        k = int(np.floor((x[m, 2] - lz) * per)) % nz
        cell_of[m] = (k * ny + j) * nx + i
        cells[cell_of[m] + 1] += 1
    for cell in range(nx * ny * nz):
        cells[cell + 1] += cells[cell]
    for m in range(many):  # where cells begin goes ahead by their masters, ..
        n = cells[cell_of[m]]
        order[n], cells[cell_of[m]] = m, n + 1
        for c in range(3):
            place[n, c] = x[m, c]
    for cell in range(nx * ny * nz, 0, -1):  # .. and back
        cells[cell] = cells[cell - 1]
    cells[0] = 0
    lists.count[:] = 0
    for s in range(count):
        px, py, pz = slaves[s, 0], slaves[s, 1], slaves[s, 2]
        fx, fy, fz = (px - lx) * per, (py - ly) * per, (pz - lz) * per
        j, k = np.floor(fy), np.floor(fz)
        first, begin = (int(np.floor(fx)) - 2) % nx, (int(j) - 2) % ny
        plane = (int(k) - 3) % nz
        for b in range(-2, 3):
            plane = plane + 1 if plane + 1 < nz else 0
            away = max(max(k + b - fz, fz - k - b - 1.0), 0.0)
            line = begin - 1
            for a in range(-2, 3):
                line = line + 1 if line + 1 < ny else 0
                aside = max(max(j + a - fy, fy - j - a - 1.0), 0.0)
                if aside * aside + away * away > 4.0:
                    continue
                row = (plane * ny + line) * nx
                last = cells[row + min(first + 5, nx)]
                _take(place, order, cells[row + first], last, s, px, py, pz, square, lists)
                if first + 5 > nx:
                    _take(place, order, cells[row], cells[row + first + 5 - nx], s, px, py, pz, square, lists)
    most = 0
    for m in range(many):
        most = max(most, lists.count[m])
    return most


@compiled(inside=True)
def _cells(length: float, per: float) -> int:
    """Return how many cells a length takes, five at least."""
    return int(min(length * per, 1e6)) + 5


@compiled(inside=True, vectors=True, merged=True)
def _take(
    place: Array,
    order: Any,
    first: int,
    last: int,
    s: int,
    px: float,
    py: float,
    pz: float,
    square: float,
    lists: Lists,
) -> None:
    """Append a slave to the lists of masters order[first:last] that are near, at `place`."""
    index, count = lists.index, lists.count
    for k in range(first, last):
        u, v, w = place[k, 0] - px, place[k, 1] - py, place[k, 2] - pz
        if u * u + v * v + w * w <= square:
            m = order[k]
            n = count[m]
            if n < index.shape[1]:
                index[m, n] = s
            count[m] = n + 1
