"""Particles' rows as vectors of four: kick and drift."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.particles.lanes import INDEX, LANE, Lanes, whole
from rheotwin.particles.unstructured.transpose import ROW

_tools: Any = cgutils
_types: Any = types


def _kick(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    b = builder
    motion, force, rate = (
        context.make_array(kind)(context, b, argument).data
        for kind, argument in zip(signature.args[:3], arguments[:3], strict=True)
    )
    row = Lanes(b, context.get_data_type(signature.args[0].dtype), ROW)
    kind = row.integers.element
    without_sign = ir.Constant(row.integers, [(1 << (row.bits - 1)) - 1] * ROW)
    largest = _tools.alloca_once_value(b, ir.Constant(row.integers, [0] * ROW))
    with _tools.for_range_slice(b, arguments[3], arguments[4], whole(1), intp=INDEX) as (node, _):
        velocity = b.gep(motion, [b.add(b.mul(node, whole(2 * ROW)), whole(ROW))])
        pull = row.load(b.gep(force, [b.mul(node, whole(ROW))]))
        factor = row.splat(b.load(b.gep(rate, [node])))
        kicked = row.multiply_add(factor, pull, row.load(velocity))
        row.store(kicked, velocity)
        bits = b.and_(b.bitcast(kicked, row.integers), without_sign)
        most = b.load(largest)
        b.store(b.select(b.icmp_signed(">", bits, most), bits, most), largest)
    most, found = b.load(largest), ir.Constant(kind, 0)
    for c in range(ROW):
        part = b.extract_element(most, ir.Constant(LANE, c))
        found = b.select(b.icmp_signed(">", part, found), part, found)
    return found


def _drift(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    b = builder
    motion, step = (
        context.make_array(kind)(context, b, argument).data
        for kind, argument in zip(signature.args[:2], arguments[:2], strict=True)
    )
    row = Lanes(b, context.get_data_type(signature.args[0].dtype), ROW)
    factor = row.splat(b.load(step))
    with _tools.for_range_slice(b, arguments[2], arguments[3], whole(1), intp=INDEX) as (node, _):
        position = b.gep(motion, [b.mul(node, whole(2 * ROW))])
        velocity = row.load(b.gep(position, [whole(ROW)]))
        row.store(row.multiply_add(factor, velocity, row.load(position)), position)
    return context.get_dummy_value()


def _typed_kick(typing: Any, motion: Any, force: Any, rate: Any, first: Any, last: Any) -> Any:
    largest = _types.int64 if motion.dtype.bitwidth == 64 else _types.int32
    return largest(motion, force, rate, _types.int64, _types.int64), _kick


def _typed_drift(typing: Any, motion: Any, step: Any, first: Any, last: Any) -> Any:
    return _types.void(motion, step, _types.int64, _types.int64), _drift


kick_rows: Any = intrinsic(_typed_kick)
"""`kick_rows(motion, force, rate, first, last)`: v += (h/m) F for rows first <= node < last, in compiled code only.

Returns the largest `magnitude` of what the velocities have become.
"""
drift_rows: Any = intrinsic(_typed_drift)
"""`drift_rows(motion, step, first, last)`: x += h v with h = step[0], in compiled code only."""
