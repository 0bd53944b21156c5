"""One run of tetrahedra in whole vectors: the pressure of `rheotwin.particles.forces.cells`, without indices."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.lanes import INDEX, VECTOR_BYTES, Lanes, Pointers, Response, emit_response, whole
from rheotwin.particles.tet_geometry import emit_dilation

_tools: Any = cgutils
_types: Any = types
CORNERS = 4


def _generator(form: Response) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        motion, weight, inverse_rest, constants, states = (
            context.make_array(kind)(context, builder, argument).data
            for kind, argument in zip(signature.args[:5], arguments[:5], strict=True)
        )
        size, stride, arms, lane, count = arguments[5:10]
        corners = arguments[10:]
        b, kind = builder, signature.args[0].dtype
        lanes = Lanes(b, context.get_data_type(kind), 8 * VECTOR_BYTES // kind.bitwidth)
        column = constants if form.shared else b.gep(constants, [lane])
        rest = b.gep(inverse_rest, [lane])
        place = Pointers(b.gep(weight, [lane]), rest, column, b.gep(states, [lane]), stride, arms)
        response = emit_response(lanes, form, place)

        def rows(vector: int, k: Any) -> list[list[Any]]:
            """Pointers to the three components of a vector at every corner."""
            found = []
            for corner in corners:
                x = b.gep(motion, [b.add(b.add(corner, k), b.mul(size, whole(3 * vector)))])
                y = b.gep(x, [size])
                found.append([x, y, b.gep(y, [size])])
            return found

        def relative(pointers: list[list[Any]]) -> list[list[Any]]:
            """Values at corners 1, 2, 3 less those at corner 0."""
            origin = [lanes.load(pointer) for pointer in pointers[0]]
            return [
                [b.fsub(lanes.load(pointer), zero) for pointer, zero in zip(row, origin, strict=True)]
                for row in pointers[1:]
            ]

        with _tools.for_range_slice(b, whole(0), count, whole(lanes.count), intp=INDEX) as (k, _):
            per_rest = lanes.load(b.gep(rest, [k]))
            dilation, rate, gradients = emit_dilation(lanes, relative(rows(0, k)), relative(rows(1, k)), per_rest)
            pull = response(k, dilation, rate)
            forces = rows(2, k)
            for corner, gradient in zip(forces[1:], gradients, strict=True):
                for pointer, part in zip(corner, gradient, strict=True):
                    lanes.store(lanes.multiply_add(b.fneg(pull), part, lanes.load(pointer)), pointer)
            for pointer, parts in zip(forces[0], zip(*gradients, strict=True), strict=True):
                total = b.fadd(b.fadd(parts[0], parts[1]), parts[2])
                lanes.store(lanes.multiply_add(pull, total, lanes.load(pointer)), pointer)
        return context.get_dummy_value()

    return generate


def _run(form: Response) -> Any:
    def typed(
        typing: Any,
        motion: Any,
        weight: Any,
        inverse_rest: Any,
        constants: Any,
        states: Any,
        size: Any,
        stride: Any,
        arms: Any,
        lane: Any,
        count: Any,
        first: Any,
        second: Any,
        third: Any,
        fourth: Any,
    ) -> Any:
        numbers = (_types.int64,) * 9
        return _types.void(motion, weight, inverse_rest, constants, states, *numbers), _generator(form)

    return intrinsic(typed)


@cache
def add_tet_runs(shared: bool) -> Any:
    """Return the compiled function that adds the forces of tetrahedra whose constants are shared or their own."""
    run = _run(Response(shared, True, None))

    @compiled
    def add_tet_runs(
        runs: Any,
        motion: Any,
        weight: Any,
        inverse_rest: Any,
        constants: Any,
        states: Any,
        size: int,
        stride: int,
        arms: int,
    ) -> None:
        """Advance the arms of all tetrahedra and push their corners; arrays as for `add_runs`, rest is 1/V0."""
        for r in range(runs.shape[0]):
            a, b, c, d = runs[r, 0], runs[r, 1], runs[r, 2], runs[r, 3]
            lane, count = runs[r, 4], runs[r, 5]
            run(motion, weight, inverse_rest, constants, states, size, stride, arms, lane, count, a, b, c, d)

    return add_tet_runs
