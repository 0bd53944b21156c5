"""The one form that every law of the normal force takes in a step: a linear complementarity per contact.

With the normal impulse P >= 0 of a step and the rate g' of the gap at its end

    slope g' + constant + compliance P >= 0   where P = 0,     = 0   where P > 0

A law is a file of this folder with two plain functions, `row` for these three numbers and `stays`, and what is said of
it beside them (`Normal`). g_free, g'_free are the gap [m] and rate [m/s] the step would end with, were there no
contact, `before` [m/s] is the rate before the forces of the step have acted, `integral` [m s] is J at its beginning,
h [s] the step and k [s] how long its forces act. Many laws compile to a choice among those that a scene has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.kernels.compiled import compiled
from rheotwin.scene.contact import LawName

Array = NDArray[np.float64]
Numbers: TypeAlias = tuple[float, float, float, float, float, float, float, float, float, float]
Row: TypeAlias = tuple[float, float, float]

KIND, STIFFNESS, DAMPING, INTEGRAL, REGION, SHIFT, RESTITUTION, FRICTION, STATIC_FRICTION, SLIP_SPEED = range(10)
"""Columns of a table of laws, in the units of `ContactLaw`: SHIFT [m] is delta of the offset form and 0 otherwise,
SLIP_SPEED [m/s] is 0 where friction is exact."""
NAMES: tuple[LawName, ...] = get_args(LawName)


@dataclass(frozen=True)
class Normal:
    """A law of the normal force: its functions, and what others have to know of it."""

    kind: int
    row: Callable[..., Row]
    stays: Callable[..., bool]
    soft: bool
    """It gives way; others keep bodies apart exactly."""
    integrates: bool
    """It has a J, and lasts outside of its surface."""
    strikes: bool
    """It changes velocities at once where it closes, and places beside them; see `impact`."""


@cache
def normal(name: str) -> Normal:
    """Return the law of this name."""
    found: Any = import_module(f"rheotwin.constraints.contact.laws.{name}")
    says = (getattr(found, what, False) for what in ("SOFT", "INTEGRATES", "STRIKES"))
    return Normal(NAMES.index(name), found.row, found.stays, *says)


@cache
def row_of(names: tuple[str, ...]) -> Any:
    """Return the compiled `row` of the laws with these names."""
    law, first = normal(names[0]), compiled(inside=True, vectors=True)(normal(names[0]).row)
    if len(names) == 1:
        return first
    kind, others = law.kind, row_of(names[1:])

    @compiled(inside=True, vectors=True)
    def row(
        law: Numbers, gap: float, rate: float, before: float, integral: float, active: bool, h: float, k: float
    ) -> Row:
        if law[KIND] == kind:
            return first(law, gap, rate, before, integral, active, h, k)
        return others(law, gap, rate, before, integral, active, h, k)  # type: ignore[no-any-return]

    return row


@cache
def stays_of(names: tuple[str, ...]) -> Any:
    """Return the compiled `stays` of the laws with these names."""
    law, first = normal(names[0]), compiled(inside=True, vectors=True)(normal(names[0]).stays)
    if len(names) == 1:
        return first
    kind, others = law.kind, stays_of(names[1:])

    @compiled(inside=True, vectors=True)
    def stays(law: Numbers, gap: float, impulse: float, active: bool) -> bool:
        if law[KIND] == kind:
            return first(law, gap, impulse, active)
        return others(law, gap, impulse, active)  # type: ignore[no-any-return]

    return stays


def pack_laws(laws: tuple[ContactLaw, ...]) -> Array:
    """Return the table of laws (n, 10)."""
    return np.array([_numbers(law) for law in laws], dtype=float)


def names_in(table: Array) -> tuple[str, ...]:
    """Return the names of all laws in a table, each once."""
    return tuple(NAMES[kind] for kind in np.unique(table[:, KIND]).astype(int))


def kinds_that(table: Array, what: str) -> NDArray[np.bool_]:
    """Tell which laws (n,) of a table are `soft`, or `integrates`, or `strikes`."""
    return np.array([getattr(normal(NAMES[int(kind)]), what) for kind in table[:, KIND]], dtype=bool)


def _numbers(law: ContactLaw) -> list[float]:
    says = normal(law.law)
    return [
        says.kind,
        law.stiffness if says.soft else 0.0,
        law.damping if says.soft else 0.0,
        law.integral if says.integrates else 0.0,
        law.region if says.soft else 0.0,
        law.region if says.soft and law.offset else 0.0,
        law.restitution if says.strikes else 0.0,
        law.friction,
        max(law.static_friction, law.friction),
        law.slip_speed if law.friction_rule == "regularised" else 0.0,
    ]


@compiled(inside=True)
def law_of(laws: Array, which: int) -> Numbers:
    """Return one row of a table of laws."""
    row = laws[which]
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9]


@compiled(inside=True)
def next_integral(gap: float, integral: float, active: bool, h: float) -> float:
    """Return J [m s] after a step of `h` [s] that ended at `gap` [m]; zero where nothing goes on."""
    return min(0.0, integral + h * gap) if active else 0.0
