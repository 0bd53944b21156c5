"""What a step of contact leaves behind: histories of its contacts, and where the energy went that they took."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.contact.coulomb import SLIDING
from rheotwin.fem.contact.laws import Laws
from rheotwin.fem.contact.memory import Past
from rheotwin.fem.contact.touched import Touched

Array = NDArray[np.float64]


class Booked(NamedTuple):
    """Energy [J] that contacts took in a step."""

    stored: float
    """In the springs at its end."""
    damped: float
    """By the dashpots and the integral of compliant contacts."""
    closed: float
    """By exact contacts whose gaps closed."""
    rubbed: float
    """By friction."""


def later(past: Past, laws: Laws, touched: Touched | None, h: float) -> Past:
    """Return the histories after a step of `h` [s]: J = int g dt since a contact began, at most 0; all others end."""
    after = Past.none(len(past.active))
    after.feature[:] = past.feature
    if touched is None:
        return after
    rows, end, begin = touched.rows, touched.end, touched.begin
    slot, before = rows.slot, past.active[rows.slot]
    # A gap that closes within the step is negative on a straight path for the share g1/(g1 - g0) of it.
    entered = np.divide(-0.5 * end**2, begin - end, out=np.zeros(len(rows)), where=(begin > 0.0) & (end < 0.0))
    integral = np.where(before, past.integral[slot] + 0.5 * h * (begin + end), h * entered)
    active = laws.stay_active(rows.law, end, h * touched.multiplier[:, 0], before)
    after.active[slot] = active
    after.sliding[slot] = touched.state == SLIDING
    after.integral[slot] = np.where(active, np.minimum(integral, 0.0), 0.0)
    return after


def booked(laws: Laws, touched: Touched | None, stored: float) -> Booked:
    """Return the energy contacts took in a step that began with `stored` [J] in their springs.

    The normal forces took -sum lambda (g1 - g0), friction -sum t . slip.
    """
    if touched is None:
        return Booked(0.0, stored, 0.0, 0.0)
    law = touched.rows.law
    soft = laws.soft[law]
    depth = np.minimum(touched.end - laws.shift[law], 0.0)
    after = 0.5 * float(np.sum(laws.stiffness[law] * depth**2 * soft))
    taken = -touched.multiplier[:, 0] * touched.moved[:, 0]
    rubbed = -float(np.sum(touched.multiplier[:, 1:] * touched.moved[:, 1:]))
    return Booked(after, float(taken[soft].sum()) - (after - stored), float(taken[~soft].sum()), rubbed)
