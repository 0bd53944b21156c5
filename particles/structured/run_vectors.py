"""One run of edges in whole vectors: loads of both ends, the edges' response, sums into both ends' forces."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.lanes import (
    FORMS,
    INDEX,
    VECTOR_BYTES,
    Lanes,
    Pointers,
    Response,
    emit_force_factor,
    fetch_elements,
    whole,
)

_tools: Any = cgutils
_types: Any = types
VECTORS = 3
"""Positions, velocities, forces: three rows of numbers each."""


def emit_run(
    lanes: Lanes,
    motion: Any,
    size: Any,
    base: Any,
    target: Any,
    count: Any,
    factor: Callable[[Any, Any, Any], Any],
    fetch: Callable[[Any], None] = lambda k: None,
) -> None:
    """Emit the loop over a run of edges from `base` + k to `target` + k, k < `count`; `factor` emits f/l [N/m].

    `fetch` emits what asks memory for the edges that follow: beside some twenty arrays that are read, the machine's own
    guess of what comes next leaves a body larger than the cache waiting a third of its time.
    """
    b = lanes.builder

    def firsts(start: Any) -> list[Any]:
        rows = [b.mul(size, whole(3 * vector)) for vector in range(VECTORS)]
        return [b.gep(motion, [b.add(start, row)]) for row in rows]

    def components(pointers: list[Any], k: Any) -> list[list[Any]]:
        """Pointers to the three components of positions, velocities and forces at offset k."""
        found = []
        for pointer in pointers:
            x = b.gep(pointer, [k])
            y = b.gep(x, [size])
            found.append([x, y, b.gep(y, [size])])
        return found

    starts, ends = firsts(base), firsts(target)
    step = whole(lanes.count)
    with _tools.for_range_slice(b, whole(0), count, step, intp=INDEX) as (k, _):
        fetch(k)
        start, end = components(starts, k), components(ends, k)
        apart, relative = (
            [b.fsub(lanes.load(there), lanes.load(here)) for here, there in zip(start[v], end[v], strict=True)]
            for v in range(2)
        )
        pull = factor(k, lanes.dot(apart, apart), lanes.dot(apart, relative))
        for places, share in ((start[2], pull), (end[2], b.fneg(pull))):
            for place_of, part in zip(places, apart, strict=True):
                lanes.store(lanes.multiply_add(share, part, lanes.load(place_of)), place_of)


def _generator(form: Response) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        motion, weight, rest, constants, states = (
            context.make_array(kind)(context, builder, argument).data
            for kind, argument in zip(signature.args[:5], arguments[:5], strict=True)
        )
        size, stride, arms, base, target, lane, count = arguments[5:]
        b, kind = builder, signature.args[0].dtype
        lanes = Lanes(b, context.get_data_type(kind), 8 * VECTOR_BYTES // kind.bitwidth)
        column = constants if form.shared else b.gep(constants, [lane])
        place = Pointers(b.gep(weight, [lane]), b.gep(rest, [lane]), column, b.gep(states, [lane]), stride, arms)
        factor = emit_force_factor(lanes, form, place)
        emit_run(lanes, motion, size, base, target, count, factor, lambda k: fetch_elements(lanes, form, place, k))
        return context.get_dummy_value()

    return generate


def _run(form: Response) -> Any:
    def typed(
        typing: Any,
        motion: Any,
        weight: Any,
        rest: Any,
        constants: Any,
        states: Any,
        size: Any,
        stride: Any,
        arms: Any,
        base: Any,
        target: Any,
        lane: Any,
        count: Any,
    ) -> Any:
        numbers = (_types.int64,) * 7
        return _types.void(motion, weight, rest, constants, states, *numbers), _generator(form)

    return intrinsic(typed)


@cache
def add_runs(form: int) -> Any:
    """Return the compiled function that adds the forces of edges whose response has this form."""
    run = _run(FORMS[form])

    @compiled
    def add_runs(
        runs: Any,
        motion: Any,
        weight: Any,
        rest: Any,
        constants: Any,
        states: Any,
        size: int,
        stride: int,
        arms: int,
    ) -> None:
        """Advance the arms of all edges and add their forces to both ends; all arrays are flat and of one precision.

        `motion` holds x, y, z of positions, velocities and forces, nine rows of `size`; lanes are in rows of `stride`.
        """
        for r in range(runs.shape[0]):
            base, target, lane, count = runs[r, 0], runs[r, 1], runs[r, 2], runs[r, 3]
            run(motion, weight, rest, constants, states, size, stride, arms, base, target, lane, count)

    return add_runs
