"""The gradient of a volume from its surface, a vector of four numbers per particle at a time."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.lanes import INDEX, Lanes, whole

_tools: Any = cgutils
_types: Any = types
ROW = 4
"""Numbers in a row: x, y, z and one unused."""


def _emit_cross(row: Lanes, a: Any, b: Any) -> Any:
    """Return a x b of two rows: (a b' - a' b)', the dash turning x, y, z to y, z, x."""

    def turned(value: Any) -> Any:
        return row.shuffle(value, value, [1, 2, 0, 3])

    product = row.builder.fneg(row.builder.fmul(turned(a), b))
    return turned(row.multiply_add(a, turned(b), product))


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    b = builder
    faces, weight, place, gradient = (
        context.make_array(kind)(context, b, argument).data
        for kind, argument in zip(signature.args[:4], arguments[:4], strict=True)
    )
    row = Lanes(b, context.get_data_type(signature.args[1].dtype), ROW)
    with _tools.for_range_slice(b, arguments[4], arguments[5], whole(1), intp=INDEX) as (face, _):
        first = b.gep(faces, [b.mul(face, whole(3))])
        starts = [b.mul(b.load(b.gep(first, [whole(corner)])), whole(ROW)) for corner in range(3)]
        origin, *others = (row.load(b.gep(place, [start])) for start in starts)
        area = _emit_cross(row, *(b.fsub(other, origin) for other in others))
        third = b.fmul(b.fmul(row.splat(b.load(b.gep(weight, [face]))), row.constant(1.0 / 6.0)), area)
        for start in starts:
            there = b.gep(gradient, [start])
            row.store(b.fadd(row.load(there), third), there)
    return context.get_dummy_value()


def _typed(typing: Any, faces: Any, weight: Any, place: Any, gradient: Any, first: Any, last: Any) -> Any:
    return _types.void(faces, weight, place, gradient, _types.int64, _types.int64), _generate


add_triangle_gradients: Any = intrinsic(_typed)
"""`add_triangle_gradients(faces, weight, place, gradient, first, last)`: a third of their area vectors, times their
weights, to the rows (n, 4) of `gradient` of the corners of faces (F, 3) first <= face < last; in compiled code only."""
