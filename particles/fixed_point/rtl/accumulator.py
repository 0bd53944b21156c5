"""Sums of forces in memory: read, add, write back two cycles later, one edge per cycle.

An order of edges in which a point comes again within `LATENCY` edges would add to a sum that is not yet written; the
sticky bit `hazard` tells so (spec fpga-fixed-point.md section 4, read-modify-write hazard).
"""

from __future__ import annotations

from amaranth.hdl import Module, Shape, Signal, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from amaranth.utils import bits_for

from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.timing import BLOCK_WORDS, blocks


class Ram(Component):
    """At least `words` words of a shape; reads of a word that is being written give its old content (read first).

    The size is a power of two up to that of a BlockRAM, then whole BlockRAMs.
    """

    def __init__(self, shape: Shape, words: int) -> None:
        address = range(words)
        self._shape, self._words = shape, min(1 << bits_for(words - 1), blocks(words) * BLOCK_WORDS)
        super().__init__(
            {
                "address_a": In(address),
                "data_a": Out(shape),
                "address_b": In(address),
                "data_b": Out(shape),
                "write": In(1),
                "written": In(shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module = Module()
        module.submodules.memory = memory = Memory(shape=self._shape, depth=self._words, init=[])
        port_a, port_b, writer = memory.read_port(), memory.read_port(), memory.write_port()
        module.d.comb += [
            port_a.addr.eq(self.address_a),
            self.data_a.eq(port_a.data),
            port_b.addr.eq(self.address_b),
            self.data_b.eq(port_b.data),
            writer.addr.eq(self.address_b),
            writer.en.eq(self.write),
            writer.data.eq(self.written),
        ]
        return module


LATENCY = 2
"""Edges that must lie between two edges of one point, for `rheotwin.particles.fixed_point.partition`."""
GUARD_BITS = {"wrap": 2, "saturate": 8}
"""Bits of a sum above those of a word.

Two are the parity bits of a BlockRAM word: sums are right modulo 2^18, so the mass module wraps them to the bit and
sees totals up to four times the range overflow. Saturating needs the sum itself, of up to 256 edges here.
"""


def sum_bits(constants: CircuitConstants) -> int:
    """Return the width of a sum."""
    return constants.form.word + GUARD_BITS[constants.overflow]


class Accumulator(Component):
    """Three lanes of sums under one address.

    `address` reads `sums` one cycle later; with `add` the `forces` of that next cycle are added, with `clear` zero is
    written. While `host` is high, port B belongs to the host: address, write (one bit per lane) and data.
    """

    def __init__(self, constants: CircuitConstants, words: int) -> None:
        self._constants, self._words = constants, words
        word, total, address = signed(constants.form.word), signed(sum_bits(constants)), range(words)
        super().__init__(
            {
                "address": In(address),
                "add": In(1),
                "clear": In(1),
                "forces": In(word).array(3),
                "sums": Out(total).array(3),
                "host": In(1),
                "host_address": In(address),
                "host_write": In(3),
                "host_data": In(word),
                "host_sums": Out(total).array(3),
                "reset": In(1),
                "hazard": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module = Module()
        total = signed(sum_bits(self._constants))
        address = [Signal.like(self.address, name=f"address_{age}") for age in (1, 2)]
        add = [Signal(name=f"add_{age}") for age in (1, 2)]
        clear = Signal()
        module.d.sync += [
            address[0].eq(self.address),
            address[1].eq(address[0]),
            add[0].eq(self.add),
            add[1].eq(add[0]),
            clear.eq(self.clear),
        ]
        for lane in range(3):
            module.submodules[f"ram_{lane}"] = ram = Ram(total, self._words)
            new = Signal(total, name=f"new_{lane}")
            module.d.sync += new.eq(ram.data_a + self.forces[lane])
            module.d.comb += [
                ram.address_a.eq(self.address),
                self.sums[lane].eq(ram.data_a),
                self.host_sums[lane].eq(ram.data_b),
            ]
            with module.If(self.host):
                module.d.comb += [
                    ram.address_b.eq(self.host_address),
                    ram.write.eq(self.host_write[lane]),
                    ram.written.eq(self.host_data),
                ]
            with module.Elif(clear):
                module.d.comb += [ram.address_b.eq(address[0]), ram.write.eq(1)]
            with module.Else():
                module.d.comb += [ram.address_b.eq(address[1]), ram.write.eq(add[1]), ram.written.eq(new)]
        recurs = [add[age] & (address[age] == self.address) for age in range(LATENCY)]
        module.d.sync += self.hazard.eq((self.hazard | (self.add & (recurs[0] | recurs[1]))) & ~self.reset)
        return module
