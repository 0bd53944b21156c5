"""viscous: lambda = max(0, -C g') while g < 0: what is pressed in sinks as in mud, at m g/C, and is not held back.

    slope k C,   constant 0,   compliance 1,   where g_begin < 0          (k: duration of the kick)

The damper takes the rate at the end of the step and has no bound of its own.
"""

from __future__ import annotations

from rheotwin.constraints.contact.laws.form import DAMPING, Numbers, Row

SOFT = True


def row(law: Numbers, gap: float, rate: float, before: float, integral: float, active: bool, h: float, k: float) -> Row:
    """Return slope, constant and compliance of a step."""
    return k * law[DAMPING] if gap - h * rate < 0.0 else 0.0, 0.0, 1.0


def stays(law: Numbers, gap: float, impulse: float, active: bool) -> bool:
    """Tell whether a contact goes on after a step: inside of its surface."""
    return gap < 0.0
