"""The classical Runge-Kutta rule of the papers; order 4.

    k1 = f(y, t),  k2 = f(y + h/2 k1, t + h/2),  k3 = f(y + h/2 k2, t + h/2),  k4 = f(y + h k3, t + h)
    y1 = y + h (k1 + 2 k2 + 2 k3 + k4)/6

Stable up to h om = 2.83 on the imaginary axis (waves) and 2.785 on the negative real one (dashpots, CSM).
"""

from __future__ import annotations

from rheotwin.fem.steppers.explicit_rule import Array, ExplicitRule, Rate


def advance(rate: Rate, y: Array, begin: float, end: float) -> Array:
    """Return y after the step from `begin` to `end` [s]."""
    h = end - begin
    k1 = rate(y, begin, after=True)
    k2 = rate(y + 0.5 * h * k1, begin + 0.5 * h, after=True)
    k3 = rate(y + 0.5 * h * k2, begin + 0.5 * h, after=True)
    k4 = rate(y + h * k3, end, after=False)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


RUNGE_KUTTA = ExplicitRule(
    "Runge-Kutta",
    4,
    advance,
    growth=lambda z: 1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0))),
    damped_limit=2.785293563405282,
)
