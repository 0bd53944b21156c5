"""The whole circuit: RAM set, truss element module, mass module, sums of forces, controller, host access.

EDGE mode: index RAMs give the ends, the point RAMs their state, the truss element module forces and lambda; the index
RAMs are read again through their second ports when the edge comes out. MASS mode: all RAMs over points are read through
port A, positions and velocities written through port B, sums cleared. TRANSFER mode: port B belongs to the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from amaranth.hdl import Const, Module, Signal, Value, signed, unsigned
from amaranth.lib.wiring import Component, In, Out

from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.rtl import mpm, tem
from rheotwin.particles.fixed_point.rtl.accumulator import Accumulator, Ram, sum_bits
from rheotwin.particles.fixed_point.rtl.controller import Controller, Mode
from rheotwin.particles.fixed_point.timing import depth_of

INDEX_BITS = 16
BUBBLE_BIT = 15
"""Of a start index: no edge in this slot."""
POINT_VECTORS = ("position", "velocity", "force", "sum_start", "sum_end")
EDGE_NUMBERS = ("start", "end", "lam")
OPERATORS = (*tem.OPERATORS, *mpm.OPERATORS)


def host_map(constants: CircuitConstants | None = None) -> dict[str, int]:
    """Return the host's code of each memory (of lane 0 for vectors, the others follow) and constant; C2 may be K.

    The words and constants that chains have beside these follow.
    """
    vectors = {name: 3 * number for number, name in enumerate((*POINT_VECTORS, "Minv"))}
    names = [*EDGE_NUMBERS, "A", "B", "C2", "H", "C"]
    if constants is not None and constants.chain is not None:
        names += [*tem.memories_of(constants)[1:], *(name for name in constants.chain.named if name != "C")]
    return {**vectors, **{name: 18 + number for number, name in enumerate(names)}}


class System(Component):
    """A body of at most `points` points and `edges` edges.

    Where the constants A, B, C2 differ between edges, or 1/m between points, they have memories like lambda and the
    forces; otherwise registers, written under any address. `busy` is high while it runs; `select`, `address` and
    `write` of the host act when it is low, `read` answers one cycle later.
    """

    def __init__(
        self,
        constants: CircuitConstants,
        points: int,
        edges: int,
        *,
        depth: int | None = None,
    ) -> None:
        self._constants, self._points, self._edges = constants, points, edges
        self._depth = depth_of(constants) if depth is None else depth
        self._edges_differ = any(np.ndim(one.raw) > 0 for one in constants.of_edge)
        self._points_differ = np.ndim(constants.Minv.raw) > 0
        words = max(points, edges)
        width = max(constants.form.word, INDEX_BITS)
        super().__init__(
            {
                "start": In(1),
                "steps": In(32),
                "last_edge": In(range(words)),
                "last_point": In(range(words)),
                "select": In(range(len(host_map(constants)) + 12)),
                "address": In(range(words)),
                "write": In(1),
                "written": In(signed(width)),
                "read": Out(signed(max(width, sum_bits(constants)))),
                "busy": Out(1),
                "step": Out(32),
                "cycle": Out(32),
                "overflow": Out(len(OPERATORS)),
                "hazard": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module = Module()
        constants, word = self._constants, signed(self._constants.form.word)
        module.submodules.controller = control = Controller(max(self._points, self._edges), self._depth, mpm.DEPTH)
        module.submodules.tem = edge = tem.Tem(constants, depth=self._depth, edges_differ=self._edges_differ)
        module.submodules.mpm = point = mpm.Mpm(constants)
        in_edges, in_points, in_transfer = (control.mode == mode for mode in (Mode.EDGE, Mode.MASS, Mode.TRANSFER))
        start_run = Signal()
        module.d.comb += [
            start_run.eq(self.start & in_transfer),
            control.start.eq(self.start),
            control.steps.eq(self.steps),
            control.last_edge.eq(self.last_edge),
            control.last_point.eq(self.last_point),
            self.busy.eq(~in_transfer),
            self.step.eq(control.step),
            self.cycle.eq(control.cycle),
            edge.clear.eq(start_run),
            point.clear.eq(start_run),
        ]
        reads: list[tuple[int, Value]] = []
        codes = host_map(constants)

        def later(value: Value, cycles: int = 1) -> Signal:
            for _ in range(cycles):
                register = Signal(value.shape())
                module.d.sync += register.eq(value)
                value = register
            return value

        def chosen(code: int) -> Value:
            return in_transfer & self.write & (self.select == code)

        def ram(name: str, shape: Any, words: int, code: int) -> Ram:
            """Add a memory whose port B the host has in TRANSFER mode; the caller drives it in the others."""
            memory = Ram(shape, words)
            module.submodules[f"ram_{name}"] = memory
            reads.append((code, memory.data_b))
            with module.If(in_transfer):
                module.d.comb += [
                    memory.address_b.eq(self.address),
                    memory.write.eq(chosen(code)),
                    memory.written.eq(self.written),
                ]
            return memory

        def number(name: str, differs: bool, words: int, code: int, address: Value) -> Value:
            """Add a constant: a register, or a memory read at an address."""
            if differs:
                memory = ram(name, word, words, code)
                module.d.comb += memory.address_a.eq(address)
                return memory.data_a
            register = Signal(word, name=name)
            with module.If(chosen(code)):
                module.d.sync += register.eq(self.written)
            reads.append((code, register))
            return register

        # Edges: ends one cycle after the address, their state, lambda and constants two cycles after it.
        first, second = (ram(name, unsigned(INDEX_BITS), self._edges, codes[name]) for name in ("start", "end"))
        for memory in (first, second):
            module.d.comb += memory.address_a.eq(control.address)
            with module.If(~in_transfer):
                module.d.comb += memory.address_b.eq(control.back)
        edge_address = later(control.address)
        valid = later(in_edges & control.going) & ~first.data_a[BUBBLE_BIT]
        back_valid = later(in_edges & control.coming) & ~first.data_b[BUBBLE_BIT]
        for name in edge.memories:
            memory = ram(name, word, self._edges, codes[name])
            module.d.comb += [memory.address_a.eq(edge_address), getattr(edge, name).eq(memory.data_a)]
            if name != "rest":
                with module.If(~in_transfer):
                    module.d.comb += [
                        memory.address_b.eq(later(control.back, 2)),
                        memory.write.eq(later(back_valid)),
                        memory.written.eq(getattr(edge, f"{name}_new")),
                    ]
        module.d.comb += edge.valid.eq(later(valid))
        for name, port in edge.laws.items():
            code = codes["C2" if name == "K" else name]
            constant = number(name, self._edges_differ, self._edges, code, edge_address)
            module.d.comb += getattr(edge, port).eq(constant)

        # Points: state of both ends of an edge, or of one point.
        step_length = number("H", False, 1, codes["H"], Const(0))
        module.d.comb += [edge.h.eq(step_length), point.h.eq(step_length)]
        point_valid, written_point = later(in_points & control.going), later(control.back)
        module.d.comb += point.valid.eq(point_valid)
        state = (
            ("position", edge.xi, edge.xj, point.x, point.x_new),
            ("velocity", edge.vi, edge.vj, point.v, point.v_new),
        )
        for name, at_start, at_end, old, new in state:
            for lane in range(3):
                memory = ram(f"{name}_{lane}", word, self._points, codes[name] + lane)
                with module.If(in_edges):
                    module.d.comb += [memory.address_a.eq(first.data_a), memory.address_b.eq(second.data_a)]
                with module.Elif(in_points):
                    module.d.comb += [
                        memory.address_a.eq(control.address),
                        memory.address_b.eq(written_point),
                        memory.write.eq(point.valid_out),
                        memory.written.eq(new[lane]),
                    ]
                module.d.comb += [at_start[lane].eq(memory.data_a), at_end[lane].eq(memory.data_b)]
                module.d.comb += old[lane].eq(memory.data_a)
        inverse_mass: Value
        for lane in range(3):
            force = ram(f"force_{lane}", word, self._points, codes["force"] + lane)
            module.d.comb += [force.address_a.eq(control.address), point.external[lane].eq(force.data_a)]
            code = codes["Minv"] + (lane if self._points_differ else 0)
            if lane == 0 or self._points_differ:
                inverse_mass = number(f"Minv_{lane}", self._points_differ, self._points, code, control.address)
            module.d.comb += point.minv[lane].eq(inverse_mass)

        # Sums: the ends of the edge that leaves the truss element module in the next cycle.
        hazards = []
        for name, ends, sums in (("sum_start", first, point.sum_start), ("sum_end", second, point.sum_end)):
            accumulator = Accumulator(constants, self._points)
            module.submodules[name] = accumulator
            module.d.comb += [
                accumulator.add.eq(back_valid),
                accumulator.clear.eq(in_points & control.going),
                accumulator.host.eq(in_transfer),
                accumulator.host_address.eq(self.address),
                accumulator.host_data.eq(self.written),
                accumulator.reset.eq(start_run),
            ]
            with module.If(in_points):
                module.d.comb += accumulator.address.eq(control.address)
            with module.Else():
                module.d.comb += accumulator.address.eq(ends.data_b)
            for lane in range(3):
                module.d.comb += [
                    accumulator.forces[lane].eq(edge.force[lane]),
                    accumulator.host_write[lane].eq(chosen(codes[name] + lane)),
                    sums[lane].eq(accumulator.sums[lane]),
                ]
                reads.append((codes[name] + lane, accumulator.host_sums[lane]))
            hazards.append(accumulator.hazard)
        module.d.comb += [
            self.overflow.eq(edge.overflow | (point.overflow << len(tem.OPERATORS))),
            self.hazard.eq(hazards[0] | hazards[1]),
        ]
        selected = later(self.select)
        with module.Switch(selected):
            for code, answer in reads:
                with module.Case(code):
                    module.d.comb += self.read.eq(answer)
        return module
