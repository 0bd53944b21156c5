"""Coulomb friction of one contact in one step, as the tangential impulse that belongs to a normal one (spec 8, R15).

    exact         T = -slip_free/W if |T| <= mu P (sticks), else mu_k P against the slip (slides)
    regularised   T = -mu_k P s/max(|s|, v_eps), s the slip the step ends with

slip_free [m/s] is the slip without T and W [1/kg] what a tangential impulse changes of it. A contact that slid in the
last step stops within mu_k P, any other holds within mu_s P. Neither rule can turn a slip round, so neither chatters.
"""

from __future__ import annotations

import numpy as np

from rheotwin.kernels.compiled import compiled

Vector = tuple[float, float, float]


@compiled(spliced=True)
def exact_friction(free: Vector, mobility: float, static_limit: float, kinetic_limit: float) -> tuple[Vector, bool]:
    """Return the impulse [N s] and whether the contact slides; `free` is the slip [m/s] without it, limits in N s."""
    size = np.sqrt(free[0] * free[0] + free[1] * free[1] + free[2] * free[2])
    if size == 0.0:
        return (0.0, 0.0, 0.0), False
    slides = size > mobility * static_limit
    scale = -kinetic_limit / size if slides else -1.0 / mobility
    return (scale * free[0], scale * free[1], scale * free[2]), slides


@compiled(spliced=True)
def regularised_friction(free: Vector, mobility: float, limit: float, slip_speed: float) -> tuple[Vector, bool]:
    """Return the impulse [N s] and whether the slip is above `slip_speed` [m/s]; implicit, so any step is stable.

    With s = s0 - W mu P min(s/v_eps, 1):  s = s0 - W mu P above v_eps and s0 v_eps/(v_eps + W mu P) below.
    """
    size = np.sqrt(free[0] * free[0] + free[1] * free[1] + free[2] * free[2])
    slides = size - mobility * limit >= slip_speed
    scale = -limit / size if slides else -limit / (slip_speed + mobility * limit)
    return (scale * free[0], scale * free[1], scale * free[2]), slides
