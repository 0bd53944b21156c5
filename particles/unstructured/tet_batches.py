"""Eight tetrahedra at once: the pressure of `rheotwin.particles.forces.cells` on particles in rows."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.lanes import INDEX, Lanes, Pointers, Response, emit_response, whole
from rheotwin.particles.tet_geometry import emit_dilation
from rheotwin.particles.unstructured.transpose import BATCH, ROW, columns, rows_of

_tools: Any = cgutils
_types: Any = types
CORNERS = 4


def _generator(form: Response) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, force, corners, weight, inverse_rest, constants, states = (
            context.make_array(kind)(context, builder, argument).data
            for kind, argument in zip(signature.args[:7], arguments[:7], strict=True)
        )
        stride, arms = arguments[7:]
        b = builder
        scalar = context.get_data_type(signature.args[0].dtype)
        lanes, row = Lanes(b, scalar, BATCH), Lanes(b, scalar, ROW)
        response = emit_response(lanes, form, Pointers(weight, inverse_rest, constants, states, stride, arms))

        def particle(tet: Any, corner: int) -> Any:
            place = b.gep(corners, [b.add(b.mul(tet, whole(CORNERS)), whole(corner))])
            return b.sext(b.load(place), INDEX)

        with _tools.for_range_slice(b, whole(0), stride, whole(BATCH), intp=INDEX) as (k, _):
            nodes = [[particle(b.add(k, whole(n)), corner) for corner in range(CORNERS)] for n in range(BATCH)]

            def relative(offset: int, nodes: Any = nodes) -> list[list[Any]]:
                """Vectors at corners 1, 2, 3 less those at corner 0, each as three vectors of eight components."""
                found: list[list[Any]] = [[], [], []]
                for tet in nodes:
                    places = [b.gep(rows, [b.add(b.mul(node, whole(2 * ROW)), whole(offset))]) for node in tet]
                    origin = row.load(places[0])
                    for corner, place in zip(found, places[1:], strict=True):
                        corner.append(b.fsub(row.load(place), origin))
                return [columns(lanes, corner) for corner in found]

            per_rest = lanes.load(b.gep(inverse_rest, [k]))
            dilation, rate, gradients = emit_dilation(lanes, relative(0), relative(ROW), per_rest)
            pull = response(k, dilation, rate)
            pushes = []
            for gradient in gradients:
                x, y, z = (b.fmul(pull, part) for part in gradient)
                pushes.append(rows_of(lanes, x, y, z))
            for n, tet in enumerate(nodes):
                places = [b.gep(force, [b.mul(node, whole(ROW))]) for node in tet]
                total = b.fadd(b.fadd(pushes[0][n], pushes[1][n]), pushes[2][n])
                row.store(b.fadd(row.load(places[0]), total), places[0])
                for place, push in zip(places[1:], pushes, strict=True):
                    row.store(b.fsub(row.load(place), push[n]), place)
        return context.get_dummy_value()

    return generate


def _batches(form: Response) -> Any:
    def typed(
        typing: Any,
        rows: Any,
        force: Any,
        corners: Any,
        weight: Any,
        inverse_rest: Any,
        constants: Any,
        states: Any,
        stride: Any,
        arms: Any,
    ) -> Any:
        numbers = (_types.int64,) * 2
        return _types.void(rows, force, corners, weight, inverse_rest, constants, states, *numbers), _generator(form)

    return intrinsic(typed)


@cache
def add_tet_batches(shared: bool) -> Any:
    """Return the compiled function that adds the forces of tetrahedra whose constants are shared or their own."""
    add = _batches(Response(shared, True, None))

    @compiled
    def add_tet_batches(
        rows: Any, force: Any, corners: Any, weight: Any, inverse_rest: Any, constants: Any, states: Any, arms: int
    ) -> None:
        """Advance the arms of tetrahedra (lanes, 4), int32, a multiple of eight, and push their corners.

        `rows` (N, 8), `force` (rows, 4); the other arrays are flat, `inverse_rest` is 1/V0.
        """
        add(rows, force, corners, weight, inverse_rest, constants, states, corners.shape[0], arms)

    return add_tet_batches
