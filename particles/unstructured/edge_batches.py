"""Eight edges at once: rows of both ends turned into vectors, one square root for all, sums row by row.

A particle's position and velocity are one row of eight numbers (x, y, z, 0, u, v, w, 0), its force one of four.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.particles.lanes import FORMS, INDEX, Lanes, Pointers, Response, emit_force_factor, whole
from rheotwin.particles.unstructured.transpose import BATCH, ROW, columns

_tools: Any = cgutils
_types: Any = types


def _generator(form: Response) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, force, edges, weight, rest, constants, states = (
            context.make_array(kind)(context, builder, argument).data
            for kind, argument in zip(signature.args[:7], arguments[:7], strict=True)
        )
        stride, arms, first, last, shift = arguments[7:]
        b = builder
        scalar = context.get_data_type(signature.args[0].dtype)
        lanes, row = Lanes(b, scalar, BATCH), Lanes(b, scalar, ROW)
        factor = emit_force_factor(lanes, form, Pointers(weight, rest, constants, states, stride, arms))

        def end(edge: Any, which: int) -> Any:
            """Return the particle at one end."""
            return b.sext(b.load(b.gep(edges, [b.add(b.mul(edge, whole(2)), whole(which))])), INDEX)

        with _tools.for_range_slice(b, first, last, whole(BATCH), intp=INDEX) as (k, _):
            apart, relative, forces = [], [], []
            for n in range(BATCH):
                edge = b.add(k, whole(n))
                start, stop = end(edge, 0), end(edge, 1)
                here, there = (b.gep(rows, [b.mul(node, whole(2 * ROW))]) for node in (start, stop))
                apart.append(b.fsub(row.load(there), row.load(here)))
                here, there = (b.gep(place, [whole(ROW)]) for place in (here, there))
                relative.append(b.fsub(row.load(there), row.load(here)))
                forces.append([b.gep(force, [b.mul(node, whole(ROW))]) for node in (start, b.add(stop, shift))])
            across = columns(lanes, apart)
            pull = factor(k, lanes.dot(across, across), lanes.dot(across, columns(lanes, relative)))
            for n in range(BATCH):
                part = b.fmul(lanes.shuffle(pull, pull, [n] * ROW), apart[n])
                start, stop = forces[n]
                row.store(b.fadd(row.load(start), part), start)
                row.store(b.fsub(row.load(stop), part), stop)
        return context.get_dummy_value()

    return generate


def _batches(form: Response) -> Any:
    def typed(
        typing: Any,
        rows: Any,
        force: Any,
        edges: Any,
        weight: Any,
        rest: Any,
        constants: Any,
        states: Any,
        stride: Any,
        arms: Any,
        first: Any,
        last: Any,
        shift: Any,
    ) -> Any:
        numbers = (_types.int64,) * 5
        return _types.void(rows, force, edges, weight, rest, constants, states, *numbers), _generator(form)

    return intrinsic(typed)


@cache
def batches(form: int) -> Any:
    """Return the compiled function that adds the forces of edges whose response has this form.

    It takes edges first <= e < last, a multiple of eight, of `edges` (M, 2) int32, between `rows` (N, 8), and adds to
    `force` (rows, 4), on their second end `shift` rows further on.
    """
    return _batches(FORMS[form])
