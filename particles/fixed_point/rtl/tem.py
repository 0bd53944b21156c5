"""Truss element module: circuits 1-9 of spec fpga-fixed-point.md section 4, one edge per cycle, 16 multipliers.

Numbers in the comments are the circuits'. Same words as `rheotwin.particles.fixed_point.circuit.tem`. Direct forces
take a 17th multiplier: `c2` is K then, and `c` is C.
"""

from __future__ import annotations

from operator import mul, sub
from typing import Any

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.rtl.pipeline import Pipeline, Staged, rounded_shift, wrapped
from rheotwin.particles.fixed_point.rtl.root import cordic_root, floor_root, reciprocal
from rheotwin.particles.fixed_point.timing import DEPTH, needed_depth

OPERATORS = ("ld", "lvd", "f", "xr", "lambda")
LANES = range(3)


class Tem(Component):
    """Forces on the ends of an edge and its new lambda, `depth` cycles after positions, velocities and lambda.

    `constants` gives points, roundings and root; the raw constants A, B, C2 (or K and C) and H are inputs. They hold
    still, unless `edges_differ`: then all but H come with each edge.
    """

    def __init__(self, constants: CircuitConstants, *, depth: int = DEPTH, edges_differ: bool = False) -> None:
        if depth < needed_depth(constants):
            raise RheotwinError(
                f"a truss element module of depth {depth} is too short; it needs {needed_depth(constants)} stages"
            )
        self._constants, self._depth, self._edges_differ = constants, depth, edges_differ
        word = signed(constants.form.word)
        vectors = {name: In(word).array(3) for name in ("xi", "vi", "xj", "vj")}
        force = ("c2", "c") if constants.direct else ("c2",)
        numbers = {name: In(word) for name in ("lam", "a", "b", *force, "h")}
        super().__init__(
            {
                **vectors,
                **numbers,
                "valid": In(1),
                "clear": In(1),
                "force": Out(word).array(3),
                "lam_new": Out(word),
                "valid_out": Out(1),
                "overflow": Out(len(OPERATORS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module, constants, depth = Module(), self._constants, self._depth
        form, point, step = constants.form, constants.point, constants.step_of_lam
        A_w, B_w, K_w, C_w = (part.w for part in constants.of_tem)
        pipe = Pipeline(module, form, constants.overflow)
        A, B, C2 = (Staged(port, 0 if self._edges_differ else None) for port in (self.a, self.b, self.c2))
        H, lam, valid = Staged(self.h, None), Staged(self.lam, 0), Staged(self.valid, 0)

        def tem_shift(product: Value, w: int) -> Value:
            return rounded_shift(product, w, constants.tem_round)

        def ends(first: Any, second: Any, lane: int) -> tuple[Staged, Staged]:
            return Staged(first[lane], 0), Staged(second[lane], 0)

        xr = [pipe.fitted("xr", sub, *ends(self.xj, self.xi, lane)) for lane in LANES]  # 1
        vr = [pipe.fitted("xr", sub, *ends(self.vj, self.vi, lane)) for lane in LANES]  # 2
        square = pipe.register(  # 3
            lambda x, y, z: (x + y + z)[: 2 * form.word], *(pipe.register(mul, lane, lane) for lane in xr)
        )
        cordic = constants.sqrt == "cordic"
        length = cordic_root(pipe, square, constants.root) if cordic else floor_root(pipe, square, form.word)
        inverse = reciprocal(pipe, length, point.inverse)
        turn = point.inverse - point.direction
        direction = [  # 4
            pipe.register(lambda exact: wrapped(tem_shift(exact, turn), form), pipe.register(mul, inverse, lane))
            for lane in xr
        ]
        shares = [pipe.register(mul, e, v) for e, v in zip(direction, vr, strict=True)]
        rate = pipe.fitted("ld", lambda x, y, z: tem_shift(x + y + z, point.direction - point.rate), *shares)  # 5
        voigt_rate = pipe.fitted(  # 6
            "lvd",
            lambda spring, dashpot: tem_shift(spring, A_w) + tem_shift(dashpot, B_w),
            pipe.register(mul, A, lam),
            pipe.register(mul, B, rate),
        )
        if constants.direct:  # 7
            C = Staged(self.c, 0 if self._edges_differ else None)
            parts = pipe.register(mul, C2, lam), pipe.register(mul, C, rate)
            force = pipe.fitted("f", lambda spring, slide: tem_shift(spring, K_w) + tem_shift(slide, C_w), *parts)
        else:
            slip = pipe.fitted("f", sub, voigt_rate, rate)
            force = pipe.fitted("f", lambda exact: tem_shift(exact, K_w), pipe.register(mul, C2, slip))
        forces = [  # 8
            pipe.fitted("f", lambda exact: tem_shift(exact, point.direction), pipe.register(mul, force, e))
            for e in direction
        ]
        lam_new = pipe.fitted(  # 9
            "lambda",
            lambda old, exact: old + rounded_shift(exact, step.w, constants.euler_round),
            lam,
            pipe.register(mul, H, voigt_rate),
        )
        for lane in LANES:
            module.d.comb += self.force[lane].eq(pipe.at(forces[lane], depth))
        module.d.comb += [self.lam_new.eq(pipe.at(lam_new, depth)), self.valid_out.eq(pipe.at(valid, depth))]
        flags = {name: Signal(name=f"overflow_{name}") for name in OPERATORS}
        pipe.flag(flags, valid, self.clear)
        module.d.comb += [self.overflow[bit].eq(flags[name]) for bit, name in enumerate(OPERATORS)]
        return module
