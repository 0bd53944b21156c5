"""impulse: exact, and what closes with g' < 0 parts with -e g'; see `impact`.

slope 1,   constant e g'_0 or, if g'_0 >= 0 or e = 0, max(g_0, 0)/h,   compliance 0          (where g_free < 0)
"""

from __future__ import annotations

from rheotwin.constraints.contact.laws.form import RESTITUTION, Numbers, Row

STRIKES = True


def row(law: Numbers, gap: float, rate: float, before: float, integral: float, active: bool, h: float, k: float) -> Row:
    """Return slope, constant and compliance of a step."""
    if gap >= 0.0:
        return 0.0, 0.0, 1.0
    if before < 0.0 and law[RESTITUTION] > 0.0:
        return 1.0, law[RESTITUTION] * before, 0.0
    return 1.0, max(gap / h - rate, 0.0), 0.0


def stays(law: Numbers, gap: float, impulse: float, active: bool) -> bool:
    """Tell whether a contact goes on after a step: what has a force, or is still inside."""
    return impulse > 0.0 or gap < 0.0
