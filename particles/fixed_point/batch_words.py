"""Sixteen edges of any body at once: rows of both ends turned into vectors of words, sums row by row."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import INDEX, whole
from rheotwin.kernels.layouts import BATCH, ROW
from rheotwin.particles.fixed_point.run_words import data_of, own_constants
from rheotwin.particles.fixed_point.word_lanes import COUNT, WordLanes, Words

_tools: Any = cgutils
_types: Any = types
_HALVES = range(0, COUNT, BATCH)


def _generator(shared: bool, rounding: bool) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        b = builder
        motion, force, edges, lam, *columns_of, table, counters = data_of(context, b, signature, arguments, 9)
        size, count = arguments[9:]
        words, half, row = Words(b, table, counters, rounding), WordLanes(b, BATCH), WordLanes(b, ROW)

        def end(edge: Any, which: int) -> Any:
            """Return the first word of the point at one end."""
            node = b.load(b.gep(edges, [b.add(b.mul(edge, whole(2)), whole(which))]))
            return b.mul(b.sext(node, INDEX), whole(ROW))

        def apart(start: Any, stop: Any, first: Any) -> Any:
            here, there = (b.gep(motion, [b.add(place, first)]) for place in (start, stop))
            return b.sub(row.load(there), row.load(here))

        def across(rows: list[Any]) -> list[Any]:
            """Turn sixteen rows into three vectors of sixteen words."""
            halves = [half.columns(rows[k : k + BATCH]) for k in _HALVES]
            return [half.shuffle(low, high, range(COUNT)) for low, high in zip(*halves, strict=True)]

        with _tools.for_range_slice(b, whole(0), count, whole(COUNT), intp=INDEX) as (k, _):
            ends = [(end(b.add(k, whole(n)), 0), end(b.add(k, whole(n)), 1)) for n in range(COUNT)]
            xr, vr = (across([apart(*pair, first) for pair in ends]) for first in (whole(0), size))
            forces = words.edges(xr, vr, partial(own_constants, words, shared, columns_of, k), b.gep(lam, [k]))
            for begin in _HALVES:
                parts = [words.shuffle(part, part, range(begin, begin + BATCH)) for part in forces]
                for pair, part in zip(ends[begin : begin + BATCH], half.rows_of(*parts), strict=True):
                    for place, add in zip(pair, (b.sub, b.add), strict=True):
                        where = b.gep(force, [place])
                        row.store(add(row.load(where), part), where)
        return context.get_dummy_value()

    return generate


def _batches(shared: bool, rounding: bool) -> Any:
    def typed(
        typing: Any,
        motion: Any,
        force: Any,
        edges: Any,
        lam: Any,
        a: Any,
        b: Any,
        c2: Any,
        table: Any,
        counters: Any,
        size: Any,
        count: Any,
    ) -> Any:
        arrays = (motion, force, edges, lam, a, b, c2, table, counters)
        return _types.void(*arrays, _types.int64, _types.int64), _generator(shared, rounding)

    return intrinsic(typed)


@cache
def add_word_batches(own: bool, rounded: bool) -> Any:
    """Return the compiled function for edges that have constants of their own, or share them, with rounding or without.

    It advances lambda of all edges and adds their forces to the sums `force`, rows of four words per point. `motion`:
    rows of positions, then of velocities; `ends` (2 M,) int32 and lambda are padded to whole batches with edges from
    point 0 to itself, which give no force.
    """
    add = _batches(not own, rounded)

    @compiled
    def add_word_batches(ends: Any, motion: Any, force: Any, edges: Any, table: Any, counters: Any) -> None:
        e = edges
        add(motion, force, ends, e.lam, e.A, e.B, e.C2, table, counters, force.size, e.lam.size)

    return add_word_batches
