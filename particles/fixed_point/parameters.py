"""The constants wired into the circuit: units, their quantised form, and what is refused because it does not fit.

Spec fpga-fixed-point.md sections 1-3: A = -k1/(c1+c2), B = c2/(c1+c2), C2 = c2, H = h, Minv = 1/m, in circuit units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import frexp, isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import (
    Q16,
    Format,
    Overflow,
    Root,
    point_position,
    quantise_constant,
    root_of,
)

StepPoint = Literal["plain8", "printed", "eq218"]
SquareRoot = Literal["floor", "cordic"]
Raw = int | Indices


@dataclass(frozen=True)
class Units:
    """SI size of one circuit unit: length [m], time [s] (r of table 2.1), mass [kg].

    Table 2.1 changes the time alone; bodies of some millimetres or hundreds of metres need the others too.
    """

    time: float = 0.1
    length: float = 1.0
    mass: float = 1.0

    def __post_init__(self) -> None:
        for name in ("time", "length", "mass"):
            size = getattr(self, name)
            if not (isfinite(size) and size > 0.0):
                raise RheotwinError(f"the circuit's unit of {name} is {size:g}; give a positive number")

    @property
    def stiffness(self) -> float:
        """Unit of stiffness [N/m]."""
        return self.mass / self.time**2

    @property
    def viscosity(self) -> float:
        """Unit of viscosity [N s/m]."""
        return self.mass / self.time

    @property
    def velocity(self) -> float:
        """Unit of velocity [m/s]."""
        return self.length / self.time

    @property
    def force(self) -> float:
        """Unit of force [N]."""
        return self.mass * self.length / self.time**2


@dataclass(frozen=True)
class EdgeLaw:
    """Three-element edge: spring k1 [N/m] beside dashpot c1 [N s/m], both in series with dashpot c2 [N s/m].

    Numbers, or arrays with one entry per edge.
    """

    k1: ArrayLike
    c1: ArrayLike
    c2: ArrayLike

    def scaled(self, units: Units) -> EdgeLaw:
        """Return the law in circuit units."""
        k1, c1, c2 = (np.asarray(part, dtype=np.float64) for part in (self.k1, self.c1, self.c2))
        return EdgeLaw(k1 / units.stiffness, c1 / units.viscosity, c2 / units.viscosity)


@dataclass(frozen=True)
class ChainLaw:
    """Generalised Voigt edge (2.5)-(2.9): springs k [N/m] and dashpots c [N s/m] (n, n_e) of n Voigt parts in a row.

    c may be infinite, a rigid part, and 0 in the last one, a free spring.
    """

    k: Array
    c: Array

    def scaled(self, units: Units) -> ChainLaw:
        """Return the law in circuit units."""
        return ChainLaw(self.k / units.stiffness, self.c / units.viscosity)

    @property
    def viscosity(self) -> Array:
        """1/sum(1/c): the dashpot (n_e,) of the whole."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (1.0 / self.c).sum(axis=0))

    @property
    def springs(self) -> Array:
        """K (n, n_e) of f = sum K_a d_a + C ld: -C' k/c, with C' the viscosity; -k of a free spring."""
        damped = self.c > 0.0
        shares = self.viscosity * self.k / np.where(damped, self.c, 1.0)
        return np.asarray(-np.where(damped, shares, self.k))

    @property
    def rates(self) -> tuple[Array, Array]:
        """A = -k/c and G = -1/c (n - 1, n_e) of the rates G_a f + A_a d_a of all parts but the last."""
        return -self.k[:-1] / self.c[:-1], -1.0 / self.c[:-1]


@dataclass(frozen=True)
class Constant:
    """A constant raw/2^w; `raw` is one number, or an array where edges or points differ."""

    raw: Raw
    w: int

    @property
    def value(self) -> Array:
        """The number that is multiplied with."""
        return np.asarray(self.raw, dtype=np.float64) / 2.0**self.w

    def of(self, some: Any) -> Constant:
        """Return the constant of some of the edges or points."""
        return self if isinstance(self.raw, int) else Constant(self.raw[some], self.w)


NOTHING = Constant(0, 0)
"""A constant that a circuit does not have."""


@dataclass(frozen=True)
class Points:
    """Where signals have their point: bits after it of directions e and of 1/l = floor(2^inverse/l).

    Words of lambda, accelerations and rates ld and lvd have `lam`, `acceleration` and `rate` bits more after it than
    the format says.
    """

    direction: int
    inverse: int
    lam: int = 0
    acceleration: int = 0
    rate: int = 0


@dataclass(frozen=True)
class ChainConstants:
    """Constants of a generalised Voigt edge: A, G of all parts but the last, K of all, C."""

    A: tuple[Constant, ...]
    G: tuple[Constant, ...]
    K: tuple[Constant, ...]
    C: Constant

    @property
    def parts(self) -> int:
        """Voigt parts in a row, n."""
        return len(self.K)

    @property
    def all(self) -> tuple[Constant, ...]:
        """A, G, K, C in a row."""
        return (*self.A, *self.G, *self.K, self.C)

    @property
    def named(self) -> dict[str, Constant]:
        """All constants by name."""
        rows = {"A": self.A, "G": self.G, "K": self.K}
        found = {f"{name}_{a}": one for name, row in rows.items() for a, one in enumerate(row, start=1)}
        return found | {"C": self.C}

    def of_edges(self, edges: Any) -> ChainConstants:
        """Return the constants of some edges."""
        A, G, K = (tuple(one.of(edges) for one in row) for row in (self.A, self.G, self.K))
        return ChainConstants(A, G, K, self.C.of(edges))


@dataclass(frozen=True)
class CircuitConstants:
    """Everything the circuit multiplies with and how it rounds.

    A, B, C2: one number or (n_e,); Minv: one number or (n_m, 3), 0 holds a component. `tem_round` rounds the products
    of circuits 4 to 8, `euler_round` circuit 9 and the mass module. With K and C the force is K lambda + C ld, which
    equals c2 (lvd - ld) and loses no digits in a difference; without `points` all signals have the format's.
    A `chain` of Voigt parts takes the place of A, B, C2, K and C.
    """

    A: Constant
    B: Constant
    C2: Constant
    H: Constant
    Minv: Constant
    form: Format = Q16
    tem_round: bool = False
    euler_round: bool = True
    sqrt: SquareRoot = "floor"
    overflow: Overflow = "wrap"
    units: Units = Units()
    points: Points | None = None
    K: Constant | None = None
    C: Constant | None = None
    chain: ChainConstants | None = None

    @property
    def point(self) -> Points:
        """Where signals have their point."""
        return self.points or Points(self.form.fraction, 2 * self.form.fraction)

    @property
    def direct(self) -> bool:
        """Whether the force is K lambda + C ld."""
        return self.K is not None

    @property
    def of_tem(self) -> tuple[Constant, Constant, Constant, Constant]:
        """A, B and those of the force: K and C, or c2 and nothing."""
        return self.A, self.B, self.K or self.C2, self.C or NOTHING

    @property
    def of_edge(self) -> tuple[Constant, ...]:
        """All constants that differ between edges, if any do."""
        return self.of_tem if self.chain is None else self.chain.all

    @property
    def named(self) -> dict[str, Constant]:
        """All constants by name."""
        if self.chain is not None:
            return self.chain.named | {"H": self.H, "Minv": self.Minv}
        force = {"C2": self.C2} if self.K is None or self.C is None else {"K": self.K, "C": self.C}
        return {"A": self.A, "B": self.B, **force, "H": self.H, "Minv": self.Minv}

    @property
    def step_of_lam(self) -> Constant:
        """The step of lambda."""
        return Constant(self.H.raw, self.H.w - self.point.lam + self.point.rate)

    @property
    def step_of_velocity(self) -> Constant:
        """The step of velocities."""
        return Constant(self.H.raw, self.H.w + self.point.acceleration)

    @property
    def root(self) -> Root:
        """Size of the CORDIC root."""
        return root_of(self.form)

    def lam_metres(self, raw: ArrayLike) -> Array:
        """Return what words of lambda stand for [m]."""
        return np.asarray(self.form.value(raw) * self.units.length / 2.0**self.point.lam)

    def of_edges(self, edges: Any) -> CircuitConstants:
        """Return the constants of some edges, an index or mask of those there are."""
        K, C = (part.of(edges) if part is not None else None for part in (self.K, self.C))
        chain = None if self.chain is None else self.chain.of_edges(edges)
        return replace(self, A=self.A.of(edges), B=self.B.of(edges), C2=self.C2.of(edges), K=K, C=C, chain=chain)


def step_constant(step: float, how: StepPoint = "eq218", form: Format = Q16, points: Points | None = None) -> Constant:
    """Quantise the step [units of time]: plain point, w_mod of (2.18), or one bit less, as the printed 0.0099793."""
    if not (isfinite(step) and step > 0.0):
        raise RheotwinError(f"the step of the circuit is {step:g} units of time; give a positive one")
    most = None if points is None else _longest(form) - max(0, points.acceleration, points.rate - points.lam)
    best = point_position(step, form, most)
    places = {"plain8": form.fraction, "printed": best - 1, "eq218": best}
    if how not in places:
        raise RheotwinError(f"h_const '{how}' is unknown; choose one of {', '.join(places)}")
    constant = _fitting("H (time step)", np.asarray(step), places[how], form, "a smaller step, or a larger time unit")
    if constant.raw == 0:
        raise RheotwinError(
            f"the time step of {step:.4g} units of time rounds to zero with {places[how]} bits after the point: "
            f"it needs {1 - frexp(step)[1]}; use a longer step, a smaller unit of time or h_const = 'eq218'"
        )
    return constant


def _longest(form: Format) -> int:
    """Return the most bits after the point that leave a sign before a product of two words."""
    return 2 * form.word - 2


def _fitting(name: str, values: Array, w: int, form: Format, remedy: str) -> Constant:
    """Quantise by floor and refuse what does not fit, naming the point that would do."""
    if not np.all(np.isfinite(values)):
        raise RheotwinError(f"constant {name} of the circuit is not finite; check the law, the mass and the units")
    largest = float(values.flat[np.argmax(np.abs(values))])
    best = point_position(largest, form)
    raw = np.floor(values * 2.0**w).astype(np.int64) if values.ndim else np.asarray(quantise_constant(largest, w))
    if w < 0 or not form.holds(raw).all():
        would = f"{form.word} bits with {best} after the point would do, or " if best >= 0 else ""
        raise RheotwinError(
            f"constant {name} = {largest:.6g} overflows {form.word} bits with {max(w, 0)} after the point: {would}"
            f"{form.word + max(w, 0) - best} bits with {max(w, 0)}; or take {remedy}"
        )
    differ = bool(np.any(raw != raw.flat[0]))
    return Constant(raw if differ else int(raw.flat[0]), w)


def circuit_constants(
    law: EdgeLaw | ChainLaw,
    mass: ArrayLike,
    step: float,
    units: Units | None = None,
    *,
    h_const: StepPoint = "eq218",
    form: Format = Q16,
    tem_wmod: bool = False,
    tem_round: bool = False,
    euler_round: bool = True,
    sqrt: SquareRoot = "floor",
    overflow: Overflow = "wrap",
    points: Points | None = None,
) -> CircuitConstants:
    """Scale and quantise a law [SI], masses [kg] (one, or (n_m, 3); infinite holds) and the step [s].

    `tem_wmod` gives A, B and C2 their best point instead of that of the format (2.16-2.18). With `points` every signal
    and constant has its own, the force is direct, and c2 may be infinite: a Voigt edge.
    """
    units = units or Units()

    def placed(name: str, values: Array, optimal: bool = tem_wmod, remedy: str = "") -> Constant:
        largest = float(np.abs(values).max(initial=0.0))
        most = None if points is None else _longest(form)
        point = point_position(largest, form, most) if optimal else form.fraction
        smaller = "a smaller unit of time" + ("" if tem_wmod else ", or tem_wmod = true")
        return _fitting(name, values, point, form, remedy or smaller)

    if isinstance(law, ChainLaw):
        parts = _chain_parts(law.scaled(units), points, placed)
    else:
        parts = _edge_parts(law.scaled(units), points, placed)
    weight = np.asarray(mass, dtype=np.float64) / units.mass
    if np.any(~(weight > 0.0)):
        raise RheotwinError("masses of the circuit's points must be positive; infinite ones hold a point")
    acceleration = 0 if points is None else points.acceleration
    return CircuitConstants(
        H=step_constant(step / units.time, h_const, form, points),
        Minv=placed("1/m", 2.0**acceleration / weight, True, "a larger unit of mass"),
        form=form,
        tem_round=tem_round,
        euler_round=euler_round,
        sqrt=sqrt,
        overflow=overflow,
        units=units,
        points=points,
        **parts,
    )


Placed = Callable[[str, Array], Constant]


def _edge_parts(law: EdgeLaw, points: Points | None, placed: Placed) -> dict[str, Any]:
    """Return A, B and the constants of the force of three-element edges in circuit units."""
    k1, c1, c2 = (np.asarray(part, dtype=np.float64) for part in (law.k1, law.c1, law.c2))
    if points is None and np.isinf(c2).any():
        raise RheotwinError("a Voigt edge has no series dashpot: the circuit needs points of its own for it")
    if np.any(~(c1 + c2 > 0.0)) or np.any(c2 < 0.0) or np.any(k1 < 0.0) or np.any(c1 < 0.0):
        raise RheotwinError(
            "the circuit's edges need k1, c1, c2 >= 0 and c1 + c2 > 0: it divides by the sum of the viscosities; "
            "a pure spring has no such form"
        )
    if points is None:
        found = {"A": placed("A = -k1/(c1+c2)", -k1 / (c1 + c2)), "B": placed("B = c2/(c1+c2)", c2 / (c1 + c2))}
        return found | {"C2": placed("C2 = c2", c2)}
    # c2/(c1 + c2) where c2 may be infinite.
    share = 1.0 / (1.0 + c1 / np.where(c2 > 0.0, c2, 1.0)) * (c2 > 0.0)
    lam, rate = 2.0**points.lam, 2.0**points.rate
    return {
        "A": placed("A = -k1/(c1+c2)", -k1 / (c1 + c2) * rate / lam),
        "B": placed("B = c2/(c1+c2)", share),
        "C2": NOTHING,
        "K": placed("K = -k1 c2/(c1+c2)", -k1 * share / lam),
        "C": placed("C = -c1 c2/(c1+c2)", -c1 * share / rate),
    }


def _chain_parts(law: ChainLaw, points: Points | None, placed: Placed) -> dict[str, Any]:
    """Return the constants of chains in circuit units."""
    lam, rate = (1.0, 1.0) if points is None else (2.0**points.lam, 2.0**points.rate)

    def row(name: str, values: Array) -> tuple[Constant, ...]:
        return tuple(placed(f"{name} of part {a}", one) for a, one in enumerate(values, start=1))

    (A, G), K = law.rates, law.springs
    rows = row("A = -k/c", A * rate / lam), row("G = -1/c", G * rate), row("K = -C' k/c", K / lam)
    chain = ChainConstants(*rows, placed("C = -1/sum(1/c)", -law.viscosity / rate))
    return dict.fromkeys(("A", "B", "C2"), NOTHING) | {"chain": chain}
