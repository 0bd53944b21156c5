"""Registers between stages, balanced by themselves: every value knows its stage and waits for its partners.

Two roundings and two ways to bring a result into range are the same rules as `rheotwin.particles.fixed_point.circuit`
(spec fpga-fixed-point.md section 3); overflows are kept as sticky bits, one for each class of operators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import mul, or_

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

from rheotwin.particles.fixed_point.arithmetic import Q16, Format, Overflow


@dataclass(frozen=True, eq=False)
class Staged:
    """A value, valid so many registers after the input; None: it holds still, as constants do."""

    value: Value
    stage: int | None


def rounded_shift(product: Value, w: int, rounding: bool) -> Value:
    """Return product >> w, or (product + 2^(w-1)) >> w when rounding: a floor, and half up."""
    return (product + (1 << w >> 1 if rounding else 0)) >> w


def wrapped(value: Value, form: Format) -> Value:
    """Return the low bits of a value as a signed word."""
    return value[: form.word].as_signed() if len(value) >= form.word else value


def leaves_range(value: Value, form: Format) -> Value:
    """Return a bit: the signed value does not fit a word, so the bits above the lowest word - 1 differ."""
    if len(value) <= form.word:
        return Value.cast(0)
    top = value[form.word - 1 :]
    return ~(top.all() | ~top.any())


def saturated(value: Value, form: Format) -> Value:
    """Return the nearest word."""
    limit = Mux(value[-1], -form.highest - 1, form.highest)
    return Mux(leaves_range(value, form), limit, wrapped(value, form)).as_signed()


class Pipeline:
    """Adds registers to a module; inputs are at stage 0."""

    def __init__(self, module: Module, form: Format, overflow: Overflow = "wrap") -> None:
        self.module, self.form = module, form
        self._bring = saturated if overflow == "saturate" else wrapped
        self._lines: dict[int, list[Signal]] = {}
        self._overflows: list[tuple[str, Staged]] = []

    def at(self, staged: Staged, stage: int) -> Value:
        """Return the value as it is at a later stage; delays are shared between those who ask."""
        if staged.stage is None or staged.stage == stage:
            return staged.value
        if staged.stage > stage:
            raise ValueError(f"a value of stage {staged.stage} is not there at stage {stage}")
        line = self._lines.setdefault(id(staged.value), [staged.value])
        while len(line) <= stage - staged.stage:
            line.append(self._registered(line[-1]))
        return line[stage - staged.stage]

    def register(self, compute: Callable[..., Value], *inputs: Staged) -> Staged:
        """Compute once the last input is there and put the result into a register."""
        stage, values = self._aligned(inputs)
        return Staged(self._registered(compute(*values)), stage + 1)

    def registers(self, compute: Callable[..., tuple[Value, ...]], *inputs: Staged) -> tuple[Staged, ...]:
        """Do the same for several results of one stage."""
        stage, values = self._aligned(inputs)
        return tuple(Staged(self._registered(value), stage + 1) for value in compute(*values))

    def fitted(self, operator: str, compute: Callable[..., Value], *inputs: Staged) -> Staged:
        """Bring the result into range on its way into the register and note an overflow of that class."""
        stage, values = self._aligned(inputs)
        exact = compute(*values)
        self._overflows.append((operator, Staged(self._registered(leaves_range(exact, self.form)), stage + 1)))
        return Staged(self._registered(self._bring(exact, self.form)), stage + 1)

    def flag(self, flags: dict[str, Signal], valid: Staged, clear: Value) -> None:
        """Set the sticky bit of each class when one of its operators overflows on valid data."""
        for name, sticky in flags.items():
            seen = [
                found.value & self.at(valid, found.stage or 0)
                for operator, found in self._overflows
                if operator == name
            ]
            any_now = reduce(or_, seen, Value.cast(0))
            self.module.d.sync += sticky.eq((sticky | any_now) & ~clear)

    def _aligned(self, inputs: tuple[Staged, ...]) -> tuple[int, list[Value]]:
        stage = max(staged.stage for staged in inputs if staged.stage is not None)
        return stage, [self.at(staged, stage) for staged in inputs]

    def _registered(self, value: Value) -> Signal:
        # Data need no reset: what is in the pipeline before the first valid input is never used.
        register = Signal(value.shape(), reset_less=True)
        self.module.d.sync += register.eq(value)
        return register


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
