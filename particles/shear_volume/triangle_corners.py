"""From nodes to the edges of triangles and back: x and y of a corner are loaded and stored together.

Compilers take number by number here, since corners may be anywhere. `edges` are rows e1x, e1y, e2x, e2y of CHUNK
triangles; J and psi(J) follow them in `shape`: while corners are loaded their division costs nothing.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import INDEX, Lanes, whole
from rheotwin.kernels.vectors import Vector, any_of, numbers_of, slots, store
from rheotwin.particles.shear_volume.inversion import inverse_ratio
from rheotwin.particles.shear_volume.lanes import CHUNK

_tools: Any = cgutils
_types: Any = types

BATCH, PAIR, LANES = 4, 2, 8
"""Triangles at once between memory and rows; numbers of a corner; triangles at once in rows."""
NODE, CORNERS = 3, 3
"""Numbers of a node, corners of a triangle."""
EDGES, SHAPE = 4, 6
"""Rows of edges and of shapes."""
_EVEN, _ODD = (0, 4, 2, 6), (1, 5, 3, 7)
"""Where x and where y of the triangles 0 to 3 are in the pairs of 0, 2 and of 1, 3; the other way round as well."""


class _Corners:
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


def _data(context: Any, builder: Any, signature: Any, arguments: Any, which: tuple[int, ...]) -> list[Any]:
    return [context.make_array(signature.args[n])(context, builder, arguments[n]).data for n in which]


def _row(builder: Any, values: Any, row: int, k: Any) -> Any:
    return builder.gep(values, [builder.add(k, whole(row * CHUNK))])


def _ratio_and_inverse(scale: Any, ax: Any, ay: Any, bx: Any, by: Any) -> Any:
    """Return J and psi(J)."""
    ratio = scale * (ax * by - ay * bx)
    return ratio, inverse_ratio(ratio)[0]


def _gather(context: Any, builder: Any, signature: Any, arguments: Any, shaped: bool) -> Any:
    b, scalar = builder, context.get_data_type(signature.args[2].dtype)
    corners, x, rows = _data(context, b, signature, arguments, (0, 2, 3))
    with _tools.for_range_slice(b, whole(0), whole(CHUNK), whole(BATCH), intp=INDEX) as (k, _):
        four = _Corners(b, scalar, corners, b.add(arguments[1], k))
        origin, found = four.read(x, 0), []
        for corner in (1, 2):
            apart = [b.fsub(end, start) for end, start in zip(four.read(x, corner), origin, strict=True)]
            found += four.woven(*apart)
        if shaped:
            constants = _data(context, b, signature, arguments, (4,))[0]
            scale = four.lanes.load(_row(b, constants, 0, k))
            typed = Vector(signature.args[2].dtype, BATCH)
            both = context.compile_internal(
                b, _ratio_and_inverse, _types.UniTuple(typed, 2)(*(typed,) * 5), (scale, *found)
            )
            found += _tools.unpack_tuple(b, both, 2)
        for row, value in enumerate(found):
            four.lanes.store(value, _row(b, rows, row, k))
    return context.get_dummy_value()


def _gathered_edges(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _gather(context, builder, signature, arguments, shaped=False)


def _gathered_shapes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _gather(context, builder, signature, arguments, shaped=True)


def _scattered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    b, scalar = builder, context.get_data_type(signature.args[2].dtype)
    corners, pulls, force = _data(context, b, signature, arguments, (0, 2, 3))
    with _tools.for_range_slice(b, whole(0), whole(CHUNK), whole(BATCH), intp=INDEX) as (k, _):
        four = _Corners(b, scalar, corners, b.add(arguments[1], k))
        rows = [four.lanes.load(_row(b, pulls, row, k)) for row in range(EDGES)]
        first, second = four.woven(*rows[:2]), four.woven(*rows[2:])
        both = [b.fadd(one, other) for one, other in zip(first, second, strict=True)]
        for triangle in range(BATCH):
            four.add(force, triangle, 1, first, "fadd")
            four.add(force, triangle, 2, second, "fadd")
            four.add(force, triangle, 0, both, "fsub")
    return context.get_dummy_value()


def _typed_edges(typing: Any, corners: Any, first: Any, values: Any, edges: Any) -> Any:
    return _types.void(corners, _types.int64, values, edges), _gathered_edges


def _typed_shapes(typing: Any, corners: Any, first: Any, x: Any, shape: Any, constants: Any) -> Any:
    return _types.void(corners, _types.int64, x, shape, constants), _gathered_shapes


def _typed_scatter(typing: Any, corners: Any, first: Any, pulls: Any, force: Any) -> Any:
    return _types.void(corners, _types.int64, pulls, force), _scattered


gather_edges: Any = intrinsic(_typed_edges)
"""`gather_edges(corners, first, values, edges)`: differences of values (N, 3) along edges, in compiled code only."""
gather_shapes: Any = intrinsic(_typed_shapes)
"""`gather_shapes(corners, first, x, shape, constants)`: edges, J and psi; 1/(2 S0) is the first row of constants."""
scatter_pulls: Any = intrinsic(_typed_scatter)
"""`scatter_pulls(corners, first, pulls, force)`: add the forces on corners 1 and 2; corner 0 takes the reaction."""


def pulls_in_vectors(pulls: Any, constants: int) -> tuple[Any, Any]:
    """Compile the formula `pulls(shape, constants, tension, limit)` for a chunk, with tensions of arms and without any.

    `constants` are the rows of them. Both are called with arrays, the limit and the forces on two corners; they tell
    whether the formula's condition holds for some triangle.
    """
    shape_at, constants_at, tension_at = numbers_of(SHAPE), numbers_of(constants), numbers_of(EDGES)
    slot = slots(LANES)

    @compiled(inside=True, vectors=True)
    def with_tensions(shape: Any, rows: Any, tension: Any, limit: float, pulled: Any) -> bool:
        found, e, c, t = (
            False,
            shape.reshape(SHAPE, CHUNK),
            rows.reshape(constants, CHUNK),
            tension.reshape(EDGES, CHUNK),
        )
        result = pulled.reshape(EDGES, CHUNK)
        for k in range(0, CHUNK, LANES):
            at = slot(k)
            forces, severe = pulls(shape_at(e, at), constants_at(c, at), tension_at(t, at), limit)
            store(result, 0, at, forces[0])
            store(result, 1, at, forces[1])
            store(result, 2, at, forces[2])
            store(result, 3, at, forces[3])
            found |= any_of(severe)
        return found

    @compiled(inside=True, vectors=True)
    def by_springs(shape: Any, rows: Any, limit: float, pulled: Any) -> bool:
        found, e, c = False, shape.reshape(SHAPE, CHUNK), rows.reshape(constants, CHUNK)
        result = pulled.reshape(EDGES, CHUNK)
        for k in range(0, CHUNK, LANES):
            at = slot(k)
            forces, severe = pulls(shape_at(e, at), constants_at(c, at), (0.0, 0.0, 0.0, 0.0), limit)
            store(result, 0, at, forces[0])
            store(result, 1, at, forces[1])
            store(result, 2, at, forces[2])
            store(result, 3, at, forces[3])
            found |= any_of(severe)
        return found

    return with_tensions, by_springs
