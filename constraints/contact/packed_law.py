"""Contact laws as plain arrays, and the one form all of them take in a step: a linear complementarity per contact.

With the normal impulse P >= 0 of a step and the rate g' of the gap at its end every law of `law` is

    slope g' + constant + compliance P >= 0   where P = 0,     = 0   where P > 0

    exact      slope 1,   constant g_free/h - g'_free,                 compliance 0    (the gap ends at zero)
    impulse    slope 1,   constant e g'_0 or, if g'_0 >= 0 or e = 0, max(g_0, 0)/h   (where g_free < 0; see `impact`)
    penalty    slope k C, constant k (K (g_begin - shift) + I J),      compliance 1    (k: duration of the kick)

g_free, g'_free are the gap [m] and rate [m/s] the step would end with, were there no contact, g_0 and g'_0 those before
the forces of the step have acted. The spring of a penalty
takes the gap at the beginning of the step, as the springs of the body do, so that both conserve the same energy; its
damper takes the rate at the end and has no bound of its own.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Law: TypeAlias = tuple[float, float, float, float, float, float, float, float, float, float]
EXACT, PENALTY, INTEGRATED, IMPULSE = 0, 1, 2, 3
KINDS = {"exact": EXACT, "penalty": PENALTY, "integrated": INTEGRATED, "impulse": IMPULSE}

KIND, STIFFNESS, DAMPING, INTEGRAL, REGION, SHIFT, RESTITUTION, FRICTION, STATIC_FRICTION, SLIP_SPEED = range(10)
"""Columns of a table of laws, in the units of `ContactLaw`: SHIFT [m] is delta of the offset form and 0 otherwise,
SLIP_SPEED [m/s] is 0 where friction is exact."""


def pack_laws(setup: ContactSetup) -> Array:
    """Return the table of laws (T + 1, 10): one row per tool, the last one for contact between bodies."""
    return np.array([_row(law) for law in (*setup.tool_laws, setup.law)], dtype=float)


def _row(law: ContactLaw) -> list[float]:
    soft = law.law in ("penalty", "integrated")
    return [
        KINDS[law.law],
        law.stiffness if soft else 0.0,
        law.damping if soft else 0.0,
        law.integral if law.law == "integrated" else 0.0,
        law.region if soft else 0.0,
        law.region if soft and law.offset else 0.0,
        law.restitution if law.law == "impulse" else 0.0,
        law.friction,
        max(law.static_friction, law.friction),
        law.slip_speed if law.friction_rule == "regularised" else 0.0,
    ]


@compiled
def law_of(laws: Array, which: int) -> Law:
    """Return one row of a table of laws: loops hand numbers on, because counting references to arrays costs more."""
    row = laws[which]
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9]


@compiled(inside=True, vectors=True)
def step_row(
    law: Law, gap: float, rate: float, before: float, integral: float, active: bool, h: float, kick: float
) -> tuple[float, float, float]:
    """Return slope, constant and compliance of one contact in a step of `h` [s] whose forces act for `kick` [s].

    `gap` [m] and `rate` [m/s] are those of the free end of the step, `before` [m/s] is the rate before its forces have
    acted, which only impacts ask for, `integral` [m s] is J at its beginning.
    """
    kind = law[KIND]
    if kind == EXACT:
        return 1.0, gap / h - rate, 0.0
    if kind == IMPULSE:
        if gap >= 0.0:
            return 0.0, 0.0, 1.0
        if before < 0.0 and law[RESTITUTION] > 0.0:
            return 1.0, law[RESTITUTION] * before, 0.0
        return 1.0, max(gap / h - rate, 0.0), 0.0
    depth = gap - h * rate - law[SHIFT]
    if depth >= 0.0 and not (active and kind == INTEGRATED):
        return 0.0, 0.0, 1.0
    force = law[STIFFNESS] * depth + law[INTEGRAL] * integral
    return kick * law[DAMPING], kick * force, 1.0


@compiled
def stays_active(law: Law, gap: float, impulse: float, active: bool) -> bool:
    """Tell whether a contact counts as active after a step that ended at `gap` [m] with `impulse` [N s].

    A penalty is active inside its surface; an integrated one also out to its region, once it has been inside.
    """
    kind = law[KIND]
    if kind in (EXACT, IMPULSE):
        return impulse > 0.0 or (kind == IMPULSE and gap < 0.0)
    inside = gap < law[SHIFT]
    return inside or (kind == INTEGRATED and active and gap <= law[REGION])


@compiled(inside=True)
def next_integral(law: Law, gap: float, integral: float, active: bool, h: float) -> float:
    """Return J [m s] after a step of `h` [s] that ended at `gap` [m]; zero where nothing goes on."""
    return min(0.0, integral + h * gap) if active and law[KIND] == INTEGRATED else 0.0
