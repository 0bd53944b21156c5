"""integrated: lambda = max(0, -K g - C g' - I J), J = int g dt <= 0, rests at g = 0; needs I < C K/m.

`region`: J goes on while g <= delta outside of the surface and is forgotten beyond. `offset`: -K (g - delta) instead of
-K g, active for g < delta, rests at max(0, delta - m g/K).

    slope k C,   constant k (K (g_begin - shift) + I J),   compliance 1          (k: duration of the kick)
"""

from __future__ import annotations

from rheotwin.constraints.contact.laws.form import DAMPING, INTEGRAL, REGION, SHIFT, STIFFNESS, Numbers, Row

SOFT, INTEGRATES = True, True


def row(law: Numbers, gap: float, rate: float, before: float, integral: float, active: bool, h: float, k: float) -> Row:
    """Return slope, constant and compliance of a step."""
    depth = gap - h * rate - law[SHIFT]
    if depth >= 0.0 and not active:
        return 0.0, 0.0, 1.0
    return k * law[DAMPING], k * (law[STIFFNESS] * depth + law[INTEGRAL] * integral), 1.0


def stays(law: Numbers, gap: float, impulse: float, active: bool) -> bool:
    """Tell whether a contact goes on after a step: inside, and out to its region once it has been inside."""
    return gap < law[SHIFT] or (active and gap <= law[REGION])
