"""Truss element module: circuits 1-9 of spec fpga-fixed-point.md section 4, one edge per cycle, 16 multipliers.

Numbers in the comments are the circuits'. Same words as `rheotwin.particles.fixed_point.circuit.tem`. Direct forces
take a 17th multiplier: `c2` is K then, and `c` is C. Chains of n Voigt parts take 4 n - 2 in the place of 4: n - 1 each
for A, G and the step, n for K, one for C.
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


def memories_of(constants: CircuitConstants) -> tuple[str, ...]:
    """Return the words that every edge has."""
    if constants.chain is None:
        return ("lam",)
    return ("lam", *(f"lam_{a}" for a in range(2, constants.chain.parts)), "rest")


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
        numbers = {name: In(word) for name in (*self.memories, *self.laws.values(), "h")}
        super().__init__(
            {
                **vectors,
                **numbers,
                "valid": In(1),
                "clear": In(1),
                "force": Out(word).array(3),
                **{f"{name}_new": Out(word) for name in self.memories if name != "rest"},
                "valid_out": Out(1),
                "overflow": Out(len(OPERATORS)),
            }
        )

    @property
    def memories(self) -> tuple[str, ...]:
        """Words of every edge: lambda, and of chains one for every part but the last, and the natural length."""
        return memories_of(self._constants)

    @property
    def laws(self) -> dict[str, str]:
        """Input of each constant of the edges by its name."""
        chain = self._constants.chain
        if chain is not None:
            return {name: name.lower() for name in chain.named}
        return {"A": "a", "B": "b"} | ({"K": "c2", "C": "c"} if self._constants.direct else {"C2": "c2"})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        module, constants, depth = Module(), self._constants, self._depth
        form, point, step = constants.form, constants.point, constants.step_of_lam
        pipe = Pipeline(module, form, constants.overflow)
        given = {
            name: Staged(getattr(self, port), 0 if self._edges_differ else None) for name, port in self.laws.items()
        }
        H, valid = Staged(self.h, None), Staged(self.valid, 0)
        lam, *others = (Staged(getattr(self, name), 0) for name in self.memories)

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

        def summed(operator: str, *products: tuple[str, Staged]) -> Staged:
            """Add products of constants with signals."""
            points = [constants.named[name].w for name, _ in products]
            return pipe.fitted(
                operator,
                lambda *exact: sum(tem_shift(one, w) for one, w in zip(exact, points, strict=True)),
                *(pipe.register(mul, given[name], signal) for name, signal in products),
            )

        if constants.chain is not None:  # 6, 7
            *extensions, rest = lam, *others
            last = pipe.fitted(
                "lambda",
                lambda length, rest, *parts: ((length - rest) << point.lam) - sum(parts),
                *(length, rest, *extensions),
            )
            springs = enumerate((*extensions, last), start=1)
            force = summed("f", *((f"K_{a}", d) for a, d in springs), ("C", rate))
            rates = [summed("lvd", (f"G_{a}", force), (f"A_{a}", d)) for a, d in enumerate(extensions, start=1)]
        else:
            extensions, rates = [lam], [summed("lvd", ("A", lam), ("B", rate))]
            if constants.direct:
                force = summed("f", ("K", lam), ("C", rate))
            else:
                force = summed("f", ("C2", pipe.fitted("f", sub, rates[0], rate)))
        forces = [  # 8
            pipe.fitted("f", lambda exact: tem_shift(exact, point.direction), pipe.register(mul, force, e))
            for e in direction
        ]
        for name, old, voigt_rate in zip(self.memories, extensions, rates, strict=False):  # 9
            new = pipe.fitted(
                "lambda",
                lambda old, exact: old + rounded_shift(exact, step.w, constants.euler_round),
                old,
                pipe.register(mul, H, voigt_rate),
            )
            module.d.comb += getattr(self, f"{name}_new").eq(pipe.at(new, depth))
        for lane in LANES:
            module.d.comb += self.force[lane].eq(pipe.at(forces[lane], depth))
        module.d.comb += self.valid_out.eq(pipe.at(valid, depth))
        flags = {name: Signal(name=f"overflow_{name}") for name in OPERATORS}
        pipe.flag(flags, valid, self.clear)
        module.d.comb += [self.overflow[bit].eq(flags[name]) for bit, name in enumerate(OPERATORS)]
        return module
