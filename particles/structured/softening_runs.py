"""Runs of edges whose dashpot softens, in whole vectors."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.lanes import VECTOR_BYTES, Lanes, whole
from rheotwin.particles.softening_lanes import LAW_COLUMNS, SofteningLanes, emit_softening
from rheotwin.particles.structured.run_vectors import emit_run

_tools: Any = cgutils
_types: Any = types


def _generator(bounded: bool) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        motion, laws, edges, states = (
            context.make_array(kind)(context, builder, argument).data
            for kind, argument in zip(signature.args[:4], arguments[:4], strict=True)
        )
        size, stride, place, law, base, target, lane, count, first = arguments[4:]
        b, kind = builder, signature.args[0].dtype
        lanes = Lanes(b, context.get_data_type(kind), 8 * VECTOR_BYTES // kind.bitwidth)
        column = b.gep(laws, [b.mul(law, whole(LAW_COLUMNS))])
        state = b.gep(states, [b.add(first, lane)])
        factor = emit_softening(lanes, column, b.gep(edges, [lane]), state, (stride, place), bounded=bounded)
        emit_run(lanes, motion, size, base, target, count, factor)
        return context.get_dummy_value()

    return generate


def _run(bounded: bool) -> Any:
    def typed(
        typing: Any,
        motion: Any,
        laws: Any,
        edges: Any,
        states: Any,
        size: Any,
        stride: Any,
        state_stride: Any,
        law: Any,
        base: Any,
        target: Any,
        lane: Any,
        count: Any,
        first: Any,
    ) -> Any:
        return _types.void(motion, laws, edges, states, *(_types.int64,) * 9), _generator(bounded)

    return intrinsic(typed)


_free_run, _bounded_run = _run(False), _run(True)


@compiled
def add_softening_runs(softening: SofteningLanes, runs: Any, motion: Any, size: int, states: Any, first: int) -> None:
    """Advance the Voigt parts of all edges and add their forces to both ends.

    `runs` (R, 5): first places of both ends, first lane, number of lanes, law. `motion` is that of `add_runs`;
    `states` (2, n) holds the lanes from column `first` on.
    """
    laws, edges = softening.laws, softening.edges
    stride, state_stride = states.shape[1] - first, states.shape[1]
    for r in range(runs.shape[0]):
        base, target, lane, count, law = runs[r, 0], runs[r, 1], runs[r, 2], runs[r, 3], runs[r, 4]
        if softening.bounded[law]:
            _bounded_run(motion, laws, edges, states, size, stride, state_stride, law, base, target, lane, count, first)
        else:
            _free_run(motion, laws, edges, states, size, stride, state_stride, law, base, target, lane, count, first)
