"""Product with a constant whose point is at w: (C b) >> w, or (C b + 2^(w-1)) >> w, as a module of its own."""

from __future__ import annotations

from operator import mul

from amaranth.hdl import Module, signed
from amaranth.lib.wiring import Component, In, Out

from rheotwin.particles.fixed_point.arithmetic import Q16, Format
from rheotwin.particles.fixed_point.rtl.pipeline import Pipeline, Staged, rounded_shift

DEPTH = 2


class ConstantProduct(Component):
    """Two stages: the exact product, and its shift, wrapped to a word. `constant` may change with every `b`."""

    def __init__(self, w: int, rounding: bool, form: Format = Q16) -> None:
        self._w, self._rounding, self._form = w, rounding, form
        word = signed(form.word)
        super().__init__({"constant": In(word), "b": In(word), "y": Out(word)})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module = Module()
        pipe = Pipeline(module, self._form)
        product = pipe.register(mul, Staged(self.constant, 0), Staged(self.b, 0))
        y = pipe.fitted("y", lambda exact: rounded_shift(exact, self._w, self._rounding), product)
        module.d.comb += self.y.eq(y.value)
        return module
