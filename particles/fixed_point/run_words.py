"""Compiled loops over vectors of words: runs of edges of a grid, and the points."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import INDEX, whole
from rheotwin.particles.fixed_point.word_lanes import COUNT, EdgeConstants, Words

_tools: Any = cgutils
_types: Any = types


def data_of(context: Any, builder: Any, signature: Any, arguments: Any, count: int) -> list[Any]:
    """Return the pointers of the first `count` arguments, arrays."""
    return [
        context.make_array(kind)(context, builder, argument).data
        for kind, argument in zip(signature.args[:count], arguments[:count], strict=True)
    ]


def own_constants(words: Words, shared: bool, columns: list[Any], k: Any) -> EdgeConstants:
    """Return A, B and C2 of the edges from lane k on, or those of all."""
    if shared:
        return EdgeConstants(*(words.scalars[name] for name in ("A", "B", "C2")))
    return EdgeConstants(*(words.load(words.builder.gep(column, [k])) for column in columns))


def _generator(shared: bool, rounding: bool) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        b = builder
        motion, force, lam, active, a, bb, c2, table, counters = data_of(context, b, signature, arguments, 9)
        size, base, target, lane, count = arguments[9:]
        words = Words(b, table, counters, rounding)
        columns = [b.gep(column, [lane]) for column in (a, bb, c2)]
        lam, active = b.gep(lam, [lane]), b.gep(active, [b.sdiv(lane, whole(COUNT))])
        rows = [b.mul(size, whole(row)) for row in range(6)]
        with _tools.for_range_slice(b, whole(0), count, whole(COUNT), intp=INDEX) as (k, _):
            start, end = b.add(base, k), b.add(target, k)
            is_edge = words.lanes_of(b.load(b.gep(active, [b.udiv(k, whole(COUNT))])))
            apart = [
                words.only(
                    is_edge,
                    b.sub(words.load(b.gep(motion, [b.add(end, row)])), words.load(b.gep(motion, [b.add(start, row)]))),
                )
                for row in rows
            ]
            forces = words.edges(
                apart[:3], apart[3:], partial(own_constants, words, shared, columns, k), b.gep(lam, [k])
            )
            for place, add in ((start, b.sub), (end, b.add)):
                for row, part in zip(rows, forces, strict=False):
                    where = b.gep(force, [b.add(place, row)])
                    words.store(add(words.load(where), part), where)
        return context.get_dummy_value()

    return generate


def _runs(shared: bool, rounding: bool) -> Any:
    def typed(
        typing: Any,
        motion: Any,
        force: Any,
        lam: Any,
        active: Any,
        a: Any,
        b: Any,
        c2: Any,
        table: Any,
        counters: Any,
        size: Any,
        base: Any,
        target: Any,
        lane: Any,
        count: Any,
    ) -> Any:
        arrays = (motion, force, lam, active, a, b, c2, table, counters)
        return _types.void(*arrays, *(_types.int64,) * 5), _generator(shared, rounding)

    return intrinsic(typed)


@cache
def add_word_runs(own: bool, rounded: bool) -> Any:
    """Return the compiled function for edges that have constants of their own, or share them, with rounding or without.

    It advances lambda of all edges and adds their forces, + at the end and - at the start, to the sums `force`.
    `motion` (6 size): x, y, z of positions and velocities; `force` (3 size).
    """
    run = _runs(not own, rounded)

    @compiled
    def add_word_runs(runs: Any, motion: Any, force: Any, edges: Any, table: Any, counters: Any) -> None:
        size, e = force.size // 3, edges
        for r in range(runs.shape[0]):
            base, target, lane, count = runs[r, 0], runs[r, 1], runs[r, 2], runs[r, 3]
            run(motion, force, e.lam, e.active, e.A, e.B, e.C2, table, counters, size, base, target, lane, count)

    return add_word_runs


def _points(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    b = builder
    motion, force, minv, table, counters = data_of(context, b, signature, arguments, 5)
    rows, own = arguments[5:]
    words = Words(b, table, counters, True)
    with _tools.for_range_slice(b, whole(0), rows, whole(COUNT), intp=INDEX) as (k, _):
        x = b.gep(motion, [k])
        words.points(x, b.gep(x, [rows]), b.gep(force, [k]), words.load(b.gep(minv, [b.mul(k, own)])))
    return context.get_dummy_value()


def _typed_points(
    typing: Any, motion: Any, force: Any, minv: Any, table: Any, counters: Any, rows: Any, own: Any
) -> Any:
    return _types.void(motion, force, minv, table, counters, _types.int64, _types.int64), _points


move_words: Any = intrinsic(_typed_points)
"""`move_words(motion, force, minv, table, counters, rows, own)`: the mass module for `rows` words of x, v and F.

1/m is word k of `minv` where `own` is 1, and the first 16 words serve all where it is 0. In compiled code only.
"""
