"""penalty: lambda = max(0, -K g - C g') rests at g = -m g/K.

    slope k C,   constant k K (g_begin - shift),   compliance 1          (k: duration of the kick)

The spring takes the gap at the beginning of the step, as the springs of the body do, so that both conserve the same
energy; the damper takes the rate at the end and has no bound of its own.
"""

from __future__ import annotations

from rheotwin.constraints.contact.laws.form import DAMPING, SHIFT, STIFFNESS, Numbers, Row

SOFT = True


def row(law: Numbers, gap: float, rate: float, before: float, integral: float, active: bool, h: float, k: float) -> Row:
    """Return slope, constant and compliance of a step."""
    depth = gap - h * rate - law[SHIFT]
    if depth >= 0.0:
        return 0.0, 0.0, 1.0
    return k * law[DAMPING], k * (law[STIFFNESS] * depth), 1.0


def stays(law: Numbers, gap: float, impulse: float, active: bool) -> bool:
    """Tell whether a contact goes on after a step: inside of its surface."""
    return gap < law[SHIFT]
