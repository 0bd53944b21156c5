"""Mass module: one explicit Euler step of a point per cycle, three lanes, 9 multipliers, 8 stages.

    t = F_ext + sum_end - sum_start      v' = v + h (t/m)      x' = x + h v      (spec fpga-fixed-point.md section 4)

Same words as `rheotwin.particles.fixed_point.circuit.mpm`.
"""

from __future__ import annotations

from operator import mul

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

from rheotwin.particles.fixed_point.parameters import CircuitConstants, Constant
from rheotwin.particles.fixed_point.rtl.accumulator import sum_bits
from rheotwin.particles.fixed_point.rtl.pipeline import Pipeline, Staged, rounded_shift

DEPTH = 8
"""d_mm: two additions, two for a product, one to round, two for a product, one addition."""
OPERATORS = ("F_sum", "x", "v")


class Mpm(Component):
    """New position and velocity of a point, eight cycles after the old ones, its forces and 1/m of each lane."""

    def __init__(self, constants: CircuitConstants) -> None:
        self._constants = constants
        word, total = signed(constants.form.word), signed(sum_bits(constants))
        super().__init__(
            {
                **{name: In(word).array(3) for name in ("x", "v", "external", "minv")},
                **{name: In(total).array(3) for name in ("sum_start", "sum_end")},
                "h": In(word),
                "valid": In(1),
                "clear": In(1),
                "x_new": Out(word).array(3),
                "v_new": Out(word).array(3),
                "valid_out": Out(1),
                "overflow": Out(len(OPERATORS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module, constants = Module(), self._constants
        bits = sum_bits(constants)
        pipe = Pipeline(module, constants.form, constants.overflow)
        H, valid = Staged(self.h, None), Staged(self.valid, 0)

        def in_ring(exact: Value) -> Value:
            # The sums are right modulo 2^bits, and so is what they add up to.
            return exact[:bits].as_signed()

        def hold(staged: Staged) -> Staged:
            return pipe.register(lambda value: value, staged)

        def euler(old: Value, exact: Value, step: Constant = constants.H) -> Value:
            return old + rounded_shift(exact, step.w, constants.euler_round)

        def faster(old: Value, exact: Value) -> Value:
            return euler(old, exact, constants.step_of_velocity)

        for lane in range(3):
            x, v, external, minv, start, end = (
                Staged(port[lane], 0)
                for port in (self.x, self.v, self.external, self.minv, self.sum_start, self.sum_end)
            )
            net = pipe.register(lambda end, start: in_ring(end - start), end, start)
            total = pipe.fitted("F_sum", lambda net, external: in_ring(net + external), net, external)
            push = hold(pipe.register(mul, minv, total))
            acceleration = pipe.fitted(
                "v", lambda exact: rounded_shift(exact, constants.Minv.w, constants.euler_round), push
            )
            v_new = pipe.fitted("v", faster, v, hold(pipe.register(mul, H, acceleration)))
            x_new = pipe.fitted("x", euler, x, hold(pipe.register(mul, H, v)))
            module.d.comb += [self.v_new[lane].eq(v_new.value), self.x_new[lane].eq(pipe.at(x_new, DEPTH))]
        module.d.comb += self.valid_out.eq(pipe.at(valid, DEPTH))
        flags = {name: Signal(name=f"overflow_{name}") for name in OPERATORS}
        pipe.flag(flags, valid, self.clear)
        module.d.comb += [self.overflow[bit].eq(flags[name]) for bit, name in enumerate(OPERATORS)]
        return module
