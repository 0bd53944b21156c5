"""One memory with the two ports of a BlockRAM: port A reads, port B reads or writes; data come one cycle later."""

from __future__ import annotations

from amaranth.hdl import Module, Shape
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from amaranth.utils import bits_for

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
