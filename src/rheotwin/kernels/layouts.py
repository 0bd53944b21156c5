"""Elements between particles, however these lie in memory: formulas name corners, layouts know where they are.

An element is a compiled function of positions, velocities and forces, of the places of its corners and of its own
numbers, `element(x, v, force, corners, at, numbers, constants, states, h)`. It takes vectors from corner to corner by
`apart(x, a, b)` and gives forces to corners by `add(force, a, f)` and `subtract(force, a, f)`. One loop for each layout
calls it, and the types of the places choose how memory is read; an element may take anything in place of the step h:

- `one_by_one`: one element after the other, by the numbers of its corners; x, v, force (N, 3) in any strides;
- `in_runs`: `lanes` elements at once whose corners lie one after the other (see `rheotwin.particles.boxes`), without
  indices; x, v, force (3, size);
- `in_batches`: eight or sixteen elements at once, corners anywhere; x, v, force (N, 4), rows of four numbers.

Runs and batches are filled up with elements of no stiffness, which must give no force wherever their corners are.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import Lanes, whole
from rheotwin.kernels.vectors import Slot, Vector, fetch, slots
from rheotwin.same_bits import CONTRACT

_types: Any = types
_tools: Any = cgutils
BATCH = 8
"""Elements at once whose corners lie anywhere."""
ROW = 4
"""Numbers in the row of a particle in batches, the last one unused."""
COMPONENTS = 3


def _vector_at(typing: Any, array: Any, place: Any) -> Any:
    """Return the type of a component at a place."""
    if isinstance(place, Slot):
        return Vector(array.dtype, place.count)
    return Vector(array.dtype, place.count) if isinstance(place, _types.UniTuple) else array.dtype


class _Memory:
    """Emits reads and writes of three components at a place, in whichever layout its type says."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self.context, self.builder, self.kind = context, builder, kind
        opened = context.make_array(kind)(context, builder, array)
        self.data = opened.data
        self.strides = list(_tools.unpack_tuple(builder, opened.strides, 2))
        self.scalar = context.get_data_type(kind.dtype)
        if kind.layout == "C":
            self.strides[1] = whole(kind.dtype.bitwidth // 8)

    def _pointer(self, row: Any, column: Any) -> Any:
        b = self.builder
        return _tools.pointer_add(b, self.data, b.add(b.mul(row, self.strides[0]), b.mul(column, self.strides[1])))

    def places(self, place: Any, kind: Any) -> list[Any]:
        """Return pointers: to three components, or to the rows of a batch of particles."""
        if isinstance(kind, Slot):
            return [self._pointer(whole(c), place) for c in range(COMPONENTS)]
        if isinstance(kind, _types.UniTuple):
            numbers = _tools.unpack_tuple(self.builder, place, kind.count)
            apart = ROW if self.kind.layout == "C" else 2 * ROW
            return [self.builder.gep(self.data, [self.builder.mul(n, whole(apart))]) for n in numbers]
        number = self.context.cast(self.builder, place, kind, _types.int64)
        return [self._pointer(number, whole(c)) for c in range(COMPONENTS)]

    def minus(self, a: Any, b: Any) -> Any:
        """Return a - b of numbers or whole numbers."""
        whole = isinstance(self.scalar, ir.IntType)
        return self.builder.sub(a, b) if whole else self.builder.fsub(a, b)

    def change(self, sign: str) -> Any:
        """Return what adds ("add") or subtracts ("sub") two values; products of numbers may be fused into it."""
        if isinstance(self.scalar, ir.IntType):
            return getattr(self.builder, sign)
        return partial(getattr(self.builder, f"f{sign}"), flags=CONTRACT)

    def row(self) -> Lanes:
        """Return the emitter for one particle's row."""
        return Lanes(self.builder, self.scalar, ROW)

    def lanes(self, kind: Any) -> Lanes:
        """Return the emitter for a component at a place of this type."""
        return Lanes(self.builder, self.scalar, kind.count)

    def columns(self, rows: list[Any]) -> list[Any]:
        """Turn rows x y z 0 of a batch into three vectors."""
        eight = Lanes(self.builder, self.scalar, BATCH)
        found = [eight.columns(rows[k : k + BATCH]) for k in range(0, len(rows), BATCH)]
        if len(found) == 1:
            return found[0]
        first, second = found
        return [eight.shuffle(one, other, range(2 * BATCH)) for one, other in zip(first, second, strict=True)]

    def rows_of(self, values: list[Any], count: int) -> list[Any]:
        """Turn three vectors into the rows of a batch."""
        eight, rows = Lanes(self.builder, self.scalar, BATCH), []
        for k in range(0, count, BATCH):
            part = values if count == BATCH else [eight.shuffle(v, v, range(k, k + BATCH)) for v in values]
            rows += eight.rows_of(*part)
        return rows


def _apart(typing: Any, x: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        memory, kind = _Memory(context, builder, x, arguments[0]), signature.args[1]
        here, there = (memory.places(place, kind) for place in arguments[1:])
        if isinstance(kind, _types.UniTuple):
            row = memory.row()
            rows = [memory.minus(row.load(q), row.load(p)) for p, q in zip(here, there, strict=True)]
            found = memory.columns(rows)
        else:
            load = memory.lanes(kind).load if isinstance(kind, Slot) else builder.load
            found = [memory.minus(load(q), load(p)) for p, q in zip(here, there, strict=True)]
        return context.make_tuple(builder, signature.return_type, found)

    return _types.UniTuple(_vector_at(typing, x, a), COMPONENTS)(x, a, b), generate


def _change(sign: str) -> Any:
    def change(typing: Any, force: Any, a: Any, f: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            memory, kind = _Memory(context, builder, force, arguments[0]), signature.args[1]
            given = [
                context.cast(builder, value, typed, _vector_at(typing, force, a))
                for value, typed in zip(
                    _tools.unpack_tuple(builder, arguments[2], COMPONENTS), signature.args[2].types, strict=True
                )
            ]
            together = memory.change(sign)
            if isinstance(kind, _types.UniTuple):
                row, given = memory.row(), memory.rows_of(given, kind.count)
                load, store = row.load, row.store
            elif isinstance(kind, Slot):
                lanes = memory.lanes(kind)
                load, store = lanes.load, lanes.store
            else:
                load, store = builder.load, builder.store
            for pointer, value in zip(memory.places(arguments[1], kind), given, strict=True):
                store(together(load(pointer), value), pointer)
            return context.get_dummy_value()

        return _types.void(force, a, f), generate

    return intrinsic(change)


apart: Any = intrinsic(_apart)
"""`apart(x, a, b)`: the three components of x_b - x_a."""
add: Any = _change("add")
"""`add(force, a, f)`: add three components to those of a."""
subtract: Any = _change("sub")
"""`subtract(force, a, f)`: take three components from those of a."""


def _exchange(typing: Any, force: Any, a: Any, b: Any, f: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        memory, kind = _Memory(context, builder, force, arguments[0]), signature.args[1]
        given = _tools.unpack_tuple(builder, arguments[3], COMPONENTS)
        if isinstance(kind, _types.UniTuple):
            row, given = memory.row(), memory.rows_of(given, kind.count)
            load, store = row.load, row.store
        elif isinstance(kind, Slot):
            lanes = memory.lanes(kind)
            load, store = lanes.load, lanes.store
        else:
            load, store = builder.load, builder.store
        places = [memory.places(place, kind) for place in arguments[1:3]]
        for here, there, value in zip(*places, given, strict=True):
            store(memory.change("add")(load(here), value), here)
            store(memory.change("sub")(load(there), value), there)
        return context.get_dummy_value()

    return _types.void(force, a, b, f), generate


exchange: Any = intrinsic(_exchange)
"""`exchange(force, a, b, f)`: add three components to those of a and take them from those of b."""


@cache
def _corners_of(count: int) -> Any:
    """Return `corners(table, element)`: the numbers in a row of a table."""

    def corners(typing: Any, table: Any, element: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _row_of(context, builder, table, arguments[0], arguments[1])
            found = [_whole(builder, builder.load(builder.gep(place, [whole(c)]))) for c in range(count)]
            return context.make_tuple(builder, signature.return_type, found)

        return _types.UniTuple(_types.int64, count)(table, _types.int64), generate

    return intrinsic(corners)


@cache
def _corners_of_batch(count: int, lanes: int) -> Any:
    """Return `corners(table, first)`: for each corner, its numbers in so many rows of a table."""
    batch = _types.UniTuple(_types.int64, lanes)

    def corners(typing: Any, table: Any, first: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _row_of(context, builder, table, arguments[0], arguments[1])
            found = []
            for c in range(count):
                numbers = [builder.load(builder.gep(place, [whole(n * count + c)])) for n in range(lanes)]
                found.append(context.make_tuple(builder, batch, [_whole(builder, number) for number in numbers]))
            return context.make_tuple(builder, signature.return_type, found)

        return _types.UniTuple(batch, count)(table, _types.int64), generate

    return intrinsic(corners)


def _row_of(context: Any, builder: Any, kind: Any, table: Any, row: Any) -> Any:
    opened = context.make_array(kind)(context, builder, table)
    columns = _tools.unpack_tuple(builder, opened.shape, 2)[1]
    return builder.gep(opened.data, [builder.mul(row, columns)])


def _whole(builder: Any, number: Any) -> Any:
    return number if number.type.width == 64 else builder.sext(number, ir.IntType(64))


@cache
def kept_constants(count: int) -> Any:
    """Return `kept(constants)`: the same numbers where nothing else writes, so that they stay in registers."""

    def kept(typing: Any, constants: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            opened = context.make_array(constants)(context, builder, arguments[0])
            scalar = context.get_data_type(constants.dtype)
            room = _tools.alloca_once(builder, scalar, size=count)
            for n in range(count):
                builder.store(builder.load(builder.gep(opened.data, [whole(n)])), builder.gep(room, [whole(n)]))
            found = context.make_array(constants)(context, builder, arguments[0])
            found.data = room
            return found._getvalue()

        return constants(constants), generate

    return intrinsic(kept)


@cache
def one_by_one(element: Any, corners: int) -> Any:
    """Return the compiled loop over elements with `corners` (M, corners)."""
    corners_of = _corners_of(corners)

    @compiled(vectors=True)
    def add_one_by_one(
        table: Any, x: Any, v: Any, force: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:
        """Advance states (rows, M) by h [s] and add the forces of all elements, each with numbers (rows, M)."""
        for e in range(table.shape[0]):
            element(x, v, force, corners_of(table, e), e, numbers, constants, states, h)

    return add_one_by_one


@cache
def in_batches(element: Any, corners: int, shared: int = 0, lanes: int = BATCH) -> Any:
    """Return the compiled loop over elements with `corners` (M, corners) int32, eight or sixteen at a time."""
    corners_of, slot, kept = _corners_of_batch(corners, lanes), slots(lanes), kept_constants(shared)

    @compiled(vectors=True)
    def add_in_batches(
        table: Any, x: Any, v: Any, force: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:
        """Advance states (rows, lanes) by h [s] and add the forces of all elements."""
        own = kept(constants) if shared else constants
        for k in range(0, table.shape[0], lanes):
            element(x, v, force, corners_of(table, k), slot(k), numbers, own, states, h)

    return add_in_batches


@cache
def in_runs(element: Any, corners: int, lanes: int, shared: int = 0, fetched: tuple[int, int, int] = (0, 0, 0)) -> Any:
    """Return the compiled loop over runs (R, corners + 2): first place of every corner, first lane, number of lanes.

    It asks memory in time for the first rows of numbers, constants and states, as many as are `fetched`: beside some
    twenty arrays that are read, the machine's own guess of what comes next leaves a body larger than the cache waiting.
    """
    corners_of, slot, slots_of = _corners_of(corners), slots(lanes), _slots_from(corners, lanes)
    kept, (of_numbers, of_constants, of_states) = kept_constants(shared), fetched

    @compiled(vectors=True)
    def add_in_runs(
        runs: Any, x: Any, v: Any, force: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:  # fmt: skip
        """Advance states (rows, lanes) by h [s] and add the forces of all elements."""
        own = kept(constants) if shared else constants
        for r in range(runs.shape[0]):
            first, lane = corners_of(runs, r), runs[r, corners]
            for k in range(0, runs[r, corners + 1], lanes):
                for row in range(of_numbers):
                    fetch(numbers, row, slot(lane + k))
                for row in range(of_constants):
                    fetch(constants, row, slot(lane + k))
                for row in range(of_states):
                    fetch(states, row, slot(lane + k))
                element(x, v, force, slots_of(first, k), slot(lane + k), numbers, own, states, h)

    return add_in_runs


@cache
def _slots_from(count: int, lanes: int) -> Any:
    """Return `slots_of(first, k)`: the places from each of `first` + k on."""

    def slots_of(typing: Any, first: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            starts = _tools.unpack_tuple(builder, arguments[0], count)
            return context.make_tuple(
                builder, signature.return_type, [builder.add(start, arguments[1]) for start in starts]
            )

        return _types.UniTuple(Slot(lanes), count)(first, _types.int64), generate

    return intrinsic(slots_of)
