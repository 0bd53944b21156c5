"""exact: g >= 0, lambda >= 0, lambda g = 0 at the end of each step.

slope 1,   constant g_free/h - g'_free,   compliance 0          (the gap ends at zero)
"""

from __future__ import annotations

from rheotwin.constraints.contact.laws.form import Numbers, Row


def row(law: Numbers, gap: float, rate: float, before: float, integral: float, active: bool, h: float, k: float) -> Row:
    """Return slope, constant and compliance of a step."""
    return 1.0, gap / h - rate, 0.0


def stays(law: Numbers, gap: float, impulse: float, active: bool) -> bool:
    """Tell whether a contact goes on after a step."""
    return impulse > 0.0
