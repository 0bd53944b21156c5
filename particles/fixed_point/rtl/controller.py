"""The sequence of a step: all edges (EDGE), all points (MASS), and between runs the host's memory access (TRANSFER).

An edge goes in each cycle; its results come back `edge_depth` cycles later, while others go in. A step takes
n_e + edge_depth + 3 cycles for the edges and n_m + point_depth + 1 for the points.
"""

from __future__ import annotations

from enum import Enum

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out

EDGE_WAIT = 3
"""Cycles an edge spends outside the truss element module: reading its ends, their state, adding and writing back."""
POINT_WAIT = 1
"""Cycles a point spends reading; writing shares the cycle in which it leaves."""


class Mode(Enum):
    """Who the memories work for."""

    TRANSFER = 0
    EDGE = 1
    MASS = 2


class Controller(Component):
    """Counts addresses, steps and cycles.

    `going` marks a cycle in which edge or point `address` goes in, `coming` one in which `back` is `depth` cycles old.
    `last_edge` and `last_point` are the highest addresses. `step` and `cycle` count from the start of the run.
    """

    def __init__(self, words: int, edge_depth: int, point_depth: int) -> None:
        self._depths = edge_depth, point_depth
        address = range(words)
        super().__init__(
            {
                "start": In(1),
                "steps": In(32),
                "last_edge": In(address),
                "last_point": In(address),
                "mode": Out(Mode),
                "address": Out(address),
                "going": Out(1),
                "back": Out(address),
                "coming": Out(1),
                "step": Out(32),
                "cycle": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module = Module()
        edge_depth, point_depth = self._depths
        edges, wait = Signal(), Signal(range(max(edge_depth, point_depth) + 1))
        last, depth = Signal.like(self.address), Signal.like(wait)
        drain = Signal(range(EDGE_WAIT + 1))
        module.d.comb += edges.eq(self.mode == Mode.EDGE)
        with module.If(edges):
            module.d.comb += [last.eq(self.last_edge), depth.eq(edge_depth)]
        with module.Else():
            module.d.comb += [last.eq(self.last_point), depth.eq(point_depth)]

        waits = self.mode == Mode.TRANSFER
        with module.If(waits & self.start):
            module.d.sync += [self.step.eq(0), self.cycle.eq(0)]
            with module.If(self.steps != 0):
                module.d.sync += [self.mode.eq(Mode.EDGE), self.going.eq(1)]
        with module.Elif(~waits):
            module.d.sync += self.cycle.eq(self.cycle + 1)
            with module.If(self.going):
                with module.If(self.address == last):
                    module.d.sync += [self.going.eq(0), self.address.eq(0)]
                with module.Else():
                    module.d.sync += self.address.eq(self.address + 1)
            with module.If(~self.coming & (drain == 0)):
                module.d.sync += wait.eq(wait + 1)
                with module.If(wait + 1 == depth):
                    module.d.sync += [self.coming.eq(1), wait.eq(0)]
            with module.If(self.coming):
                with module.If(self.back == last):
                    module.d.sync += [self.coming.eq(0), self.back.eq(0)]
                    module.d.sync += drain.eq(EDGE_WAIT)
                    with module.If(~edges):
                        module.d.sync += drain.eq(POINT_WAIT)
                with module.Else():
                    module.d.sync += self.back.eq(self.back + 1)
            with module.If(drain != 0):
                module.d.sync += drain.eq(drain - 1)
            with module.If(drain == 1):
                with module.If(edges):
                    module.d.sync += [self.mode.eq(Mode.MASS), self.going.eq(1)]
                with module.Else():
                    module.d.sync += self.step.eq(self.step + 1)
                    with module.If(self.step + 1 == self.steps):
                        module.d.sync += self.mode.eq(Mode.TRANSFER)
                    with module.Else():
                        module.d.sync += [self.mode.eq(Mode.EDGE), self.going.eq(1)]
        return module
