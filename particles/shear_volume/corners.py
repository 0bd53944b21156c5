"""Simplices CHUNK at a time: from nodes to edges and from forces on corners back to nodes.

Scratch of a chunk and constants of its elements lie component by component, so that what is computed from them runs in
vectors and stays in the nearest cache. Edges are rows e1x, e1y, e2x, e2y of triangles, e1x, e1y, e1z, e2x ... of
tetrahedra, all from corner 0. Compilers take triangles number by number here, since corners may be anywhere: x and y of
a corner are loaded and stored together instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import ArrayLike

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import INDEX, Lanes, whole
from rheotwin.kernels.vectors import aligned_copy

_tools: Any = cgutils
_types: Any = types
CHUNK = 128
"""Elements per pass."""
BATCH, PAIR = 4, 2
"""Triangles at once between memory and rows; numbers of a corner."""
NODE, CORNERS, EDGES = 3, 3, 4
"""Numbers of a node, corners of a triangle, rows of its edges."""
_EVEN, _ODD = (0, 4, 2, 6), (1, 5, 3, 7)
"""Where x and where y of the triangles 0 to 3 are in the pairs of 0, 2 and of 1, 3; the other way round as well."""


def chunks_of(count: int) -> int:
    """Return how many chunks hold `count` elements."""
    return -(-count // CHUNK)


def in_chunks(values: ArrayLike, *, forces: bool = False) -> Array:
    """Return rows (..., E) as (chunks, ..., CHUNK), the last one filled up with copies of the last element.

    What makes `forces` is zero in the copies.
    """
    rows = np.atleast_1d(np.asarray(values, dtype=float))
    count = rows.shape[-1]
    if not count:
        return np.zeros((0, *rows.shape[:-1], CHUNK))
    lanes = np.arange(chunks_of(count) * CHUNK)
    spread = np.where(forces & (lanes >= count), 0.0, rows[..., np.minimum(lanes, count - 1)])
    split = np.moveaxis(spread.reshape(*rows.shape[:-1], chunks_of(count), CHUNK), -2, 0)
    found: Array = aligned_copy(split, float)
    return found


def in_elements(chunks: Array, count: int) -> Array:
    """Return values (chunks, ..., CHUNK) as (..., E) of `count` elements, without what fills up the last chunk."""
    rows = np.moveaxis(chunks, 0, -2)
    if not rows.size:
        return np.zeros((*rows.shape[:-2], count))
    return rows.reshape(*rows.shape[:-2], -1)[..., :count]


def corners_in_chunks(corners: Indices) -> Integers:
    """Return corners (E, k) filled up to whole chunks by the last element."""
    padding = chunks_of(len(corners)) * CHUNK - len(corners)
    return np.concatenate([corners, np.repeat(corners[-1:], padding, axis=0)]).astype(np.int32)


@compiled(nogil=True)
def gather_tetrahedra(corners: Integers, first: int, values: Array, edges: Array) -> None:
    """Write differences of values (N, 3) along the edges of CHUNK tetrahedra into rows (9, CHUNK)."""
    for lane in range(CHUNK):
        e = first + lane
        o, p, q, r = corners[e, 0], corners[e, 1], corners[e, 2], corners[e, 3]
        for c in range(3):
            base = values[o, c]
            edges[c, lane] = values[p, c] - base
            edges[3 + c, lane] = values[q, c] - base
            edges[6 + c, lane] = values[r, c] - base


@compiled(nogil=True)
def scatter_tetrahedra(corners: Integers, first: int, pulls: Array, force: Array) -> None:
    """Add the forces on corners 1, 2 and 3 (9, CHUNK) to those of nodes (N, 3); corner 0 takes the reaction."""
    for lane in range(CHUNK):
        e = first + lane
        o, p, q, r = corners[e, 0], corners[e, 1], corners[e, 2], corners[e, 3]
        for c in range(3):
            fp, fq, fr = pulls[c, lane], pulls[3 + c, lane], pulls[6 + c, lane]
            force[p, c] += fp
            force[q, c] += fq
            force[r, c] += fr
            force[o, c] -= fp + fq + fr


class _Triangles:
    """Reads and writes pairs of numbers at the corners of four triangles."""

    def __init__(self, builder: Any, scalar: Any, corners: Any, first: Any) -> None:
        self.builder, self.corners, self.first = builder, corners, first
        self.pair, self.lanes = Lanes(builder, scalar, PAIR), Lanes(builder, scalar, BATCH)

    def place(self, values: Any, triangle: int, corner: int) -> Any:
        """Return where the numbers (N, 3) of a corner are."""
        b = self.builder
        number = b.add(b.mul(b.add(self.first, whole(triangle)), whole(CORNERS)), whole(corner))
        node = b.sext(b.load(b.gep(self.corners, [number])), INDEX)
        return b.gep(values, [b.mul(node, whole(NODE))])

    def read(self, values: Any, corner: int) -> list[Any]:
        """Return the pairs of the triangles 0 and 2, and of 1 and 3."""
        pairs = [self.pair.load(self.place(values, triangle, corner)) for triangle in range(BATCH)]
        return [self.lanes.shuffle(pairs[n], pairs[n + 2], range(BATCH)) for n in (0, 1)]

    def add(self, values: Any, triangle: int, corner: int, parts: list[Any], sign: str) -> None:
        """Add to the numbers of a corner, or subtract, its pair among those of the triangles 0 and 2, 1 and 3."""
        place, start = self.place(values, triangle, corner), triangle // 2 * PAIR
        part = self.lanes.shuffle(parts[triangle % 2], parts[triangle % 2], [start, start + 1])
        self.pair.store(getattr(self.builder, sign)(self.pair.load(place), part), place)

    def woven(self, first: Any, second: Any) -> list[Any]:
        """Turn pairs into x and y of the triangles 0 to 3, or those into pairs."""
        return [self.lanes.shuffle(first, second, picks) for picks in (_EVEN, _ODD)]

    def row(self, values: Any, row: int, k: Any) -> Any:
        """Return where the numbers of the triangles from `k` on are in a row of a chunk."""
        return self.builder.gep(values, [self.builder.add(k, whole(row * CHUNK))])


def _between_nodes_and_rows(emit: Any) -> Any:
    """Return what compiled code calls: `emit(four, k, first array, second array)` for all triangles of a chunk."""

    def typed(typing: Any, corners: Any, first: Any, source: Any, target: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table, here, there = (
                context.make_array(signature.args[n])(context, builder, arguments[n]).data for n in (0, 2, 3)
            )
            scalar = context.get_data_type(source.dtype)
            with _tools.for_range_slice(builder, whole(0), whole(CHUNK), whole(BATCH), intp=INDEX) as (k, _):
                emit(_Triangles(builder, scalar, table, builder.add(arguments[1], k)), k, here, there)
            return context.get_dummy_value()

        return _types.void(corners, _types.int64, source, target), generate

    return intrinsic(typed)


def _gather(four: _Triangles, k: Any, values: Any, rows: Any) -> None:
    origin, found = four.read(values, 0), []
    for corner in (1, 2):
        apart = [four.builder.fsub(end, start) for end, start in zip(four.read(values, corner), origin, strict=True)]
        found += four.woven(*apart)
    for row, value in enumerate(found):
        four.lanes.store(value, four.row(rows, row, k))


def _scatter(four: _Triangles, k: Any, pulls: Any, force: Any) -> None:
    rows = [four.lanes.load(four.row(pulls, row, k)) for row in range(EDGES)]
    first, second = four.woven(*rows[:2]), four.woven(*rows[2:])
    both = [four.builder.fadd(one, other) for one, other in zip(first, second, strict=True)]
    for triangle in range(BATCH):
        four.add(force, triangle, 1, first, "fadd")
        four.add(force, triangle, 2, second, "fadd")
        four.add(force, triangle, 0, both, "fsub")


gather_triangles: Any = _between_nodes_and_rows(_gather)
"""`gather_triangles(corners, first, values, edges)`: differences of values (N, 3) along edges."""
scatter_triangles: Any = _between_nodes_and_rows(_scatter)
"""`scatter_triangles(corners, first, pulls, force)`: add forces on corners 1 and 2; corner 0 takes the reaction."""
