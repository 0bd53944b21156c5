"""A whole body stepped by the whole circuit in Amaranth's simulator, to the bit, for every kind of constants."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.parameters import CircuitConstants, Points
from rheotwin.particles.fixed_point.partition import BUBBLE
from rheotwin.particles.fixed_point.timing import Machine, block_rams, blocks, cycles


def in_simulator(rtl: SimpleNamespace) -> Callable[..., Any]:
    return lambda circuit, rows: rtl.bench.simulated(circuit.component, rows)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"edges_differ": True, "held": True, "tem_wmod": True},
        {"sqrt": "cordic", "tem_round": True},
        {"overflow": "saturate", "spacing": 60.0},
        {"spacing": 80.0},
        {"points": Points(14, 24, 4, -2, 1), "tem_wmod": True, "edges_differ": True, "held": True},
    ],
    ids=["plain", "constants in memories", "cordic and rounded", "saturating", "wrapping", "own points in memories"],
)
def test_two_steps_of_a_body_are_those_of_the_model(
    rtl: SimpleNamespace, make_body: Any, assert_same_run: Any, options: dict[str, Any]
) -> None:
    body, constants = make_body(**options)
    run = rtl.run.simulate(body, constants, 2, run=in_simulator(rtl))
    assert_same_run(run, body, constants)


def test_a_step_takes_four_cycles_more_than_predicted(rtl: SimpleNamespace, make_body: Any) -> None:
    body, constants = make_body((3, 2, 2))
    for depth in (50, 90):
        run = rtl.run.simulate(body, constants, 2, depth=depth, run=in_simulator(rtl))
        predicted = cycles(Machine(edge_depth=depth), len(body.position), run.slots)
        assert run.cycles_per_step == predicted + 4  # the spec allows 60


def test_edges_that_collide_are_put_into_another_order(
    rtl: SimpleNamespace, make_body: Any, assert_same_run: Any
) -> None:
    body, constants = make_body((2, 2, 2))  # the smallest grid has starts that come again at once
    assert rtl.run.Circuit(body, constants).order.tolist() != list(range(len(body.start)))
    run = rtl.run.simulate(body, constants, 3, run=in_simulator(rtl))
    assert run.slots > len(body.start)  # some slots stay empty
    assert_same_run(run, body, constants)
    colliding = rtl.run.Circuit(body, constants, order=np.arange(len(body.start)))
    with pytest.raises(RuntimeError, match="its order of edges collides"):
        colliding.outcome(rtl.bench.simulated(colliding.component, colliding.rows(1)), 1)


def test_empty_slots_change_nothing(rtl: SimpleNamespace, make_body: Any, assert_same_run: Any) -> None:
    body, constants = make_body()
    order = np.insert(np.arange(len(body.start)), [0, 7, 7, 50, 90], BUBBLE)
    circuit = rtl.run.Circuit(body, constants, order=order)
    run = circuit.outcome(rtl.bench.simulated(circuit.component, circuit.rows(2)), 2)
    assert run.slots == 95
    assert_same_run(run, body, constants)


def test_bad_requests_are_refused(rtl: SimpleNamespace, make_body: Any) -> None:
    body, constants = make_body((2, 2, 2))
    with pytest.raises(RheotwinError, match="asked for 0 steps; give at least one"):
        rtl.run.simulate(body, constants, 0)
    with pytest.raises(RheotwinError, match="cycles of the circuit; take fewer"):
        rtl.run.simulate(body, constants, 10_000_000)
    with pytest.raises(RheotwinError, match="at least one edge, not 8 and 0"):
        rtl.run.simulate(body._replace(start=body.start[:0], end=body.end[:0]), constants, 1)


@pytest.mark.parametrize(("points", "edges", "printed"), [(27, 90, 18), (1024, 5120, 30)])
def test_every_memory_of_the_timing_model_is_there(
    rtl: SimpleNamespace, papers: CircuitConstants, points: int, edges: int, printed: int
) -> None:
    text = rtl.bench.to_rtlil(rtl.system.System(papers, points, edges))
    sizes = [int(size) for size in re.findall(r" memory width \d+ size (\d+)", text)]
    assert len(sizes) == 18
    assert sum(blocks(size) for size in sizes) == block_rams(points, edges) == printed
